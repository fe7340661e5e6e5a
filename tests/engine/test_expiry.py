"""What is erased because of its age: every turn that is due, and no other."""

from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any
from unittest.mock import patch

import pytest

from slowcat_memory.engine import MemoryEngine
from slowcat_memory.engine import upkeep as expiries
from slowcat_memory.records import Forget, Turn, WriteBatch
from tests.support.engine_home import Home
from tests.support.memories import Look
from tests.support.said import memory_at, turn_at

DAY = 86400.0
GUESTS: dict[str, Any] = {"people": {"scopes": "each"}}
IN_2038 = datetime(2038, 1, 19, tzinfo=UTC)


def opened(home: Home, **how: Any) -> MemoryEngine:
    """Open an engine, and let it erase what is due at its start."""
    engine = home.open(**how)
    engine.flush(indexed=True)
    return engine


@pytest.fixture
def engine(home: Home) -> MemoryEngine:
    """An engine that keeps what is said for 30 days."""
    return opened(home, retention={"raw_days": 30})


def said(home: Home, scope: str, ago_s: float = 0.0, **fields: Any) -> Turn:
    at = home.clock() - timedelta(seconds=ago_s)
    return turn_at("words", **{"at": at, "scope": scope, **fields})


def log(engine: MemoryEngine, *turns: Turn) -> list[int]:
    ids = [engine.append(turn).id for turn in turns]
    engine.store.flush()
    return ids


def reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Note the turns that are read from now on."""
    read = list[int]()

    def counted(events, most):
        found = list(islice(events, most))
        read.extend(event.id for event in found if isinstance(event, Turn))
        return found

    monkeypatch.setattr(expiries, "islice", counted)
    return read


def left(engine: MemoryEngine) -> list[int]:
    return [turn.id for turn in Look(engine).turns()]


# ------------------------------------------------------------------- every turn counts


def test_expiry_a_guest_dated_in_the_future_keeps_no_other_guests_words(home):
    engine = opened(home, **GUESTS)
    glitch, old, fresh = log(
        engine, said(home, "guest", at=IN_2038), said(home, "guest", 30 * 3600), said(home, "guest")
    )
    assert engine.upkeep.erase_expired() == (old,)
    home.clock.advance(DAY + 3600)
    assert engine.upkeep.erase_expired() == (fresh,) and left(engine) == [glitch]


def test_expiry_old_transcripts_imported_after_live_talk_are_erased(home, engine):
    live, old, young = log(
        engine,
        said(home, "anna"),
        said(home, "anna", 2000 * DAY, origin="1"),
        said(home, "anna", 29 * DAY, origin="2"),
    )
    assert engine.upkeep.erase_expired() == (old,)
    assert left(engine) == [live, young]


def test_expiry_what_becomes_old_later_is_found_without_reading_the_log_again(
    home, engine, monkeypatch
):
    log(engine, *(said(home, "anna") for _ in range(600)))
    assert not engine.upkeep.expired() or engine.upkeep.erase_expired() == ()
    read = reads(monkeypatch)
    for _ in range(20):
        home.clock.advance(3600)
        assert not engine.upkeep.expired()
    assert read == []
    (new,) = log(engine, said(home, "anna", 40 * DAY))
    assert engine.upkeep.expired() and read == [new]
    assert engine.upkeep.erase_expired() == (new,)


@pytest.mark.parametrize("turns", [1000, 2000])
def test_expiry_the_first_reading_reads_each_turn_once(home, engine, monkeypatch, turns):
    engine.append(*(said(home, "anna", 5) for _ in range(turns)))
    engine.store.flush()
    read = reads(monkeypatch)
    asked = 0
    while engine.upkeep.expired():
        asked += 1
    assert asked <= turns / expiries.SLICE + 1, "one slice at a time"
    assert sorted(read) == list(range(1, turns + 1))


def test_expiry_a_search_that_is_stopped_goes_on_where_it_was(home, engine):
    slices = 3
    engine.append(*[said(home, "anna")] * (slices * expiries.SLICE), said(home, "anna", 40 * DAY))
    engine.store.flush()
    for _ in range(slices):
        assert engine.upkeep.erase_expired(lambda: True) == ()
    assert engine.upkeep.erase_expired() == (slices * expiries.SLICE + 1,)


def test_expiry_what_could_not_be_erased_is_due_again(home, engine):
    (old,) = log(engine, said(home, "anna", 40 * DAY))
    with patch.object(engine.upkeep, "forget", side_effect=OSError("the disk refuses")):
        with pytest.raises(OSError):
            engine.upkeep.erase_expired()
    assert engine.upkeep.expired() and engine.upkeep.erase_expired() == (old,)
    assert not engine.upkeep.expired()


# ------------------------------------------------------------------- what a memory keeps


def fact(home: Home, *sources: int, **fields: Any) -> WriteBatch:
    memory = memory_at(
        "fact/1", "tea", home.clock(), kind="fact/preference", sources=sources, **fields
    )
    return WriteBatch(memories=(memory,))


def test_expiry_evidence_is_kept_and_counted_and_goes_when_its_fact_goes(home, engine):
    evidence, other = log(engine, said(home, "anna", 50 * DAY), said(home, "anna", 40 * DAY))
    engine.apply("test", fact(home, evidence))
    assert engine.upkeep.erase_expired() == (other,)
    kept, since = engine.upkeep.expiry.kept()
    assert kept == 1 and since == home.clock() - timedelta(days=50)
    engine.apply("test", fact(home, evidence, retired_at=home.clock()))
    home.clock.advance(DAY)
    assert engine.upkeep.expired(), "a day later it is looked at again"
    assert engine.upkeep.erase_expired() == (evidence,)
    assert engine.upkeep.expiry.kept() == (0, None)


def test_expiry_notes_in_the_guests_namespace_go_with_it(home):
    before = opened(home)
    before.remember("tea", "guest")
    before.close()
    home.clock.advance(2 * DAY)
    engine = opened(home, **GUESTS)
    engine.flush(indexed=True)
    assert not Look(engine).memories("guest")


def test_expiry_forgetting_on_request_needs_no_clock(home):
    engine = opened(home)
    (turn,) = log(engine, said(home, "anna"))
    home.clock.now += timedelta(days=365)
    assert engine.forget(Forget(turns=(turn,))).erased
