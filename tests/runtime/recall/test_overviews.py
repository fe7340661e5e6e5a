"""A question that asks for an overview brings summaries; any other one brings none."""

import asyncio
import contextlib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec.structs import replace

from slowcat_memory import MemoryEngine
from slowcat_memory.core.query.recall_gate import judge
from slowcat_memory.runtime.recall.query import Query
from slowcat_memory.testing import FixedClock, memory_config
from tests.support.rows import each_listed
from tests.support.sessions import hold

NOW = datetime(2026, 5, 20, 15, tzinfo=UTC)
JOBS = ("session_summary", "window_summary", "rollups", "topics")
SAID = ("My dog Max barks at the neighbour.", "The vet said that Max is fine.")


@pytest.fixture
def engine(tmp_path):
    config = memory_config(tmp_path, idle={"enabled": False, "grace_s": 0.0, "rest_s": 0.01})
    with contextlib.closing(MemoryEngine(config, clock=FixedClock(NOW))) as made:
        for day in (11, 13, 20):
            at = datetime(2026, 5, day, 9, tzinfo=UTC)
            hold(made, f"s{day}", [f"{text} It is the {day}th." for text in SAID], at, step_s=60)
        made.store.flush(None)
        made.idle.until_done(JOBS)
        yield made


def ids(engine, text, **given):
    return [hit.memory.id for hit in engine.search(text, "anna", 10, **given).hits]


@each_listed("rules/overviews")
def test_overviews_an_overview_begins_with_the_summary_of_its_time(engine, text, first):
    found = ids(engine, text)
    assert found[0] == first and len(set(found)) == len(found)
    assert sum(id.startswith("summary/") for id in found) <= 4


@pytest.mark.parametrize("text", ["what is my dog called", "Max the dog", "what did the vet say"])
def test_overviews_no_summary_comes_with_any_other_question(engine, text):
    found = ids(engine, text)
    assert found and not any(id.startswith("summary/") for id in found)


def test_overviews_what_is_excluded_stays_away_and_other_scopes_have_nothing(engine):
    week = "summary/week/2026-W20"
    text = "what did we talk about last week?"
    assert week not in ids(engine, text, exclude=frozenset({week}))
    assert not engine.search(text, "ben", 10).hits


def test_overviews_a_late_question_has_its_summary_and_is_not_denied(engine):
    retrieval = engine.retrieval
    text = "what did we talk about last week?"
    query = Query(text=text, scope="anna", now=NOW, need=judge(text), local=True)
    late = retrieval.settle(*retrieval._recalls(query, ["anna"]))
    assert late.hits[0].memory.id == "summary/week/2026-W20" and late.evidence is None
    nowhere = replace(query, text="what did we talk about in March last year?")
    late = retrieval.settle(*retrieval._recalls(nowhere, ["anna"]))
    assert late.evidence is None


# ------------------------------------------------------------------- x

MAY = datetime(2026, 5, 1, 9, tzinfo=UTC)
ASKED = "Where did we get the scooter?"


class House:
    """Anna and her agent, who talk once a day."""

    def __init__(self, path: Path) -> None:
        self.clock = FixedClock(MAY)
        options = {"deadline_ms": 1e4, "settle_ms": 1e4, "warn_ms": 1e4, "floor": 0.005}
        config = memory_config(path, recall=options, idle={"enabled": False})
        self.engine = MemoryEngine(config, clock=self.clock)

    def talk(self, *said: str | tuple[str, str]) -> None:
        """Log a session; a pair is what Anna says and what the agent answers."""
        self.clock.advance(86_400)
        at = self.clock()
        hold(self.engine, f"s{at:%j}", said, at, step_s=15)
        self.engine.flush(indexed=True)

    def block(self, text: str) -> str:
        found = asyncio.run(self.engine.recall(text, "anna"))
        return (found.packed or self.engine.blocks.pack(found, self.engine.clock())).text


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    made = House(tmp_path)
    with contextlib.closing(made.engine):
        made.talk(("We bought the scooter in Perugia.", "Lovely."), ("It is yellow.", "Nice."))
        made.talk(("My sister Clara lives in Vienna.", "Good to know."), "Our cat is called Mimi.")
        yield made


def test_a_question_that_was_not_answered_does_not_hide_its_answer(house):
    house.talk((ASKED, "I am not sure, sorry."), "okay thanks")
    block = house.block(ASKED)
    assert "in Perugia" in block
    assert ASKED not in block and "not sure" not in block and "okay" not in block


def test_a_question_asked_every_day_for_a_month_has_the_same_answer_every_day(house):
    first = house.block(ASKED)
    for _ in range(31):
        house.talk((ASKED, "You got the scooter in Perugia."), ("okay thanks", "Alright."))
    lines = [block.splitlines()[-2].partition(") ")[2] for block in (first, house.block(ASKED))]
    assert lines[0] == lines[1] == "Anna: We bought the scooter in Perugia."


def test_an_old_home_is_never_offered_as_the_current_one(house):
    house.talk("I live in Lisbon.")
    house.talk("I live in Porto now.")
    lines = house.block("Where do I live?").splitlines()
    (old,) = [line for line in lines if "Lisbon" in line]
    assert "until" in old and any("Porto" in line for line in lines)


def test_a_question_about_oneself_finds_its_fact_in_other_words(house):
    house.talk("My flat's in Graz, just off the ring road.", "In the film she lives in Cardiff.")
    house.engine.idle.until_done()
    house.engine.flush(indexed=True)
    assert "in Graz" in house.block("Where do I live?").splitlines()[-2]
