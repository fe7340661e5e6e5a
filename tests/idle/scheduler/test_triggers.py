"""When jobs are asked: laws that hold whatever the clock does."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slowcat_memory.idle.job import Trigger
from slowcat_memory.idle.scheduler.planner import (
    LastAsked,
    News,
    Triggers,
    asked_now,
    day_of,
    due,
    read,
    row,
)
from slowcat_memory.records import SessionEdge, WriteBatch
from tests.support.idle_doubles import NOW, Fake
from tests.support.rows import each_row

BERLIN = ZoneInfo("Europe/Berlin")
DAILY = Trigger(at_hour=3)
YEARS = timedelta(days=3652)


def walk(trigger, times, zone=BERLIN):
    """The local dates for which a job is asked, when it is looked at at these times."""
    asked, days = LastAsked(), []
    for now in times:
        if due(trigger, asked, News(), now, zone):
            days.append(day_of(trigger, now, zone))
            asked = asked_now(trigger, asked, 0, now, zone)
    return days


def every(minutes, start, days):
    return [start + timedelta(minutes=minutes * n) for n in range(days * 24 * 60 // minutes)]


# ------------------------------------------------------------------- days


@each_row("start", [datetime(2026, 3, 27, tzinfo=UTC), datetime(2026, 10, 23, tzinfo=UTC)])
@each_row("hour", [0, 2, 3, 23])
def test_triggers_once_a_day_across_both_changes_of_the_clocks(start, hour):
    days = walk(Trigger(at_hour=hour), every(10, start, 5))
    assert days == sorted(set(days)) and len(days) in (5, 6)
    assert all(b - a == timedelta(1) for a, b in zip(days, days[1:], strict=False))


def test_triggers_not_before_its_hour_and_at_once_when_it_was_missed():
    at = datetime(2026, 5, 12, 2, 59, tzinfo=BERLIN)
    asked = asked_now(DAILY, LastAsked(), 0, at, BERLIN)  # the day before was caught up
    assert asked.days == ("2026-05-11",)
    assert not due(DAILY, asked, News(), at, BERLIN)
    assert due(DAILY, asked, News(), at + timedelta(minutes=1), BERLIN)
    assert due(DAILY, asked, News(), at + timedelta(days=9), BERLIN), "slept through it"


@pytest.mark.parametrize("jump", [YEARS, -YEARS, datetime(1970, 1, 1, 4, tzinfo=UTC) - NOW])
def test_triggers_a_clock_that_was_wrong_for_a_while_loses_no_day_and_repeats_none(jump):
    before = every(30, NOW, 3)
    wrong = [at + jump for at in every(30, NOW + timedelta(days=3), 1)]
    after = every(30, NOW + timedelta(days=3), 3)
    days = walk(DAILY, before + wrong + after)
    assert len(days) == len(set(days)), "asked twice"
    right = walk(DAILY, before + after)
    assert set(right) <= set(days), "a day was lost"


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(-4000, 4000), max_size=30), st.integers(0, 23))
def test_triggers_never_twice_in_a_row_whatever_the_clock_does(hours, hour):
    trigger, asked, now = Trigger(at_hour=hour), LastAsked(), NOW
    for jump in hours:
        now += timedelta(hours=jump)
        if due(trigger, asked, News(), now, BERLIN):
            asked = asked_now(trigger, asked, 0, now, BERLIN)
        assert not due(trigger, asked, News(), now, BERLIN)
        assert len(asked.days) <= 8


# ------------------------------------------------------------------- intervals, the log


def test_triggers_what_was_asked_survives_a_restart_and_nonsense(rig):
    asked = LastAsked(upto=7, at=NOW, days=("2026-05-12",))
    one = rig()
    one.store.apply("t", WriteBatch(cursor=row("daily", asked))).wait()
    broken = row("broken", asked)
    one.store.apply(
        "t", WriteBatch(cursor=type(broken)(name=broken.name, position=3, note="{"))
    ).wait()
    one = rig()
    with one.store.snapshot() as snapshot:
        assert read(snapshot, "daily") == asked
        assert read(snapshot, "broken") == LastAsked(upto=3)
        assert read(snapshot, "never") == LastAsked()


def test_triggers_turns_and_ends_are_counted_from_where_it_was_asked(rig):
    one = rig()
    three, end = (
        Fake("three", trigger=Trigger(turns=3)),
        Fake("end", trigger=Trigger(session_end=True)),
    )
    triggers = Triggers()

    def asks(job):
        with one.store.snapshot() as snapshot:
            return triggers.look(snapshot, job, NOW, UTC)[0]

    def asked(job):
        with one.store.snapshot() as snapshot:
            _, cursor = Triggers().look(snapshot, job, NOW, UTC)
        one.store.apply("t", WriteBatch(cursor=cursor)).wait()

    one.say("a", "b")
    assert not asks(three) and not asks(end)
    one.store.append(SessionEdge(session="s", scope="anna", kind="end", at=NOW)).wait()
    assert not asks(three) and asks(end)
    one.say("c")
    assert asks(three) and asks(end)
    asked(three), asked(end)
    assert not asks(three) and not asks(end)
    one.say("d", "e", "f")
    assert asks(three) and not asks(end)
