"""The thread: it starts, stops within a second whatever runs, and is asked from other threads."""

import asyncio
import threading
import time

import pytest

from slowcat_memory.idle.options import IdleOptions
from slowcat_memory.idle.scheduler.loop import IdleLoop
from slowcat_memory.idle.scheduler.thread import NAME, IdleThread
from slowcat_memory.records import WriteBatch
from tests.support.idle_doubles import Fake, Rig, memory
from tests.support.said import until

OPTIONS = IdleOptions(grace_s=0.0, rest_s=0.005)


@pytest.fixture
def host(rig):
    """Hosts jobs on a thread over a store in which one turn was said."""
    started = []

    def start(*jobs, **given) -> tuple[Rig, IdleThread]:
        one = rig(options=OPTIONS)
        one.gate = type(one.gate)(OPTIONS)
        one.say("a")
        thread = IdleThread(
            lambda: IdleLoop(jobs, one.gate, one.contexts, options=OPTIONS), **given
        )
        started.append(thread)
        return one, thread

    yield start
    for thread in started:
        assert thread.stop(30)


def test_idle_thread_it_thinks_by_itself_and_stops(host):
    done = threading.Event()

    def behave(task, context):
        assert threading.current_thread().name == NAME
        done.set()

    one, thread = host(Fake(behave=behave))
    assert done.wait(30)
    assert thread.drain().result(30) == 0 and one.made() == ["fake-1"]
    assert thread.stop(30)
    assert thread.stop(), "twice"
    with pytest.raises(RuntimeError):
        thread.drain()


def test_idle_thread_stopping_ends_the_running_step_and_closes_what_it_holds(host):
    running, ended = threading.Event(), []

    async def long(task, context):
        running.set()
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(task.key)

    async def close():
        ended.append("closed")

    one, thread = host(Fake(behave=long), on_end=close)
    assert running.wait(30)
    assert thread.stop(30)
    assert ended == ["1", "closed"]
    assert one.tasks()[0].attempts == 0 and one.outcomes() == []


def test_idle_thread_speech_on_another_thread_ends_a_step_in_milliseconds(host):
    began, ended = threading.Semaphore(0), threading.Semaphore(0)
    at = []

    async def long(task, context):
        began.release()
        try:
            await asyncio.sleep(60)
        finally:
            at.append(time.perf_counter())
            ended.release()

    one, _ = host(Fake(behave=long))
    waits = []
    for _ in range(30):
        assert began.acquire(timeout=30)
        spoke = time.perf_counter()
        one.gate.busy("user speaks")
        assert ended.acquire(timeout=30)
        waits.append(at[-1] - spoke)
        one.gate.free("user speaks")
    assert min(waits) < 0.02, f"{min(waits) * 1e3:.1f} ms"  # the others met a busy machine


def test_idle_thread_that_was_stopped_before_it_began_takes_nothing_and_says_so():
    def stopping():
        raise asyncio.CancelledError

    thread = IdleThread(stopping)
    with pytest.raises(RuntimeError):
        thread.drain()


def test_idle_thread_the_closing_of_the_store_ends_it(host):
    one, thread = host(Fake())
    thread.drain().result(30)
    one.store.close()
    assert until(lambda: not thread._thread.is_alive()), "it goes on without a store"


# ------------------------------------------------------------------- the context


def test_idle_thread_slow_work_runs_elsewhere_and_a_cancelled_step_does_not_wait(host):
    let_go, told = threading.Event(), []

    def work(context):
        told.append(threading.current_thread().name)
        let_go.wait(60)
        told.append(context.interrupted())

    async def step(task, context):
        await context.blocking(work, context)

    one, thread = host(Fake(behave=step))
    assert until(lambda: bool(told))
    assert thread.stop(30)
    let_go.set()
    one.contexts.pool.shutdown(wait=True)
    assert told[0].startswith("slowcat-idle-work") and told[1] is True


# ------------------------------------------------------------------- spans


def test_idle_thread_a_step_is_a_span_without_a_text(rig):
    trace = pytest.importorskip("opentelemetry.sdk.trace")
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter, provider = InMemorySpanExporter(), trace.TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))

    def behave(task, context):
        if not task.attempts:
            raise ValueError("a secret")
        return WriteBatch(memories=(memory("x", "a secret"),))

    one = rig(Fake(behave=behave))
    one.loop._tracer = provider.get_tracer("test")
    one.say("a secret")
    one.done()
    first, second = exporter.get_finished_spans()
    assert first.name == second.name == "task_fake"
    assert first.attributes["slowcat.task.outcome"] == "retry"
    assert first.attributes["exception.type"] == "ValueError"
    assert second.attributes["slowcat.task.id"] == "fake/anna/1"
    assert second.attributes["slowcat.task.outcome"] == "done"
    assert "a secret" not in first.to_json() + second.to_json()
