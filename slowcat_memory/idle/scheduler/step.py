"""One step of one job, and one probe of the LLM's server: both end the moment the gate closes.

A step is an asyncio task of its own. The thread that closes the gate asks the idle thread to cancel
it; the closed connection makes an LLM's server stop. A step that ignores cancellation is abandoned;
its result is discarded. If the step alone was cancelled, someone spoke; if the loop that waits for
it was cancelled too, the engine closes.
"""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Literal, Protocol

from loguru import logger
from msgspec import Struct

from slowcat_memory.idle.job import Job, JobContext, StepInterruptedError
from slowcat_memory.idle.scheduler.idle_gate import IdleGate
from slowcat_memory.records import Task, WriteBatch

Record = Callable[[str, BaseException | None], None]


CANCEL_GRACE_S = 0.5  # time for a cancelled step to close its resources

Ended = Literal["returned", "failed", "interrupted"]
_abandoned_steps: set["asyncio.Task[WriteBatch | None]"] = set()  # asyncio holds its tasks weakly


class ServerProbe(Protocol):
    """Returns whether the LLM's server is available, like ``CircuitBreakerLLM``.

    ``found`` is False while none was found on this machine; without it, there is one.
    """

    async def ready(self) -> bool:
        """Return whether to call it now; may probe it, for seconds at most."""


class StepResult(Struct, frozen=True, kw_only=True):
    """The result of a step.

    ``stopped_ms`` is the time from the closing of the gate to its end, if that ended it.
    """

    ended: Ended
    ms: float
    batch: WriteBatch | None = None
    error: BaseException | None = None
    stopped_ms: float = 0.0


async def run_step(
    job: Job, task: Task, context: JobContext, gate: IdleGate, timeout_s: float
) -> StepResult:
    """Run one step until it ends, the gate closes, or ``timeout_s`` have passed (a failure).

    Args:
        gate: Interrupts the step when it closes.

    Raises:
        asyncio.CancelledError: The caller was cancelled; the step has ended.
    """
    loop, began = asyncio.get_running_loop(), time.perf_counter()
    step = loop.create_task(_call(job, task, context), name=f"idle {job.name}")
    closed: asyncio.Future[float] = loop.create_future()

    def stop(at: float) -> None:
        if not closed.done():
            closed.set_result(at)
        step.cancel()

    def on_close() -> None:  # on the thread that closed the gate
        context.interrupt()
        with suppress(RuntimeError):  # the event loop has ended, and the step with it
            loop.call_soon_threadsafe(stop, time.perf_counter())

    unsubscribe = gate.on_close(on_close)
    try:
        if gate.opens_in():  # it closed before the subscription
            on_close()
        await asyncio.wait((step, closed), timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
    finally:
        unsubscribe()
        if not step.done():
            context.interrupt()
            if not closed.done():  # a second cancel would interrupt the closing of its connection
                step.cancel()
            await _wait_or_abandon(step)
    ended = time.perf_counter()
    stopped_ms = (ended - closed.result()) * 1e3 if closed.done() else 0.0
    return _result(step, closed.done(), (ended - began) * 1e3, stopped_ms)


async def probe_while_open(server: ServerProbe, gate: IdleGate) -> bool:
    """Return whether the server is ready; False if the probe failed or the gate closed."""
    loop = asyncio.get_running_loop()
    probe = loop.create_task(_ready(server))

    def on_close() -> None:
        with suppress(RuntimeError):  # the event loop has ended
            loop.call_soon_threadsafe(probe.cancel)

    unsubscribe = gate.on_close(on_close)
    try:
        if gate.opens_in():
            probe.cancel()
        await asyncio.wait((probe,))
    finally:
        unsubscribe()
        probe.cancel()
    return not probe.cancelled() and probe.exception() is None and probe.result()


async def _ready(server: ServerProbe) -> bool:
    return await server.ready()


async def _call(job: Job, task: Task, context: JobContext) -> WriteBatch | None:
    """Run a step; None if one of its reads was interrupted."""
    try:
        batch = await job.step(task, context)
    except StepInterruptedError:
        return None
    except (SystemExit, KeyboardInterrupt) as error:  # asyncio would end the thread with it
        raise RuntimeError(f"{job.name}.step raised {type(error).__name__}") from None
    if not isinstance(batch, WriteBatch):
        raise TypeError(f"{job.name}.step returned no WriteBatch")
    return batch


async def _wait_or_abandon(step: "asyncio.Task[WriteBatch | None]") -> None:
    await asyncio.wait((step,), timeout=CANCEL_GRACE_S)
    if not step.done():
        logger.warning("An idle step ignores its cancellation and is abandoned")
        _abandoned_steps.add(step)
        step.add_done_callback(_forget_abandoned)


def _forget_abandoned(step: "asyncio.Task[WriteBatch | None]") -> None:
    _abandoned_steps.discard(step)
    if not step.cancelled():
        step.exception()  # retrieved, so that asyncio does not log it


def _result(
    step: "asyncio.Task[WriteBatch | None]", closed: bool, ms: float, stopped_ms: float
) -> StepResult:
    if not step.done():
        return StepResult(ended="failed", ms=ms, error=TimeoutError())
    error = asyncio.CancelledError() if step.cancelled() else step.exception()
    if step.cancelling() and not closed:
        return StepResult(ended="failed", ms=ms, error=TimeoutError())
    ended = error is None and step.result() is None
    if step.cancelling() or ended:  # ignore what it raised or returned since then
        return StepResult(ended="interrupted", ms=ms, stopped_ms=stopped_ms)
    if error is not None:
        return StepResult(ended="failed", ms=ms, error=error)
    return StepResult(ended="returned", ms=ms, batch=step.result())


@contextmanager
def step_span(task: Task, tracer: Any = None) -> Iterator[Record]:
    """Trace one step as ``task_<job>`` with the task's id and outcome, never a text.

    Args:
        tracer: See ``find_tracer``; None traces nothing.

    Yields:
        A function to call with the outcome, and the error if there was one.
    """
    if tracer is None:
        yield lambda outcome, error: None
        return
    # An exception's message and traceback may quote memories: only its type is kept.
    with tracer.start_as_current_span(
        f"task_{task.job}", record_exception=False, set_status_on_exception=False
    ) as span:
        span.set_attribute("slowcat.task.id", task.id)
        span.set_attribute("slowcat.task.job", task.job)
        span.set_attribute("slowcat.task.attempts", task.attempts)

        def record(outcome: str, error: BaseException | None) -> None:
            span.set_attribute("slowcat.task.outcome", outcome)
            if error is not None:
                span.set_attribute("exception.type", type(error).__name__)

        yield record


def find_tracer() -> Any:
    """Return the process's tracer, a no-op until it is set up; None if not installed."""
    try:
        from opentelemetry import trace
    except ImportError:
        return None
    return trace.get_tracer("slowcat_memory.idle")
