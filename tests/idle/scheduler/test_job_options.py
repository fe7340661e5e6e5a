"""Each field of ``[jobs.NAME]`` is honoured for any job."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from slowcat_memory.errors import ConfigError
from slowcat_memory.idle.job import Job, Trigger
from slowcat_memory.idle.options import IdleOptions, JobOptions
from slowcat_memory.idle.registry import BUILT_IN, check_jobs
from slowcat_memory.idle.scheduler.planner import LastAsked, Triggers, row
from slowcat_memory.providers import Answer, Prompt
from slowcat_memory.records import Cursor, SessionEdge, WriteBatch
from tests.support.idle_doubles import NOW, Fake
from tests.support.memories import Look


class LLM:
    prompt_tokens, remote = 1000, False

    def __init__(self) -> None:
        self.prompts: list[Prompt] = []

    async def complete(self, prompt, into):
        self.prompts.append(prompt)
        return Answer(value=into(), model=prompt.model or "default", tokens_in=1)


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

    options = msgspec.structs.replace(set_for("fake", every_s=1800), rest_s=60)
    job = Talkative(trigger=Trigger(every_s=60))
    one = rig(job, options=options)
    times = asked_at(one, job, hours=2)
    gaps = [(b - a).total_seconds() for a, b in zip(times, times[1:], strict=False)]
    assert len(times) == 4 and all(1800 <= gap <= 1860 for gap in gaps)


def test_job_options_at_hour_replaces_the_trigger(rig) -> None:
    options = msgspec.structs.replace(set_for("fake", at_hour=3), rest_s=600)
    job = Fake(trigger=Trigger(turns=1, session_end=True, every_s=60))
    one = rig(job, options=options)
    one.store.apply("t", write_asked_today(one)).wait()
    one.say("a")
    times = asked_at(one, job, hours=48)
    assert {time.astimezone(UTC).hour for time in times} == {3}
    assert len({time.date() for time in times}) == 2


def write_asked_today(one):
    """The turn of the day before NOW was taken, so that the next one is tomorrow's."""
    cursor: Cursor = row("fake", LastAsked(at=NOW, days=(NOW.date().isoformat(),)))
    return WriteBatch(cursor=cursor)


class Empty(msgspec.Struct, forbid_unknown_fields=True):
    pass


def test_job_options_model_limit_and_temperature_reach_the_request(rig) -> None:
    async def ask(task, context):
        prompt = Prompt(job="fake", version=1, system="s", user="u", max_tokens=100)
        await context.llm.complete(prompt, Empty)

    llm = LLM()
    chosen, other = Fake("chosen", ask, needs="llm"), Fake("other", ask, needs="llm")
    options = set_for("chosen", model="small", max_tokens=7, temperature=0.0)
    one = rig(chosen, other, options=options, parts={"llm": llm}, said="a")
    assert one.done() == 0
    asked = {(prompt.model, prompt.max_tokens) for prompt in llm.prompts}
    assert asked == {("small", 7), ("", 100)}
    assert {prompt.job_temperature for prompt in llm.prompts} == {0.0, None}
    assert {run.job: run.model for run in Look(one.store).runs()} == {
        "chosen": "small", "other": "default"
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
    asked = LastAsked(at=NOW, days=(str(NOW.date() - timedelta(days=1)),))
    one.store.apply("t", WriteBatch(cursor=row(job.name, asked))).wait()
    hour, three = NOW.hour + 3, timedelta(hours=3)
    assert not is_due(one, job, three - timedelta(minutes=1), every_s=3 * 3600)
    assert is_due(one, job, three + timedelta(days=7), every_s=3 * 3600)
    assert not is_due(one, job, three - timedelta(minutes=1), at_hour=hour)
    assert is_due(one, job, three + timedelta(days=7), at_hour=hour)


@EVERY_JOB
def test_a_schedule_that_a_job_cannot_follow_is_refused(job: Job) -> None:
    own = job.trigger != Trigger()
    for given in ({"every_s": 60}, {"at_hour": 3}):
        settings = {job.name: JobOptions(**given)}
        if own:
            check_jobs(settings)
            continue
        with pytest.raises(ConfigError, match=f"jobs.{job.name}"):
            check_jobs(settings)
