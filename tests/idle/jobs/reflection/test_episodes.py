"""Which episodes a diary has does not depend on when, or in which order, it is worked on."""

from datetime import UTC, datetime, timedelta

import pytest

from slowcat_memory.engine import MemoryEngine
from slowcat_memory.testing import FixedClock
from tests.support.memories import Look
from tests.support.rows import listed
from tests.support.sessions import hold

MONDAY = datetime(2026, 11, 2, 18, tzinfo=UTC)
SCOPE = "nora"
EVENINGS = listed("idle/evenings")


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(MONDAY)


OPTIONS = {"window": 1, "words": 8, "per_day": 6}


def _say(engine: MemoryEngine, clock: FixedClock, evening: int) -> None:
    clock.now = MONDAY + timedelta(days=evening)
    said = [(text, "I see.") for text in EVENINGS[evening]]
    hold(engine, f"s{evening}", said, clock.now, step_s=30, scope=SCOPE, speaker="Nora")
    engine.store.flush(None)


def _episodes(engine: MemoryEngine) -> dict[str, tuple[int, ...]]:
    every = Look(engine.store).memories(SCOPE, "episode/")
    return {one.id: one.sources for one in every if not one.retired_at and one.text}


@pytest.mark.parametrize("at_once", [2, 3, 5])
def test_episodes_of_a_bulk_import_are_those_of_the_days(opened, clock: FixedClock, at_once: int):
    found = list[dict[str, tuple[int, ...]]]()
    for name, portion in (("days", 1), ("bulk", at_once)):
        engine = opened(name=name, episodes=OPTIONS)
        for evening in range(len(EVENINGS)):
            _say(engine, clock, evening)
            if (evening + 1) % portion == 0 or evening == len(EVENINGS) - 1:
                engine.idle.until_done(("episodes",))
        found.append(_episodes(engine))
    assert found[0] == found[1]
    assert len(found[0]) == 6, "a window of an evening each"
