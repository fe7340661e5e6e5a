"""A step ends when the gate closes, when it takes too long, or with the loop."""

import asyncio

import pytest

from slowcat_memory.idle.options import IdleOptions
from slowcat_memory.records import WriteBatch
from tests.support.idle_doubles import Fake, memory


def test_step_speech_ends_a_step_and_the_task_is_due_again(rig):
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

    async def scenario():
        running = asyncio.create_task(one.loop.run_until_done())
        while "interrupted" not in one.outcomes():
            await asyncio.sleep(0)
        assert len(one.tasks("waiting")) == 1 and not one.made()
        for _ in range(10):
            await asyncio.sleep(0)
        assert len(began) == 1, "began again while somebody speaks"
        one.gate.free("user")
        return await running

    assert asyncio.run(asyncio.wait_for(scenario(), 60)) == 0
    assert one.outcomes() == ["interrupted", "done"] and one.tasks() == []
    assert one.metrics.summary()["idle_preempt"]["max"] < 1000


@pytest.mark.parametrize("at", range(6))
def test_step_pre_emption_at_every_await_leaves_nothing_half_done(rig, at):
    one, times = None, []

    async def steps(task, context):
        times.append(task.key)
        for n in range(5):
            if n == at and len(times) == 1:
                one.gate.busy("user")
                one.gate.free("user")
            await asyncio.sleep(0)
        return WriteBatch(memories=(memory("x"), memory("y")), drop=(("anna", "z"),))

    one = rig(Fake(behave=steps))
    one.say("a")
    assert one.done() == 0
    assert one.made() == ["x", "y"] and one.outcomes().count("done") == 1
    assert len(times) == (2 if at < 5 else 1)


def test_step_a_step_that_will_not_end_is_left_behind_and_never_written(rig, monkeypatch):
    monkeypatch.setattr("slowcat_memory.idle.scheduler.step.CANCEL_GRACE_S", 0.01)
    one, freed = None, asyncio.Event()

    async def stubborn(task, context):
        one.gate.busy("user")
        one.gate.free("user")
        while not freed.is_set():
            try:
                await freed.wait()
            except asyncio.CancelledError:
                pass
        return WriteBatch(memories=(memory("x"),))

    one = rig(Fake(behave=stubborn))
    one.say("a")

    async def scenario():
        left = await one.loop.run_until_done()
        freed.set()
        await asyncio.sleep(0.01)
        return left

    assert asyncio.run(asyncio.wait_for(scenario(), 60)) == 0
    assert one.made() == [] and len(one.tasks("dead")) == 1
