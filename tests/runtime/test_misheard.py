"""A misheard name finds what was said of the name, in an engine of its own."""

import pytest

from slowcat_memory.engine import MemoryEngine, hotwords
from slowcat_memory.records import Forget
from tests.support.engine_home import Home, first
from tests.support.rows import each_row
from tests.support.said import turn_at

SAID = (
    ("Hannah", "Then Isaura painted the boat."),
    ("Hannah", "The soup was cold."),
    ("Ben", "We saw the boat at the lake."),
    ("Ben", "My garden needs rain."),
)


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
        engine.close()
        engine = home.open()
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
