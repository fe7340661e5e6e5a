"""Votes of judged queries move recall, through store, index and scoring."""

from contextlib import closing
from pathlib import Path

import pytest

from slowcat_memory.records import Key, Vector, WriteBatch
from slowcat_memory.testing import HashEmbedder
from tests.support.engine_home import Home

SAID = ("the red boat lies at the pier", "the red boat was sold to Bertil", "cats sleep a lot")
QUERY = "red boat"


def ranking(path: Path, weights: dict[str, float]) -> dict[str, float]:
    """Scores of what is found after something was judged, by a store that is opened anew."""
    home, embedder = Home(path), HashEmbedder()
    with closing(home.open(embedder)) as engine:
        home.talk(engine, *SAID)
        keys = tuple(
            Key(scope="anna", memory=m, id=f"{m}?a1", kind="asked", text=QUERY, weight=w)
            for m, w in weights.items()
        )
        values = embedder.encode_query(QUERY)
        vectors = tuple(Vector(scope="anna", memory=one.id, values=values) for one in keys)
        engine.apply("test", WriteBatch(keys=keys, vectors=vectors, embedder=engine.embedding.key))
    with closing(home.open(embedder)) as engine:
        return {hit.memory.id: hit.score for hit in engine.search(QUERY, "anna", 3).hits}


def test_asked_view_judgements_move_scores_by_no_more_than_they_may(tmp_path):
    plain = ranking(tmp_path / "a", {})
    first, second = list(plain)[:2]
    moved = ranking(tmp_path / "b", {first: -0.5, second: 1.0})
    assert next(iter(moved)) == second
    assert moved[second] - plain[second] == pytest.approx(0.2, abs=0.02)
    assert moved[first] - plain[first] == pytest.approx(-0.1, abs=0.02)
