"""The loop: every outcome of a step, what is written of it, and what is tried again when."""

import asyncio

import pytest
from msgspec.structs import replace

from slowcat_memory.errors import BadAnswerError, EndpointError, PromptTooLongError, StoreFullError
from slowcat_memory.idle.job import Plan, Trigger
from slowcat_memory.idle.options import IdleOptions, JobOptions
from slowcat_memory.providers import CircuitBreakerLLM
from slowcat_memory.records import Cursor, Forget, MemoryEvent, WriteBatch
from tests.support.idle_doubles import NOW, Fake, Nobody, memory, task
from tests.support.memories import Look


async def ask(task, context):
    await context.ask(WriteBatch, "s", "u", "anna", max_tokens=512)


def fails(*errors):
    """Raise these in turn, then succeed."""
    left = list(errors)

    def behave(task, context):
        if left:
            raise left.pop(0)

    return behave


# ------------------------------------------------------------------- what goes well


def test_loop_what_is_due_is_done_once_and_written_down(rig):
    job = Fake()
    one = rig(job, said="ab")
    assert one.done() == 0
    assert sorted(one.made()) == ["fake-1", "fake-2"] and one.tasks() == []
    assert one.outcomes() == ["done", "done"]
    assert [batch.done for batch in one.applied] == ["fake/anna/1", "fake/anna/2"]
    assert one.metrics.counts()["idle_done"] == 2
    one.done()
    assert len(job.steps) == 2, "done again"


def test_loop_it_goes_on_where_it_was_after_a_restart(rig):
    one = rig(Fake(behave=fails(*[BadAnswerError("no")] * 2)))
    one.say("a")
    one.done(patience_s=5)
    assert [t.attempts for t in one.tasks()] == [1]
    job = Fake()
    again = rig(job)
    assert again.done() == 0 and job.steps == ["1"] and again.made() == ["fake-1"]


def test_loop_only_the_jobs_that_were_named_are_done(rig):
    this, other = Fake("this"), Fake("other")
    assert rig(this, other, said="a").done(jobs=["this"]) == 0
    assert this.steps == ["1"] and other.plans == 0


def test_loop_a_job_is_asked_until_its_cursor_stands_still(rig):
    class Pieces(Fake):
        def plan(self, context):
            plan = super().plan(context)
            if plan is None:
                return None
            first = plan.tasks[0]
            return Plan(tasks=(first,), cursor=Cursor(name="fake", position=int(first.key)))

    job = Pieces(trigger=Trigger(turns=5))
    one = rig(job, said="abcde")
    one.run_until(lambda: not one.tasks() and len(job.steps) >= 5)
    assert sorted(job.steps) == list("12345")


def test_loop_what_was_forgotten_meanwhile_is_not_written(rig):
    one = None

    def behave(task, context):
        one.store.forget(Forget(turns=(int(task.key),)))

    one = rig(Fake(behave=behave), said=["a secret"])
    one.done()
    assert one.made() == [] and one.tasks() == []


# ------------------------------------------------------------------- what goes wrong


@pytest.mark.parametrize("error", [BadAnswerError("prose"), ValueError("a bug"), SystemExit(3)])
def test_loop_what_cannot_be_used_is_tried_three_times_then_dead(rig, error):
    job = Fake(behave=fails(*[error] * 9))
    one = rig(job, said="a")
    assert one.done() == 0
    assert one.outcomes() == ["retry", "retry", "dead"] and len(job.steps) == 3
    (dead,) = one.tasks("dead")
    assert dead.attempts == 3 and one.made() == []
    assert 30 + 120 <= (one.clock() - NOW).total_seconds() < 30 + 120 + 20
    assert "a bug" not in dead.error


def test_loop_a_server_that_is_away_burns_no_attempt_and_holds_only_whom_it_serves(rig):
    one, away = None, [EndpointError("away")] * 5

    class Away(Nobody):
        async def complete(self, prompt, into):
            if away:
                raise away.pop()
            return await super().complete(prompt, into)

    async def there():
        return True

    llm = CircuitBreakerLLM(Away(), there, lambda: one.seconds if one else 0.0)
    job, other = Fake("asks", ask, needs="llm"), Fake("rests")
    one = rig(job, other, breaker=llm, parts={"llm": llm}, said="a")
    assert one.done() == 0
    assert other.steps == ["1"] and len(job.steps) == 6
    assert one.tasks() == [] and one.outcomes().count("away") == 5
    assert (one.clock() - NOW).total_seconds() >= 5, "after three it is left alone"


def test_loop_a_probe_ends_when_somebody_speaks(rig):
    one, ended = None, []

    class Breaker:
        found = True

        async def ready(self):
            if ended:
                return True
            one.speak()
            try:
                await asyncio.sleep(60)
            finally:
                ended.append(1)

    job = Fake(needs="llm")
    one = rig(job, breaker=Breaker(), parts={"llm": Nobody()}, said="a")
    assert one.done() == 0 and ended == [1] and job.steps == ["1"]


def test_loop_who_needs_what_is_not_there_is_not_asked(rig):
    asks = Fake("asks", needs="llm")
    one = rig(asks, said="a")
    assert one.done() == 0 and not asks.plans
    one = rig(asks, parts={"llm": Nobody()})
    assert one.done() == 0 and asks.steps == ["1"]


def test_loop_what_is_too_long_is_split(rig):
    class Splits(Fake):
        def split(self, whole):
            return [task(f"{whole.key}.{n}") for n in (1, 2)] if "." not in whole.key else []

    job = Splits(behave=fails(PromptTooLongError("too long")), needs="llm or rules")
    one = rig(job, parts={"llm": Nobody()}, said="a")
    assert one.done() == 0
    assert sorted(one.made()) == ["fake-1.1", "fake-1.2"]


def test_loop_a_full_disk_burns_no_attempt(rig):
    one = rig(Fake(behave=fails(StoreFullError("full"))), said="a")
    one.run_until(lambda: not one.tasks() and bool(one.made()))
    assert one.outcomes() == ["done"] and one.metrics.counts()["idle_store_full"] == 1


def test_loop_a_plan_that_fails_holds_only_its_own_job(rig):
    class Broken(Fake):
        def plan(self, context):
            self.plans += 1
            raise ValueError("a bug")

    broken, job = Broken("broken"), Fake()
    one = rig(broken, job, said="a")
    assert one.done() == 0 and job.steps == ["1"]
    assert one.metrics.counts()["idle_plan_failures"] == broken.plans == 2


def test_loop_a_step_that_returns_nonsense_or_hangs_is_a_failure(rig):
    one = rig(Fake(behave=lambda task, context: "nonsense"), said="a")
    assert one.done() == 0 and "TypeError" in one.tasks("dead")[0].error

    slow = IdleOptions(jobs={"slow": JobOptions(timeout_s=0.01)})
    one = rig(Fake("slow", lambda task, context: asyncio.sleep(60)), options=slow)
    assert one.done() == 0
    assert [t.error for t in one.tasks("dead") if t.job == "slow"] == ["TimeoutError"]


# ------------------------------------------------------------------- budget, events, runs


def test_loop_tokens_are_counted_and_rationed(rig):
    options = IdleOptions(tokens_per_hour=80)
    one = rig(Fake(behave=ask, needs="llm"), options=options, parts={"llm": Nobody()}, said="abcd")
    assert one.done(patience_s=100) == 2
    runs = Look(one.store).runs()
    assert {(r.model, r.tokens_in, r.tokens_out) for r in runs} == {("mind-1", 30, 12)}
    again = rig(Fake(behave=ask, needs="llm"), options=options, parts={"llm": Nobody()})
    assert again.done(patience_s=100) == 2, "a restart gives no second ration"
    again.clock.advance(3600)
    assert again.done() == 0


def test_loop_listeners_hear_what_comes_changes_and_goes(rig):
    batches = [
        WriteBatch(memories=(memory("x"),)),
        WriteBatch(memories=(memory("x", "other"), replace(memory("y"), retired_at=NOW))),
        WriteBatch(drop=(("anna", "note/x"),)),
    ]
    heard: list[MemoryEvent] = []

    def broken(event):
        raise ValueError

    one = rig(Fake(behave=lambda task, context: batches.pop(0)))
    one.loop.listeners += [broken, heard.append]
    one.say(*"abc")
    one.done()
    assert [(e.what, *e.ids, e.kind, e.job) for e in heard] == [
        ("created", "note/x", "note", "fake"),
        ("updated", "note/x", "note", "fake"),
        ("retired", "note/y", "note", "fake"),
        ("retired", "note/x", "note", "fake"),
    ]
    assert one.metrics.counts()["listener_failures"] == 4
