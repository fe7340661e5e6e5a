"""What is erased because of its age: every turn that is due, and none by a doubted clock."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from slowcat_memory.engine import MemoryEngine
from slowcat_memory.engine import expiry as expiries
from slowcat_memory.records import CommandEntry, Forget, Memory, Turn, WriteBatch
from tests.support.engine_home import Home

DAY = 86400.0
GUESTS: dict[str, Any] = {"people": {"scopes": "each"}}
DAYS: dict[str, Any] = {"retention": {"raw_days": 30}}
IN_2038 = datetime(2038, 1, 19, tzinfo=UTC)


def opened(home: Home, **how: Any) -> MemoryEngine:
    """Open an engine, and let it erase what is due at its start."""
    engine = home.open(**how)
    engine.drain()
    return engine


def said(home: Home, scope: str, ago_s: float = 0.0, **fields: Any) -> Turn:
    at = home.clock() - timedelta(seconds=ago_s)
    turn = Turn(session="s", scope=scope, speaker="x", role="user", text="words", at=at)
    return replace(turn, **fields)


def log(engine: MemoryEngine, *turns: Turn) -> list[int]:
    ids = [engine.append(turn).id for turn in turns]
    engine.store.flush()
    return ids


def left(engine: MemoryEngine) -> list[int]:
    with engine.snapshot() as snapshot:
        return [turn.id for turn in snapshot.turns()]


# ------------------------------------------------------------------- every turn counts


def test_expiry_a_guest_dated_in_the_future_keeps_no_other_guests_words(home: Home) -> None:
    engine = opened(home, **GUESTS)
    glitch, old, fresh = log(
        engine, said(home, "guest", at=IN_2038), said(home, "guest", 30 * 3600), said(home, "guest")
    )
    assert engine.eraser.erase_expired() == (old,)
    home.clock.advance(DAY + 3600)
    assert engine.eraser.erase_expired() == (glitch, fresh), "by when it was written"


def test_expiry_old_transcripts_imported_after_live_talk_are_erased(home: Home) -> None:
    engine = opened(home, **DAYS)
    live, old, young = log(
        engine,
        said(home, "anna"),
        said(home, "anna", 2000 * DAY, origin="1"),
        said(home, "anna", 29 * DAY, origin="2"),
    )
    assert engine.eraser.erase_expired() == (old,)
    assert left(engine) == [live, young]


def test_expiry_a_turn_in_the_future_goes_a_retention_period_after_it_was_written(
    home: Home,
) -> None:
    engine = opened(home, **DAYS)
    (future,) = log(engine, said(home, "anna", at=IN_2038))
    for _ in range(29):
        home.clock.advance(DAY)
        assert engine.eraser.erase_expired() == ()
    home.clock.advance(2 * DAY)
    assert engine.eraser.erase_expired() == (future,)


def test_expiry_what_becomes_old_later_is_found_without_reading_the_log_again(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = opened(home, **DAYS)
    log(engine, *(said(home, "anna") for _ in range(600)))
    assert not engine.eraser.has_expired() or engine.eraser.erase_expired() == ()
    read: list[int] = []
    plain = expiries._said_s
    monkeypatch.setattr(
        expiries, "_said_s", lambda turn, state: (read.append(turn.id), plain(turn, state))[1]
    )
    for _ in range(20):
        home.clock.advance(3600)
        assert not engine.eraser.has_expired()
    assert read == []
    (new,) = log(engine, said(home, "anna", 40 * DAY))
    assert engine.eraser.has_expired() and read == [new]
    assert engine.eraser.erase_expired() == (new,) and len(read) < 2 * expiries.SHELF


@pytest.mark.parametrize("turns", [1000, 2000])
def test_expiry_the_first_reading_reads_each_turn_once(
    home: Home, monkeypatch: pytest.MonkeyPatch, turns: int
) -> None:
    engine = opened(home, **DAYS)
    engine.append_all([said(home, "anna", 5) for _ in range(turns)])
    engine.store.flush()
    read = []
    plain = expiries._said_s
    monkeypatch.setattr(
        expiries, "_said_s", lambda turn, state: (read.append(turn.id), plain(turn, state))[1]
    )
    asked = 0
    while engine.eraser.has_expired():
        asked += 1
    assert asked <= turns / expiries.SLICE + 1, "one slice at a time"
    assert sorted(read) == list(range(1, turns + 1))


def test_expiry_a_search_that_is_stopped_goes_on_where_it_was(home: Home) -> None:
    engine = opened(home, **DAYS)
    slices = 3
    engine.append_all(
        [said(home, "anna")] * (slices * expiries.SLICE) + [said(home, "anna", 40 * DAY)]
    )
    engine.store.flush()
    for _ in range(slices):
        assert engine.eraser.erase_expired(lambda: True) == ()
    assert engine.eraser.erase_expired() == (slices * expiries.SLICE + 1,)


def test_expiry_what_could_not_be_erased_is_due_again(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = opened(home, **DAYS)
    (old,) = log(engine, said(home, "anna", 40 * DAY))

    def refuse(*_: Any) -> None:
        raise OSError("the disk refuses")

    with monkeypatch.context() as patched, pytest.raises(OSError):
        patched.setattr(engine.eraser, "forget", refuse)
        engine.eraser.erase_expired()
    assert engine.eraser.has_expired() and engine.eraser.erase_expired() == (old,)
    assert not engine.eraser.has_expired()


# ------------------------------------------------------------------- what a memory keeps


def fact(home: Home, *sources: int, **fields: Any) -> WriteBatch:
    memory = Memory(
        id="fact/1", kind="fact/preference", scope="anna", speaker="anna", text="tea",
        valid_from=home.clock(), sources=sources, **fields,
    )  # fmt: skip
    return WriteBatch(memories=(memory,))


def test_expiry_evidence_is_kept_and_counted_and_goes_when_its_fact_goes(home: Home) -> None:
    engine = opened(home, **DAYS)
    evidence, other = log(engine, said(home, "anna", 50 * DAY), said(home, "anna", 40 * DAY))
    engine.apply("test", fact(home, evidence))
    assert engine.eraser.erase_expired() == (other,)
    kept, since = engine.eraser.expiry.kept()
    assert kept == 1 and since == home.clock() - timedelta(days=50)
    engine.apply("test", fact(home, evidence, retired_at=home.clock()))
    home.clock.advance(DAY)
    assert engine.eraser.has_expired(), "a day later it is looked at again"
    assert engine.eraser.erase_expired() == (evidence,)
    assert engine.eraser.expiry.kept() == (0, None)


def test_expiry_notes_in_the_guests_namespace_go_with_it(home: Home) -> None:
    before = opened(home)
    before.remember("tea", "guest")
    before.close()
    home.clock.advance(2 * DAY)
    engine = opened(home, **GUESTS)
    engine.drain()
    with engine.snapshot() as snapshot:
        assert not [*snapshot.memories("guest")]


# ------------------------------------------------------------------- doubted clocks


@pytest.mark.parametrize("days", [365, -365, 40])
def test_expiry_a_clock_that_jumps_erases_nothing(home: Home, days: int) -> None:
    engine = opened(home, **DAYS, **GUESTS)
    ids = log(engine, said(home, "anna"), said(home, "guest"))
    engine.store.backup()
    home.clock.now += timedelta(days=days)
    assert engine.eraser.erase_expired() == () and not engine.eraser.has_expired()
    home.clock.advance(10 * DAY)
    assert engine.eraser.erase_expired() == () and left(engine) == ids
    assert list((home.path / "backups").glob("*.mdb"))
    home.clock.now -= timedelta(days=days)
    engine.eraser.erase_expired()  # or the second worker has, as the doubt ended
    engine.drain()
    assert left(engine) == ids[:1], "set back: the guest's ten days count"


def test_expiry_a_restart_with_a_clock_a_year_ahead_erases_nothing(home: Home) -> None:
    home.clock.synchronised = 10.0
    first = opened(home, **DAYS)
    ids = log(first, said(home, "anna"))
    first.close()
    home.clock.now += timedelta(days=365)
    home.clock.synchronised = None
    for _ in range(2):
        engine = opened(home, **DAYS)
        engine.drain()
        assert left(engine) == ids
        engine.close()
        home.clock.advance(DAY)
    home.clock.synchronised = 10.0
    engine = opened(home, **DAYS)
    engine.drain()
    assert left(engine) == [], "the system says that a year has passed"


def test_expiry_ten_days_without_the_agent_are_ordinary(home: Home) -> None:
    first = opened(home, **GUESTS)
    log(first, said(home, "guest"))
    first.close()
    home.clock.advance(10 * DAY)
    engine = opened(home, **GUESTS)
    engine.drain()
    assert left(engine) == []


def test_expiry_turns_of_a_machine_that_started_in_1970_age_by_its_boot_clock(home: Home) -> None:
    right = home.clock.now
    home.clock.now = datetime(1970, 1, 1, tzinfo=UTC)
    engine = opened(home, **DAYS)
    (first,) = log(engine, said(home, "anna"))
    home.clock.now = right
    engine.maintain("confirm clock")
    engine.drain()
    assert left(engine) == [first], "it was said a moment ago, whatever its date"
    home.clock.advance(31 * DAY)
    assert engine.eraser.erase_expired() == (first,)


@pytest.mark.parametrize("days", [365, -365])
def test_expiry_the_time_to_undo_is_not_measured_by_a_clock_that_jumps(
    home: Home, days: int
) -> None:
    engine = opened(home)
    (turn,) = log(engine, said(home, "anna"))
    engine.wiring.undo_log.hide("forget", "anna", [], [turn], 0, 300.0)
    home.clock.now += timedelta(days=days)
    assert engine.eraser.erase_due() == 0, "it can be undone still"
    engine.close()
    engine = opened(home)
    engine.drain()
    assert left(engine) == [turn]
    home.clock.advance(301)
    assert engine.eraser.erase_due() == 1 and left(engine) == []


def test_expiry_a_command_of_a_clock_that_was_ahead_does_not_wait_for_that_day(home: Home) -> None:
    engine = opened(home)
    (turn,) = log(engine, said(home, "anna"))
    home.clock.now += timedelta(days=365)
    engine.wiring.undo_log.hide("forget", "anna", [], [turn], 0, 300.0)
    home.clock.now -= timedelta(days=365)
    home.clock.advance(301)
    assert engine.eraser.erase_due() == 1 and left(engine) == []


def test_expiry_a_command_of_an_earlier_version_waits_for_a_clock_that_is_believed(
    home: Home,
) -> None:
    engine = opened(home)
    (turn,) = log(engine, said(home, "anna"))
    entry = CommandEntry(id=1, scope="anna", kind="forget_that", at=home.clock(), turns=(turn,),
                         due=home.clock() + timedelta(seconds=300))  # fmt: skip
    engine.apply("command", WriteBatch(command=entry))
    home.clock.now += timedelta(days=365)
    assert engine.eraser.erase_due() == 0
    assert engine.maintain("confirm clock")
    engine.drain()
    assert left(engine) == []


def test_expiry_forgetting_on_request_needs_no_clock(home: Home) -> None:
    engine = opened(home)
    (turn,) = log(engine, said(home, "anna"))
    home.clock.now += timedelta(days=365)
    assert engine.forget(Forget(turns=(turn,))).erased
