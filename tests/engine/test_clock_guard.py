"""Nothing is erased by time while the wall clock may be wrong, whoever wrote the newest row."""

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from slowcat_memory.engine import MemoryEngine
from slowcat_memory.engine import availability as guards
from tests.support.engine_home import Home
from tests.support.memories import Look
from tests.support.rows import cases

HOUR, DAY, YEAR = timedelta(hours=1), timedelta(days=1), timedelta(days=365)
A_DAY_S = 86400.0
EXPIRING: dict[str, Any] = {"people": {"scopes": "each"}, "retention": {"raw_days": 30}}


@pytest.fixture(autouse=True)
def unsynchronised(home: Home) -> None:
    home.clock.synchronised = False


def doubt(engine: MemoryEngine) -> str:
    return engine.clock_guard.doubt()


def say(home: Home, engine: MemoryEngine, scope: str = "anna", **fields: Any) -> int:
    id_ = engine.append(replace(home.turn("words"), at=home.clock(), scope=scope, **fields)).id
    engine.store.flush()
    return id_


@pytest.fixture
def engine(home: Home) -> MemoryEngine:
    """An engine to which something was said."""
    made = home.open()
    say(home, made)
    return made


def left(engine: MemoryEngine) -> list[int]:
    return [turn.id for turn in Look(engine).turns()]


def restarted(home: Home, engine: MemoryEngine, **how: Any) -> MemoryEngine:
    engine.close()
    opened = home.open(**how)
    opened.flush(indexed=True)
    return opened


# ------------------------------------------------------------------- when it is doubted


@cases("clock_guard.jsonl")
@pytest.mark.parametrize("restart", [False, True])
def test_guard_more_than_a_day_from_the_newest_turn_is_doubted(home, engine, restart, hours, words):
    home.clock.now += hours * HOUR
    if restart:
        engine = restarted(home, engine)
    assert words in doubt(engine) and bool(doubt(engine)) == bool(words)


def test_guard_time_that_passes_is_no_jump(home, engine):
    home.clock.advance(90 * A_DAY_S)
    assert doubt(engine) == ""


def test_guard_several_steps_of_less_than_a_day_are_one_jump(home):
    engine = home.open()
    for _ in range(2):
        home.clock.now += 23 * HOUR
        say(home, engine)
    assert doubt(engine)


@pytest.mark.parametrize("killed", [False, True])
def test_guard_turns_of_a_wrong_clock_do_not_make_it_right(home, engine, killed):
    home.clock.now += YEAR
    for _ in range(3):
        say(home, engine)  # and nobody asks before the process ends
        if killed:
            engine.store.close()
        engine = restarted(home, engine)
        home.clock.advance(3600)
        assert doubt(engine)


def test_guard_imports_are_no_measure(home, engine, monkeypatch):
    monkeypatch.setattr(guards, "STEP", 4)
    old = replace(home.turn("old words"), at=home.clock() + 10 * YEAR, origin="1")
    engine.append(*[old] * 20)
    assert doubt(restarted(home, engine)) == ""
    home.clock.now += 10 * YEAR
    assert doubt(home.engines[-1])


def test_guard_a_new_store_believes_its_clock(home):
    assert doubt(home.open()) == ""


# ------------------------------------------------------------------- when it is believed again


def test_guard_a_machine_that_was_off_for_a_month_waits_for_synchronised_time(home, engine):
    engine.close()
    home.clock.advance(30 * A_DAY_S)
    engine = home.open()
    assert doubt(engine)
    home.clock.synchronised = True
    assert doubt(engine) == ""
    home.clock.synchronised = False
    assert doubt(engine) == "", "the system said that it was right"
    assert doubt(restarted(home, engine)) == ""


def test_guard_confirmed_once_it_is_believed_after_a_restart(home, engine):
    home.clock.now += YEAR
    assert engine.upkeep.confirm_clock() is True
    assert engine.upkeep.confirm_clock() is False
    engine = restarted(home, engine)
    assert doubt(engine) == ""
    home.clock.now += YEAR
    assert doubt(engine), "another jump is another doubt"


def test_guard_set_back_it_is_believed(home, engine):
    home.clock.now += YEAR
    say(home, engine)
    home.clock.advance(5 * A_DAY_S)
    assert doubt(engine)
    home.clock.now -= YEAR
    assert doubt(engine) == "" and doubt(restarted(home, engine)) == ""


def test_guard_a_newest_turn_in_the_future_is_overruled_by_a_person(home):
    right = home.clock.now
    home.clock.now = datetime(2038, 1, 19, tzinfo=UTC)
    engine = home.open()
    say(home, engine)
    engine.close()
    home.clock.now = right
    engine = home.open()
    assert "earlier than expected" in doubt(engine)
    assert engine.upkeep.confirm_clock()
    assert doubt(restarted(home, engine)) == ""


def test_guard_a_reader_says_the_same_and_writes_nothing(home, engine):
    engine.close()
    home.clock.now += YEAR
    reader = home.open(readonly=True)
    assert "365.0 days later" in reader.upkeep.stats()["clock_doubted"]
    assert Look(reader).trusted_time() is None
    reader.close()
    home.clock.now -= YEAR
    assert doubt(home.open()) == ""


# ------------------------------------------------------------------- what is erased


@pytest.mark.parametrize("released", ["confirmed", "synchronised"])
def test_guard_through_the_engine_nothing_is_erased_until_the_clock_is_believed(home, released):
    engine = home.open(**EXPIRING)
    ids = [say(home, engine, scope) for scope in ("anna", "guest")]
    hidden = say(home, engine)
    engine.undo_log.hide("forget_that", "anna", [], [hidden], 0, 300.0)
    home.clock.now += YEAR
    ids += [hidden, say(home, engine)]
    for _ in range(2):
        assert engine.upkeep.erase() == (0, ()) and not engine.upkeep.expired()
        assert not engine.undo_log.has_due()
        overdue = engine.upkeep.overdue()
        assert overdue.doubted and (overdue.commands, overdue.expired) == (1, 3)
        engine = restarted(home, engine, **EXPIRING)
        assert left(engine) == ids
    if released == "confirmed":
        assert engine.upkeep.confirm_clock()
    home.clock.synchronised = released == "synchronised"
    engine.upkeep.erase()
    engine.flush(indexed=True)
    assert left(engine) == ids[-1:]


def test_guard_a_machine_that_started_in_1970_erases_nothing(home):
    engine = home.open(**EXPIRING)
    first = say(home, engine)
    engine.close()
    right = home.clock.now
    home.clock.now = datetime(1970, 1, 1, tzinfo=UTC)
    engine = home.open(**EXPIRING)
    engine.flush(indexed=True)  # the opening's own search for what has expired is over
    early = say(home, engine)
    home.clock.now = datetime(1970, 3, 1, tzinfo=UTC)
    assert engine.upkeep.erase_expired() == ()
    home.clock.now = right
    assert engine.upkeep.erase_expired() == (early,), "by its date, which is all that is known"
    assert left(engine) == [first]


@pytest.mark.parametrize("days", [365, -365])
def test_guard_a_command_can_be_undone_while_the_clock_is_doubted(home, days):
    engine = home.open()
    turn = say(home, engine)
    entry = engine.undo_log.hide("forget_that", "anna", [], [turn], 0, 300.0)
    home.clock.now += timedelta(days=days)
    assert engine.upkeep.erase_due() == 0
    home.clock.advance(301)
    engine = restarted(home, engine)
    assert engine.upkeep.erase_due() == 0 and left(engine) == [turn]
    undone = engine.undo_log.undo(entry)
    assert undone is not None and undone.state == "undone"


def test_guard_a_command_of_a_clock_that_was_ahead_does_not_wait_for_that_day(home):
    engine = home.open()
    turn = say(home, engine)
    home.clock.now += YEAR
    engine.undo_log.hide("forget_that", "anna", [], [turn], 0, 300.0)
    home.clock.now -= YEAR
    assert engine.upkeep.erase_due() == 1 and left(engine) == []


@pytest.mark.parametrize("seed", range(4))
def test_guard_what_was_dated_rightly_is_never_erased_early(home, seed):
    """A machine at random: jumps, restarts, pauses, time servers; true time is known here alone."""
    chance, off, said = random.Random(seed), timedelta(), dict[int, datetime]()
    engine, doubted = home.open(**EXPIRING), 0
    for _ in range(120):
        match chance.choice(("say", "say", "wait", "jump", "right", "restart")):
            case "say":
                true = home.clock() - off
                id_ = say(home, engine)
                if not off:
                    said[id_] = true
            case "wait":
                home.clock.advance(chance.uniform(0.1, 6) * A_DAY_S)
            case "jump":
                step = chance.choice((-1, 1)) * timedelta(days=chance.choice((5, 40, 400)))
                off, home.clock.now = off + step, home.clock() + step
                home.clock.synchronised = False
            case "right":
                home.clock.now, off, home.clock.synchronised = home.clock() - off, timedelta(), True
            case "restart":
                engine.close()
                home.clock.advance(chance.uniform(0, 20) * A_DAY_S)
                engine = home.open(**EXPIRING)
        engine.upkeep.erase()
        engine.flush(indexed=True)
        doubted += bool(doubt(engine))
        gone = said.keys() - set(left(engine))
        true = home.clock() - off
        assert all(true - said.pop(id_) > 29 * DAY for id_ in gone)
    assert doubted
