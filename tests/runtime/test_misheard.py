"""What was misheard finds what was said; votes of judged queries move recall."""

from contextlib import closing
from pathlib import Path

import pytest

from slowcat_memory.engine import MemoryEngine, hotwords
from slowcat_memory.records import Forget, Key, Vector, WriteBatch
from slowcat_memory.testing import HashEmbedder
from tests.support.engine_home import Home, first
from tests.support.rows import each_row, listed
from tests.support.said import turn_at

SAID = listed("text/heard_names", "said_by_two")


def tell(engine: MemoryEngine) -> None:
    for n, (who, text) in enumerate(SAID):
        engine.append(turn_at(text, engine.clock(), session=f"s{n}", speaker=who))
    engine.flush(indexed=True)


@pytest.fixture(params=["just said", "loaded anew", "sealed"])
def told(request: pytest.FixtureRequest, home: Home) -> MemoryEngine:
    engine = home.open()
    tell(engine)
    if request.param == "sealed":
        engine.upkeep.seal("anna")
    if request.param == "loaded anew":
        engine = home.again()
    return engine


@each_row("query", ["who is ysaura", "is aura", "Isora?"])
def test_misheard_a_misheard_name_is_found(told, query):
    assert [first(told, query)] == [SAID[0][1]]


def test_misheard_it_can_be_switched_off(home):
    engine = home.open(ask={"sounds": False})
    tell(engine)
    assert first(engine, "who is ysaura") == ""


def test_misheard_names_that_were_forgotten_are_gone_from_the_list(told):
    assert "Isaura" in {one.word for one in hotwords(told, "anna")}
    (hit,) = [h for h in told.search("Isaura", "anna", 1).hits if "Isaura" in h.memory.text]
    told.forget(Forget(scope="anna", memories=(hit.memory.id,)))
    assert "Isaura" not in {one.word for one in hotwords(told, "anna")}
    told.flush(indexed=True)
    left = {one.word for one in hotwords(told, "anna")}
    assert "Isaura" not in left and "Hannah" in left
    assert not any(b"Isaura" in p.read_bytes() for p in told.store.path.rglob("names.msgpack"))


# ------------------------------------------------------------------- votes of judged queries move recall, through store, index and scoring

BOATS = ("the red boat lies at the pier", "the red boat was sold to Bertil", "cats sleep a lot")
QUERY = "red boat"


def ranking(path: Path, weights: dict[str, float]) -> dict[str, float]:
    """Scores of what is found after something was judged, by a store that is opened anew."""
    home, embedder = Home(path), HashEmbedder()
    with closing(home.open(embedder)) as engine:
        home.talk(engine, *BOATS)
        keys = tuple(
            Key(scope="anna", memory=m, id=f"{m}?a1", kind="asked", text=QUERY, weight=w)
            for m, w in weights.items()
        )
        values = embedder.encode_query(QUERY).vector
        vectors = tuple(Vector(scope="anna", memory=one.id, values=values) for one in keys)
        engine.apply(
            "test", WriteBatch(keys=keys, vectors=vectors, embedder=engine.embedding.report.key)
        )
    with closing(home.open(embedder)) as engine:
        return {hit.memory.id: hit.score for hit in engine.search(QUERY, "anna", 3).hits}


def test_asked_view_judgements_move_scores_by_no_more_than_they_may(tmp_path):
    plain = ranking(tmp_path / "a", {})
    first, second = list(plain)[:2]
    moved = ranking(tmp_path / "b", {first: -0.5, second: 1.0})
    assert next(iter(moved)) == second
    assert moved[second] - plain[second] == pytest.approx(0.2, abs=0.02)
    assert moved[first] - plain[first] == pytest.approx(-0.1, abs=0.02)
