"""Votes of judged queries move recall, through store, index and scoring."""

from pathlib import Path

import pytest

from slowcat_memory.engine import MemoryEngine
from slowcat_memory.records import Key, Vector, WriteBatch
from slowcat_memory.testing import FixedClock, HashEmbedder, memory_config
from tests.support.said import turn_at

SAID = ("the red boat lies at the pier", "the red boat was sold to Bertil", "cats sleep a lot")
QUERY = "red boat"


def told(path: Path) -> MemoryEngine:
    embedder = HashEmbedder()
    engine = MemoryEngine(memory_config(path), embedder=embedder, clock=FixedClock())
    for text in SAID:
        turn = turn_at(text, engine.clock())
        engine.store.append(turn).wait()
    return engine


def ranking(path: Path, weights: dict[str, float]) -> dict[str, float]:
    """Scores of what is found after something was judged, by a store that is opened anew."""
    engine = told(path)
    key, vector = engine.embedding.key, HashEmbedder().encode_query(QUERY)
    keys = tuple(
        Key(scope="anna", memory=m, id=f"{m}?a1", kind="asked", text=QUERY, weight=w)
        for m, w in weights.items()
    )
    vectors = tuple(Vector(scope="anna", memory=one.id, values=vector) for one in keys)
    encode = HashEmbedder().encode_query
    vectors += tuple(
        Vector(scope="anna", memory=f"chunk/{n}", values=encode(f"Anna: {text}"))
        for n, text in enumerate(SAID, 1)
    )
    engine.store.apply("test", WriteBatch(keys=keys, vectors=vectors, embedder=key)).wait()
    engine.close()
    engine = MemoryEngine(memory_config(path), embedder=HashEmbedder(), clock=FixedClock())
    try:
        return {hit.memory.id: hit.score for hit in engine.search(QUERY, "anna", 3).hits}
    finally:
        engine.close()


def test_asked_view_judgements_move_scores_by_no_more_than_they_may(tmp_path: Path) -> None:
    plain = ranking(tmp_path / "a", {})
    first, second = list(plain)[:2]
    moved = ranking(tmp_path / "b", {first: -0.5, second: 1.0})
    assert next(iter(moved)) == second
    assert moved[second] - plain[second] == pytest.approx(0.2, abs=0.02)
    assert moved[first] - plain[first] == pytest.approx(-0.1, abs=0.02)
