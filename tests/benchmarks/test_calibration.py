from contextlib import contextmanager
from datetime import UTC, datetime
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks import calibration, common, datasets, logistic, related, unknown
from benchmarks import recall_tables as tables
from slowcat_memory.core.ranking import offering as calibrate
from slowcat_memory.core.ranking.offering import FULL, AnswerEvidence
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.records import Hit, Memory
from slowcat_memory.runtime.recall.query import Recollection
from slowcat_memory.testing import HashEmbedder
from tests.support import tiny_dataset as made_up

NOW = datetime(2024, 5, 1, tzinfo=UTC)


@pytest.fixture
def two(tmp_path):
    """A data set of talk and one of a list: a conversation each."""
    return [
        datasets.load(made_up.write(tmp_path / "talk")),
        datasets.load(made_up.write_list(tmp_path / "list")),
    ]


@contextmanager
def opened(path):
    engine = MemoryEngine(common.configuration(path), embedder=HashEmbedder())
    try:
        yield engine
    finally:
        engine.close()


def test_calibration_questions_are_asked_where_they_belong_and_where_they_do_not(two, tmp_path):
    with opened(tmp_path / "store") as engine:
        asked = related.ask(engine, two)
    kinds = {(one.id, one.kind) for one in asked}
    assert ("q0", "own") in kinds and ("q0", "unrelated") in kinds
    assert ("q3", "adversarial") in kinds and ("q3", "unrelated") not in kinds
    assert not any(one.id == "q4" for one in asked)  # nobody knows its answer
    for one in asked:
        assert len(one.found.hits) == len(one.right)
        assert one.kind == "own" or not any(one.right)
        texts = " ".join(hit.memory.text for hit in one.found.hits)
        elsewhere = "frozen lake" in texts or "red glove" in texts
        assert elsewhere == ((one.conversation == "l") == (one.kind != "unrelated"))


def hit(name: str, score: float, probability: float, *, pinned: bool = False, **more) -> Hit:
    memory = Memory(
        id=name,
        kind="chunk",
        scope="s",
        speaker="A",
        text=f"we saw {name}",
        valid_from=NOW,
        pinned=pinned,
    )
    return Hit(memory=memory, score=score, probability=probability, **more)


def asked(kind: str, hits: list[Hit], right=(), name: str = "q", whose: str = "c"):
    return related.Asked(
        id=name,
        conversation=whose,
        kind=kind,
        found=Recollection(hits=hits),
        at=NOW,
        right=tuple(n in right for n in range(len(hits))),
    )


# ------------------------------------------------------------------- the arithmetic


@pytest.mark.parametrize("seed", range(5))
def test_calibration_the_area_is_that_of_the_oracle(seed):
    metrics = pytest.importorskip("sklearn.metrics")
    chance = np.random.default_rng(seed)
    yes, no = chance.integers(3, 12, 40) / 10, chance.integers(0, 9, 70) / 10  # with many ties
    labels = np.r_[np.ones(40), np.zeros(70)]
    expected = metrics.roc_auc_score(labels, np.r_[yes, no])
    assert logistic.auc(yes, no) == pytest.approx(expected)


# ------------------------------------------------------------------- all of it


def test_calibration_coefficients_that_moved_are_noticed():
    used = {"bias": FULL.bias, "coverage": FULL.coverage, "cosine": FULL.cosine}
    assert not calibration.moved({"coefficients": used, "used": used})
    other = {**used, "cosine": 1.1 * FULL.cosine}
    assert calibration.moved({"coefficients": other, "used": used})


def asked_with(kind: str, lift: float, n: int, chance: np.random.Generator) -> related.Asked:
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
    return [asked_with(kind, lift, n, chance) for n in range(120) for kind, lift in lifts.items()]


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


def random_asked(seed: int) -> list[related.Asked]:
    chance = np.random.default_rng(seed)
    every = []
    for n in range(60):
        for kind, lift in (("own", 0.3), ("unrelated", 0.0), ("adversarial", 0.25)):
            coverage = chance.uniform(0, 0.6, 8) + lift
            cosine = chance.uniform(0, 0.5, 8) + lift
            sure = calibrate.probability(coverage, cosine)
            hits = [
                hit(f"{n}.{m}", 1 - m / 10, float(sure[m]), coverage=float(coverage[m]),
                    cosine=float(cosine[m]))
                for m in range(8)
            ]  # fmt: skip
            right = {m for m in range(8) if kind == "own" and chance.uniform() < sure[m]}
            every.append(asked(kind, hits, right, f"q{n}", f"c{n % 4}"))
    return every


def test_calibration_a_fit_is_made_of_what_was_asked(monkeypatch):
    pytest.importorskip("sklearn")
    every = random_asked(1)

    @contextmanager
    def no_engine(config, cache=None):
        yield None, None

    monkeypatch.setattr(related, "ask", lambda *_: every)
    monkeypatch.setattr(calibration.quality, "opened", no_engine)
    options = SimpleNamespace(config=None, cache=None, limit=0)
    written = calibration.learn([SimpleNamespace(name="Made-up", rank={}, lists=())], options)
    calibration._show_fits(written)
    full = written["fits"]["full"]
    assert full["n"] == 60 * 2 * calibrate.BEST and list(full["coefficients"]) == list(full["used"])
    assert full["coefficients"]["coverage"] > 0 and written["fitted_on"] == ["Made-up"]


def test_unknown_a_report_is_written(two, tmp_path):
    with opened(tmp_path / "store") as engine:
        found = related.ask(engine, two)
    texts = {q.id: q.text for data in two for q in data.questions}
    judged = unknown.judged([(one.kind, one, texts[one.id]) for one in found])
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
