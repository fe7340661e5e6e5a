from datetime import UTC, datetime

import numpy as np
import pytest

from benchmarks import common, related, unknown
from slowcat_memory.core.ranking.offering import AnswerEvidence
from slowcat_memory.runtime.recall.query import Recollection

NOW = datetime(2024, 5, 1, tzinfo=UTC)


def asked(kind: str, lift: float, n: int, chance: np.random.Generator) -> related.Asked:
    evidence = AnswerEvidence(
        coverage=chance.uniform(0, 0.5) + lift,
        max_similarity=chance.uniform(0.2, 0.6) + lift,
        unseen_names=float(chance.uniform() > 0.5 + lift),
        memories=int(chance.integers(20, 600)),
    )
    id_ = f"{'one' if n % 2 else 'two'}-a/q{n}"
    found = Recollection(evidence=evidence)
    return related.Asked(id=id_, conversation="a", kind=kind, found=found, at=NOW)  # type: ignore[arg-type]


def some() -> list[related.Asked]:
    chance = np.random.default_rng(common.SEED)
    lifts = {"own": 0.2, "unrelated": 0.0, "adversarial": 0.15}
    return [asked(kind, lift, n, chance) for n in range(120) for kind, lift in lifts.items()]


@pytest.mark.parametrize(
    ("text", "below", "expected"),
    [
        ("okay, thanks", 1.01, "skipped"),
        ("what is my sister's name", 1.01, "told"),
        ("what is my sister's name", 0.0, "known"),
        ("tell me a joke", 1.01, "skipped"),
        ("we had soup at the harbour", 1.01, "asks none"),
        ("where does Ada live", 1.01, "told"),
    ],
)
def test_unknown_every_question_that_is_not_told_has_a_cause(
    text: str, below: float, expected: str
) -> None:
    assert unknown.outcome(some()[0], text, below) == expected


def test_unknown_people_get_the_names_of_those_who_are_asked() -> None:
    swap = unknown._with_names
    assert swap("When did Ada call Ben?", ["Ada", "Ben"], ["Ben", "Cleo"]) == (
        "When did Ben call Cleo?"
    )
    assert swap("Adam met Ada's aunt", ["Ada"], ["Cleo"]) == "Adam met Cleo's aunt"
