"""When jobs are asked: laws that hold whatever the clock does."""

from datetime import UTC, date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slowcat_memory.idle.job import Trigger
from slowcat_memory.idle.scheduler.budget import Budget, within
from slowcat_memory.idle.scheduler.options import IdleOptions
from slowcat_memory.idle.scheduler.retries import backoff, failed, revived, waits
from slowcat_memory.idle.scheduler.schedule import Asked, News, asked_now, day_of, due
from slowcat_memory.idle.scheduler.task_queue import Queue
from slowcat_memory.idle.scheduler.triggers import Triggers, read, row
from slowcat_memory.records import Run, SessionEdge, Task
from tests.support.idle_doubles import NOW, Fake

BERLIN = ZoneInfo("Europe/Berlin")
DAILY = Trigger(at_hour=3)
WEEKLY = Trigger(at_hour=3, weekday=6)
YEARS = timedelta(days=3652)


def walk(trigger, times, zone=BERLIN):
    """The local dates for which a job is asked, when it is looked at at these times."""
    asked, days = Asked(), []
    for now in times:
        if due(trigger, asked, News(), now, zone):
            days.append(day_of(trigger, now, zone))
            asked = asked_now(trigger, asked, 0, now, zone)
    return days


def every(minutes, start, days):
    return [start + timedelta(minutes=minutes * n) for n in range(days * 24 * 60 // minutes)]


# ------------------------------------------------------------------- days


@pytest.mark.parametrize(
    "start", [datetime(2026, 3, 27, tzinfo=UTC), datetime(2026, 10, 23, tzinfo=UTC)]
)
@pytest.mark.parametrize("hour", [0, 2, 3, 23])
def test_once_a_day_across_both_changes_of_the_clocks(start, hour):
    days = walk(Trigger(at_hour=hour), every(10, start, 5))
    assert days == sorted(set(days)) and len(days) in (5, 6)
    assert all(b - a == timedelta(1) for a, b in zip(days, days[1:], strict=False))


def test_not_before_its_hour_and_at_once_when_it_was_missed():
    at = datetime(2026, 5, 12, 2, 59, tzinfo=BERLIN)
    asked = asked_now(DAILY, Asked(), 0, at, BERLIN)  # the day before was caught up
    assert asked.days == ("2026-05-11",)
    assert not due(DAILY, asked, News(), at, BERLIN)
    assert due(DAILY, asked, News(), at + timedelta(minutes=1), BERLIN)
    assert due(DAILY, asked, News(), at + timedelta(days=9), BERLIN), "slept through it"


def test_after_a_long_sleep_it_is_asked_once():
    times = [
        datetime(2026, 5, 1, 12, tzinfo=UTC),
        *every(10, datetime(2026, 6, 1, 12, tzinfo=UTC), 1),
    ]
    assert walk(DAILY, times) == [date(2026, 5, 1), date(2026, 6, 1), date(2026, 6, 2)]


def test_weekly_is_once_a_week():
    days = walk(WEEKLY, every(60, datetime(2026, 3, 1, tzinfo=UTC), 60))
    assert {day.weekday() for day in days} == {6} and len(days) in (9, 10)
    assert days == sorted(set(days))


@pytest.mark.parametrize("jump", [YEARS, -YEARS, datetime(1970, 1, 1, 4, tzinfo=UTC) - NOW])
def test_a_clock_that_was_wrong_for_a_while_loses_no_day_and_repeats_none(jump):
    before = every(30, NOW, 3)
    wrong = [at + jump for at in every(30, NOW + timedelta(days=3), 1)]
    after = every(30, NOW + timedelta(days=3), 3)
    days = walk(DAILY, before + wrong + after)
    assert len(days) == len(set(days)), "asked twice"
    right = walk(DAILY, before + after)
    assert set(right) <= set(days), "a day was lost"


def test_who_travels_west_has_no_day_twice():
    asked, zone_at = Asked(), lambda n: timezone(timedelta(hours=12 - n % 24))
    seen = []
    for n, now in enumerate(every(60, NOW, 10)):
        if due(DAILY, asked, News(), now, zone_at(n)):
            seen.append(day_of(DAILY, now, zone_at(n)))
            asked = asked_now(DAILY, asked, 0, now, zone_at(n))
    assert len(seen) == len(set(seen))


def test_the_first_day_there_is_does_not_break_it():
    first = datetime(1, 1, 1, 1, tzinfo=UTC)
    assert day_of(WEEKLY, first, UTC) and due(DAILY, Asked(), News(), first, UTC)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(-4000, 4000), max_size=30), st.integers(0, 23))
def test_never_twice_in_a_row_whatever_the_clock_does(hours, hour):
    trigger, asked, now = Trigger(at_hour=hour), Asked(), NOW
    for jump in hours:
        now += timedelta(hours=jump)
        if due(trigger, asked, News(), now, BERLIN):
            asked = asked_now(trigger, asked, 0, now, BERLIN)
        assert not due(trigger, asked, News(), now, BERLIN)
        assert len(asked.days) <= 8


# ------------------------------------------------------------------- intervals, the log


@pytest.mark.parametrize("ahead", [0, 299, 300, -1, -YEARS.total_seconds(), YEARS.total_seconds()])
def test_an_interval_is_over_in_time_or_when_it_makes_no_sense(ahead):
    asked = Asked(at=NOW)
    expected = not 0 <= ahead < 300
    assert due(Trigger(every_s=300), asked, News(), NOW + timedelta(seconds=ahead), UTC) == expected


def test_nothing_triggers_a_job_that_wants_nothing():
    assert not due(Trigger(), Asked(), News(9, True), NOW, UTC)
    assert not due(Trigger(turns=10), Asked(), News(9, True), NOW, UTC)
    assert due(Trigger(session_end=True), Asked(), News(0, True), NOW, UTC)


def test_what_was_asked_survives_a_restart_and_nonsense(rig):
    asked = Asked(upto=7, at=NOW, days=("2026-05-12",))
    one = rig()
    from slowcat_memory.records import WriteBatch

    one.store.apply("t", WriteBatch(cursor=row("daily", asked))).wait()
    broken = row("broken", asked)
    one.store.apply(
        "t", WriteBatch(cursor=type(broken)(name=broken.name, position=3, note="{"))
    ).wait()
    one = rig()
    with one.store.snapshot() as snapshot:
        assert read(snapshot, "daily") == asked
        assert read(snapshot, "broken") == Asked(upto=3)
        assert read(snapshot, "never") == Asked()


def test_turns_and_ends_are_counted_from_where_it_was_asked(rig):
    one = rig()
    three, end = (
        Fake("three", trigger=Trigger(turns=3)),
        Fake("end", trigger=Trigger(session_end=True)),
    )
    triggers = Triggers()

    def asks(job):
        with one.store.snapshot() as snapshot:
            return triggers.due(snapshot, job, NOW, UTC)

    def asked(job):
        from slowcat_memory.records import WriteBatch

        with one.store.snapshot() as snapshot:
            cursor = Triggers.asked(snapshot, job, NOW, UTC)
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


# ------------------------------------------------------------------- retries, order, budget


def test_the_retry_table():
    options = IdleOptions(tries=9)
    waits_s = [backoff(n, options) for n in range(1, 9)]
    assert waits_s == [30, 120, 480, 1920, 7680, 21600, 21600, 21600]
    assert backoff(10_000, options) == 21600


def test_three_failures_are_death_and_a_person_may_revive():
    task, options = Task(id="a/b/c", job="a", key="c", created=NOW), IdleOptions()
    states = []
    for _ in range(3):
        task = failed(task, "why", NOW, options)
        states.append((task.state, waits(task, NOW)))
    assert states == [("waiting", 30.0), ("waiting", 120.0), ("dead", float("inf"))]
    again = revived(task)
    assert again.attempts == 0 and waits(again, NOW) == 0 and again.error == "why"


def test_a_clock_put_back_by_years_holds_no_task():
    task = failed(Task(id="a/b/c", job="a", key="c", created=NOW), "why", NOW, IdleOptions())
    assert waits(task, NOW - YEARS) == 0


def test_the_queue_knows_the_next_time():
    tired = failed(Task(id="a/b/1", job="a", key="1", created=NOW), "why", NOW, IdleOptions())
    dead = Task(id="a/b/2", job="a", key="2", created=NOW, state="dead")
    queue = Queue([tired, dead])
    assert len(queue) == 1 and queue.next(NOW, lambda task: True) is None
    assert queue.wait(NOW, lambda task: True) == 30
    later = NOW + timedelta(seconds=30)
    assert queue.next(later, lambda task: True) == tired
    assert queue.next(later, lambda task: False) is None
    queue.take(tired.id)
    queue.take(tired.id)
    assert queue.wait(NOW, lambda task: True) == float("inf")


@pytest.mark.parametrize(
    ("hour", "start", "end", "inside"),
    [(3, 0, 0, True), (3, 2, 4, True), (4, 2, 4, False), (23, 22, 6, True), (5, 22, 6, True),
     (6, 22, 6, False), (12, 22, 6, False)],
)  # fmt: skip
def test_hours(hour, start, end, inside):
    assert within(hour, start, end) is inside


def test_the_budget_tells_what_holds_a_job():
    options = IdleOptions(from_hour=22, to_hour=6, tokens_per_hour=100)
    plugged = [True]
    budget = Budget(options, lambda: not plugged[0])
    night, noon = datetime(2026, 5, 12, 23, tzinfo=BERLIN), datetime(2026, 5, 12, 12, tzinfo=BERLIN)
    assert budget.holds("llm", noon, BERLIN) == "hours"
    assert budget.holds("nothing", noon, BERLIN) == ""
    assert budget.holds("llm", night, BERLIN) == ""
    plugged[0] = False
    assert budget.holds("llm", night, BERLIN) == "", "it looked a moment ago"
    assert budget.holds("llm", night + timedelta(seconds=31), BERLIN) == "battery"
    plugged[0] = True
    later = night + timedelta(minutes=5)
    budget.spend(100, later)
    assert budget.holds("llm", later, BERLIN) == "tokens"
    assert budget.holds("embedder", later, BERLIN) == ""
    assert budget.holds("llm", later + timedelta(hours=1), BERLIN) == ""


def test_tokens_dated_by_a_clock_that_was_wrong_do_not_hold_for_years():
    budget = Budget(IdleOptions(tokens_per_hour=100), lambda: False)
    budget.remember([Run(task="t", job="j", at=NOW + YEARS, ms=1, outcome="done", tokens_in=500)])
    assert budget.holds("llm", NOW, UTC) == ""
