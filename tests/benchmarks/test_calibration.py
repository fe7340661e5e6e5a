from contextlib import contextmanager
from datetime import UTC, datetime

import numpy as np
import pytest

from benchmarks import calibration, common, datasets, logistic, related
from slowcat_memory.core.ranking.offering import FULL
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
