"""Talk about talk: asking, not knowing and repeating do not hide what was said."""

import asyncio
import contextlib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from slowcat_memory import MemoryEngine
from slowcat_memory.testing import FixedClock, memory_config
from tests.support.sessions import hold

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


def test_the_latest_memories_are_at_hand_after_a_restart(house, tmp_path):
    house.engine.close()
    again = House(tmp_path)
    with contextlib.closing(again.engine):
        namespace = again.engine.wiring.namespaces.get("anna")
        namespace.finish_opening()
        found = {
            one.text for one in namespace.recent([f"chunk/{n}" for n in range(1, 40)]).values()
        }
    assert {"We bought the scooter in Perugia.", "Our cat is called Mimi."} <= found


def test_a_question_about_oneself_finds_its_fact_in_other_words(house):
    house.talk("My flat's in Graz, just off the ring road.", "In the film she lives in Cardiff.")
    house.engine.idle.until_done()
    house.engine.flush(indexed=True)
    lines = house.block("Where do I live?").splitlines()
    assert "in Graz" in lines[-2]
