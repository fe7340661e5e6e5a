"""A step ends when the gate closes, when it takes too long, or with the loop."""

import asyncio
from datetime import timedelta

import pytest

from slowcat_memory.idle.job import Plan
from slowcat_memory.idle.options import IdleOptions
from slowcat_memory.idle.scheduler.step import after_failure
from slowcat_memory.idle.scheduler.task_queue import seconds_until_due
from slowcat_memory.records import Task, WriteBatch
from tests.support.idle_doubles import NOW, Fake, memory, task


async def test_step_speech_ends_a_step_and_the_task_is_due_again(rig):
    one, began = None, []

    async def long(task, context):
        began.append(task.key)
        if len(began) > 1:
            return WriteBatch(memories=(memory("x"),))
        one.gate.busy("user")
        assert context.interrupted()
        await asyncio.sleep(60)

    one = rig(Fake(behave=long), options=IdleOptions(lost_s=1e9))  # time runs while the disk works
    one.say("a")

    running = asyncio.create_task(one.loop.run_until_done())
    while "interrupted" not in one.outcomes():
        await asyncio.sleep(0)
    assert len(one.tasks("waiting")) == 1 and not one.made()
    for _ in range(10):
        await asyncio.sleep(0)
    assert len(began) == 1, "began again while somebody speaks"
    one.gate.free("user")
    assert await running == 0
    assert one.outcomes() == ["interrupted", "done"] and one.tasks() == []
    assert one.metrics.summary()["idle_preempt"]["max"] < 1000


@pytest.mark.parametrize("at", range(6))
def test_step_pre_emption_at_every_await_leaves_nothing_half_done(rig, at):
    one, times = None, []

    async def steps(task, context):
        times.append(task.key)
        for n in range(5):
            if n == at and len(times) == 1:
                one.speak()
            await asyncio.sleep(0)
        return WriteBatch(memories=(memory("x"), memory("y")), drop=(("anna", "z"),))

    one = rig(Fake(behave=steps), said="a")
    assert one.done() == 0
    assert one.made() == ["x", "y"] and one.outcomes().count("done") == 1
    assert len(times) == (2 if at < 5 else 1)


async def test_step_a_step_that_will_not_end_is_left_behind_and_never_written(rig, monkeypatch):
    monkeypatch.setattr("slowcat_memory.idle.scheduler.step.CANCEL_GRACE_S", 0.01)
    one, freed = None, asyncio.Event()

    async def stubborn(task, context):
        one.speak()
        while not freed.is_set():
            try:
                await freed.wait()
            except asyncio.CancelledError:
                pass
        return WriteBatch(memories=(memory("x"),))

    one = rig(Fake(behave=stubborn), said="a")
    assert await one.loop.run_until_done() == 0
    freed.set()
    await asyncio.sleep(0.01)
    assert one.made() == [] and len(one.tasks("dead")) == 1


# ------------------------------------------------------------------- a failure, and who revives

TASK = Task(id="a/b/c", job="a", key="c", created=NOW)


def test_after_failure_a_clock_put_back_by_years_blocks_no_task():
    task = after_failure(TASK, "why", NOW, IdleOptions())
    assert seconds_until_due(task, NOW - timedelta(days=365 * 30)) == 0


def test_new_models_jobs_with_models_of_their_own_do_not_revive_each_other_for_ever(rig) -> None:
    one = rig()
    dead = [task("1", job, state="dead", attempts=3) for job in ("facts", "merge", "topics")]

    async def rounds() -> None:
        for _ in range(3):
            one.store.apply("t", WriteBatch(tasks=tuple(dead), retask=True)).wait()
            for job, model in (("facts", "a"), ("topics", "b")):
                await one.loop._try_again(job, model)

    asyncio.run(rounds())
    assert one.tasks("dead") == dead, "tasks are revived without end"


# ------------------------------------------------------------------- a plan gives way to a voice: its next read ends it, and other work goes on meanwhile

PATIENT = IdleOptions(lost_s=1e9)  # time runs while the disk works
TURNS = [f"said {n}" for n in range(20)]


class Reader(Fake):
    """A job whose plan reads all turns; somebody speaks during the first plans."""

    def __init__(self, name: str = "reader", interruptions: int = 1) -> None:
        super().__init__(name)
        self.left, self.reads, self.rig = interruptions, [], None

    def plan(self, context) -> Plan | None:
        self.reads.append(0)
        with context.snapshot() as snapshot:
            for _ in snapshot.turns():
                self.reads[-1] += 1
                if self.reads[-1] == 5 and self.left:
                    self.left -= 1
                    self.rig.speak()
        return super().plan(context)


def test_planner_somebody_who_speaks_ends_a_plan_at_its_next_read_and_it_is_made_again(rig):
    job = Reader()
    one = job.rig = rig(job, options=PATIENT, said=TURNS)
    assert one.done() == 0
    assert job.reads[0] == 5, "it went on reading"
    assert job.reads[1] == len(TURNS)
    assert len(one.made()) == len(TURNS)


def test_planner_a_plan_that_is_always_interrupted_holds_up_no_other_work(rig):
    job, other = Reader(interruptions=10**9), Fake("other")
    one = job.rig = rig(job, other, options=PATIENT, said=TURNS)
    one.run_until(lambda: len(one.made()) >= len(TURNS))
    assert len(other.steps) == len(TURNS)
    assert len(job.reads) > 1, "it was given up"


def read_turns(context):
    with context.snapshot() as snapshot:
        list(snapshot.turns())


def compute(context):
    list(context.pausing(TURNS))


@pytest.mark.parametrize("work", [read_turns, compute])
def test_planner_a_step_that_is_interrupted_between_awaits_costs_no_try(rig, work):
    one, began = None, []

    def step(task, context):
        began.append(task.key)
        if len(began) == 1:
            one.speak()
        work(context)
        return WriteBatch(memories=(memory("x"),))

    one = rig(Fake(behave=step), options=PATIENT, said="a")
    assert one.done() == 0
    assert one.outcomes() == ["interrupted", "done"] and one.made() == ["x"]
