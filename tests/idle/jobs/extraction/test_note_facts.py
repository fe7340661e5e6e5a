"""Notes without a turn become facts in idle time, and their facts go with them."""

import pytest

from slowcat_memory.core.facts.fact import is_fact
from slowcat_memory.engine import MemoryEngine, read_graph
from slowcat_memory.idle.jobs.extraction.facts import NoteFacts
from slowcat_memory.records import Forget, Memory
from tests.support.memories import Look

JOBS = (NoteFacts.name, "merge")


@pytest.fixture
def engine(opened) -> MemoryEngine:
    return opened()


def facts(engine: MemoryEngine) -> list[Memory]:
    engine.idle.until_done(JOBS)
    found = [one for one in Look(engine).memories("anna", "fact/") if is_fact(one)]
    return [one for one in found if one.retired_at is None]


def texts(engine: MemoryEngine) -> list[str]:
    return sorted(one.text for one in facts(engine))


def test_note_facts_are_drawn_once_and_shown_with_people(engine: MemoryEngine) -> None:
    engine.remember("Lives in Graz", "anna", speaker="Anna")
    engine.remember("The key is under the mat", "anna", speaker="Anna")
    assert texts(engine) == texts(engine) == ["Anna lives in Graz."]
    (anna, *_) = read_graph(engine, "anna").portraits("Anna")
    assert [line.value for line in anna.holds] == ["Graz"]
    found = engine.search("Graz", "anna").hits
    assert [hit.memory.kind for hit in found] == ["note"], "the fact is no second hit"


def test_note_facts_of_a_later_note_replace_those_of_an_earlier_one(engine: MemoryEngine) -> None:
    engine.remember("Lives in Graz", "anna", speaker="Anna", at=engine.clock().replace(year=2024))
    assert texts(engine) == ["Anna lives in Graz."]
    engine.remember("Lives in Linz", "anna", speaker="Anna")
    assert texts(engine) == ["Anna lives in Linz."]


def test_note_facts_are_forgotten_with_their_note(engine: MemoryEngine) -> None:
    kept = engine.remember("Lives in Graz", "anna", speaker="Anna")
    assert texts(engine)
    engine.forget(Forget(scope="anna", memories=(kept.id,)))
    assert texts(engine) == []


def test_note_facts_of_a_local_only_note_are_local_only(engine: MemoryEngine) -> None:
    kept = engine.remember("Lives in Graz", "anna", speaker="Anna", local_only=True)
    assert [one.local_only for one in facts(engine)] == [True]
    engine.edit("anna", kept.id, local_only=False)
    assert [one.local_only for one in facts(engine)] == [False]
