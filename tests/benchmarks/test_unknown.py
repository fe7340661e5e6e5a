from datetime import UTC, datetime

import numpy as np
import pytest

from benchmarks import common, datasets, related, unknown
from benchmarks import recall_tables as tables
from slowcat_memory.core.ranking.offering import AnswerEvidence
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.runtime.recall.query import Recollection
from slowcat_memory.testing import HashEmbedder
from tests.support import tiny_dataset as made_up

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


def test_unknown_a_report_is_written(tmp_path) -> None:  # type: ignore[no-untyped-def]
    data = datasets.load(made_up.write(tmp_path / "talk"))
    other = datasets.load(made_up.write_list(tmp_path / "list"))
    engine = MemoryEngine(
        common.configuration(tmp_path / "store"), embedder=HashEmbedder(token_dim=32)
    )
    try:
        found = related.ask(engine, [data, other])
        texts = {q.id: q.text for each in (data, other) for q in each.questions}
        judged = unknown.judged([(one.kind, one, texts[one.id]) for one in found])
    finally:
        engine.close()
    for kind, shares in judged["kinds"].items():
        assert sum(shares[name] for name in unknown.OUTCOMES) == pytest.approx(1), kind
    for kind in judged["kinds"]:
        told = [row[kind] for row in judged["thresholds"]]
        assert told == sorted(told)
    fitted = unknown.fits(some())
    written = {"judged": {"data": "Made-up", "below": 0.2, **judged}, "fitted_on": ["x"], **fitted}
    unknown._show_fits(written)
    unknown._show_judged(written["judged"])
    text = tables.unknown(written)
    assert "| TOKENS |" in text and "| unrelated |" in text and "asks none" in text
    assert "TOKENS" not in tables.unknown({**written, "fits": {}, "fitted_on": [], "left_out": {}})
