"""When jobs are asked, whatever the clock does; and each field of ``[jobs.NAME]`` for any job."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from slowcat_memory.errors import ConfigError
from slowcat_memory.idle.job import Job, Trigger, cursor_at
from slowcat_memory.idle.options import IdleOptions, JobOptions
from slowcat_memory.idle.registry import BUILT_IN, check_jobs
from slowcat_memory.idle.scheduler.planner import News, Triggers, day_of, due
from slowcat_memory.records import SessionEdge, WriteBatch
from tests.support.idle_doubles import NOW, Fake, Nobody
from tests.support.memories import Look
from tests.support.rows import each_row

BERLIN = ZoneInfo("Europe/Berlin")
DAILY = Trigger(at_hour=3)
YEARS = timedelta(days=3652)


def walk(trigger, times, zone=BERLIN):
    """The local dates for which a job is asked, when it is looked at at these times."""
    asked, days = None, []
    for now in times:
        if due(trigger, asked, News(), now, zone):
            days.append(day_of(trigger.at_hour, now, zone))
            asked = now
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
    at = datetime(2026, 5, 12, 2, 59, tzinfo=BERLIN)  # the day before was caught up
    assert not due(DAILY, at, News(), at, BERLIN)
    assert due(DAILY, at, News(), at + timedelta(minutes=1), BERLIN)
    assert due(DAILY, at, News(), at + timedelta(days=9), BERLIN), "slept through it"


@pytest.mark.parametrize("jump", [YEARS, -YEARS, datetime(1970, 1, 1, 4, tzinfo=UTC) - NOW])
def test_triggers_a_clock_that_was_wrong_for_a_while_loses_no_day(jump):
    before = every(30, NOW, 3)
    wrong = [at + jump for at in every(30, NOW + timedelta(days=3), 1)]
    after = every(30, NOW + timedelta(days=3), 3)
    days = walk(DAILY, before + wrong + after)
    assert len(days) <= len(set(days)) + 1, "asked again and again"
    right = walk(DAILY, before + after)
    assert set(right) <= set(days), "a day was lost"


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(-4000, 4000), max_size=30), st.integers(0, 23))
def test_triggers_never_twice_in_a_row_whatever_the_clock_does(hours, hour):
    trigger, asked, now = Trigger(at_hour=hour), None, NOW
    for jump in hours:
        now += timedelta(hours=jump)
        if due(trigger, asked, News(), now, BERLIN):
            asked = now
        assert not due(trigger, asked, News(), now, BERLIN)


# ------------------------------------------------------------------- intervals, the log


def test_triggers_what_was_asked_survives_a_restart_and_nonsense(rig):
    one, job = rig(), Fake("daily", trigger=Trigger(every_s=60))
    for note, due_now in ((NOW, False), ("never", True)):
        one.store.apply("t", WriteBatch(cursor=cursor_at("asked/daily", 0, note))).wait()
        one = rig()
        with one.store.snapshot() as snapshot:
            assert Triggers().look(snapshot, job, NOW, UTC)[0] is due_now


def test_triggers_turns_and_ends_are_counted_from_where_it_was_asked(rig):
    one = rig()
    three = Fake("three", trigger=Trigger(turns=3))
    end = Fake("end", trigger=Trigger(session_end=True))
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


# ------------------------------------------------------------------- each field of [jobs.NAME] is honoured for any job


def set_for(name: str, **given) -> IdleOptions:
    return IdleOptions(jobs={name: JobOptions(**given)})


def asked_at(one, job: Fake, hours: int) -> list[datetime]:
    """Run in the background for some hours; return when the job was asked."""
    times, plan = [], job.plan

    def timed(context):
        times.append(one.clock())
        return plan(context)

    job.plan = timed
    end = one.clock() + timedelta(hours=hours)
    one.run_until(lambda: one.clock() >= end)
    return times


def test_job_options_enabled_false_runs_neither_plans_nor_waiting_tasks(rig) -> None:
    job, other = Fake(), Fake("other")
    one = rig(job, other, options=set_for("fake", enabled=False), said="a")
    assert one.done() == 0 and job.plans == 0 and job.steps == []
    assert other.steps == ["1"]
    assert one.done(jobs=["fake"]) == 0 and job.plans == 0
    with pytest.raises(KeyError):
        one.done(jobs=["unknown"])


def test_job_options_every_s_is_the_least_time_between_two_looks(rig) -> None:
    """It holds whatever the trigger; here a turn a minute would trigger the job each time."""

    class Talkative(Fake):
        def plan(self, context):
            return None

    options = replace(set_for("fake", every_s=1800), rest_s=60)
    job = Talkative(trigger=Trigger(every_s=60))
    times = asked_at(rig(job, options=options), job, hours=2)
    gaps = [(b - a).total_seconds() for a, b in zip(times, times[1:], strict=False)]
    assert len(times) == 4 and all(1800 <= gap <= 1860 for gap in gaps)


def test_job_options_at_hour_replaces_the_trigger(rig) -> None:
    options = replace(set_for("fake", at_hour=3), rest_s=600)
    job = Fake(trigger=Trigger(turns=1, session_end=True, every_s=60))
    one = rig(job, options=options)
    taken = cursor_at("asked/fake", 0, NOW)  # the next is tomorrow's
    one.store.apply("t", WriteBatch(cursor=taken)).wait()
    one.say("a")
    times = asked_at(one, job, hours=48)
    assert {time.astimezone(UTC).hour for time in times} == {3}
    assert len({time.date() for time in times}) == 2


def test_job_options_model_limit_and_temperature_reach_the_request(rig) -> None:
    async def ask(task, context):
        await context.ask(WriteBatch, "s", "u", "anna", max_tokens=100)

    llm = Nobody()
    chosen, other = Fake("chosen", ask, needs="llm"), Fake("other", ask, needs="llm")
    options = set_for("chosen", model="small", max_tokens=7, temperature=0.0)
    one = rig(chosen, other, options=options, parts={"llm": llm}, said="a")
    assert one.done() == 0
    asked = {(prompt.model, prompt.max_tokens) for prompt in llm.prompts}
    assert asked == {("small", 7), ("", 100)}
    assert {prompt.job_temperature for prompt in llm.prompts} == {0.0, None}
    assert {run.job: run.model for run in Look(one.store).runs()} == {
        "chosen": "small", "other": "mind-1"
    }  # fmt: skip


def test_check_jobs_lists_the_names_for_an_unknown_one() -> None:
    check_jobs({job.name: JobOptions() for job in BUILT_IN})
    with pytest.raises(ConfigError) as raised:
        check_jobs({"fact": JobOptions()})
    assert "jobs.fact" in raised.value.message
    assert "Did you mean facts?" in raised.value.hint
    assert all(job.name in raised.value.hint for job in BUILT_IN)


@pytest.mark.parametrize(
    "wrong", [{"at_hour": 24}, {"every_s": 0}, {"timeout_s": 0}, {"max_tokens": 0}, {"unknown": 1}]
)
def test_job_options_out_of_range_are_refused(wrong) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(wrong, JobOptions)


EVERY_JOB = pytest.mark.parametrize("job", BUILT_IN, ids=[job.name for job in BUILT_IN])


def is_due(one, job: Job, after: timedelta, **given) -> bool:
    triggers = Triggers({job.name: JobOptions(**given)})
    with one.store.snapshot() as snapshot:
        return triggers.look(snapshot, job, NOW + after, UTC)[0]


@EVERY_JOB
def test_every_built_in_job_follows_the_schedule_that_is_set(rig, job: Job) -> None:
    """No trigger of its own makes it due before the interval or the hour that is set."""
    if job.trigger == Trigger():
        return  # another job makes its tasks: see the test below
    one = rig(Fake("x"), said="a")
    one.store.append(SessionEdge(session="s", scope="anna", kind="end", at=NOW)).wait()
    one.store.apply("t", WriteBatch(cursor=cursor_at(f"asked/{job.name}", 0, NOW))).wait()
    hour, three = NOW.hour + 3, timedelta(hours=3)
    assert not is_due(one, job, three - timedelta(minutes=1), every_s=3 * 3600)
    assert is_due(one, job, three + timedelta(days=7), every_s=3 * 3600)
    assert not is_due(one, job, three - timedelta(minutes=1), at_hour=hour)
    assert is_due(one, job, three + timedelta(days=7), at_hour=hour)


@EVERY_JOB
def test_a_schedule_that_a_job_cannot_follow_is_refused(job: Job) -> None:
    own = job.trigger != Trigger()
    for schedule in ({"every_s": 60}, {"at_hour": 3}):
        settings = {job.name: JobOptions(**schedule)}
        if own:
            check_jobs(settings)
            continue
        with pytest.raises(ConfigError, match=f"jobs.{job.name}"):
            check_jobs(settings)
