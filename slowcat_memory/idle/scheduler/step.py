"""One step of one job, and one probe of the LLM's server: both end the moment the gate closes.

What is written after a step is its result, or the task's next try; and its row of the run log.

A step is an asyncio task of its own. The thread that closes the gate asks the idle thread to cancel
it; the closed connection makes an LLM's server stop. A step that ignores cancellation is abandoned;
its result is discarded. If the step alone was cancelled, someone spoke; if the loop that waits for
it was cancelled too, the engine closes.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any, TypeVar

from loguru import logger
from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory.core.extraction.derived_text import keepable_batch
from slowcat_memory.errors import (
    BadAnswerError,
    EndpointError,
    EndpointRefusedError,
    PromptTooLongError,
    StoreFullError,
    describe_error,
)
from slowcat_memory.idle.job import AWAY, Job, JobContext, JobLLM, StepInterruptedError
from slowcat_memory.idle.options import IdleOptions
from slowcat_memory.idle.scheduler.idle_gate import IdleGate
from slowcat_memory.providers import CircuitBreakerLLM
from slowcat_memory.records import Run, RunOutcome, Task, WriteBatch

T = TypeVar("T")

# After which errors a step is done by rules, by what its job needs.
RULES_AFTER: dict[str, tuple[type[Exception], ...]] = {
    "llm or rules": (BadAnswerError, *AWAY),
    "llm if any": (BadAnswerError, EndpointError, EndpointRefusedError),
}
RETRY_AFTER = timedelta(minutes=5)  # the LLM was not asked, and rules were used meanwhile
CANCEL_GRACE_S = 0.5  # time for a cancelled step to close its resources

_abandoned: set["asyncio.Task[Any]"] = set()  # asyncio holds its tasks weakly


class StepResult(Struct, frozen=True, kw_only=True):
    """The result of a step: its batch, its error, or neither if somebody spoke.

    Both where the LLM's answer cannot be used and rules stand in: what they found is written, and
    the task is tried as after any bad answer. Given up, it stays among the failed tasks; what an LLM
    finds in a later try replaces what rules found. ``stopped_ms`` is the time from the closing of
    the gate to its end, if that ended it.
    """

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
    began = time.perf_counter()
    work = _call(job, task, context)
    step, closed = await _while_open(work, gate, f"idle {job.name}", context.interrupt, timeout_s)
    ended = time.perf_counter()
    ms, stopped_ms = (ended - began) * 1e3, (ended - closed) * 1e3 if closed else 0.0
    if not step.done() or (step.cancelling() and not closed):
        return StepResult(ms=ms, error=TimeoutError())
    if step.cancelling():  # ignore what it raised or returned since then
        return StepResult(ms=ms, stopped_ms=stopped_ms)
    batch, error = None, asyncio.CancelledError() if step.cancelled() else step.exception()
    if error is None:
        batch, error = step.result()
    return StepResult(ms=ms, error=error, batch=batch, stopped_ms=stopped_ms)


async def probe_while_open(server: CircuitBreakerLLM, gate: IdleGate) -> bool:
    """Return whether the server is ready; False if the probe failed or the gate closed."""
    probe, closed = await _while_open(server.ready(), gate, "idle probe")
    ended = probe.done() and not (closed or probe.cancelled())
    return ended and probe.exception() is None and probe.result()


async def _while_open(
    work: Coroutine[Any, Any, T],
    gate: IdleGate,
    name: str,
    interrupt: Callable[[], None] = lambda: None,
    timeout_s: float | None = None,
) -> tuple["asyncio.Task[T]", float]:
    """Run something until it ends, the gate closes, or some seconds have passed.

    Args:
        interrupt: Called from any thread before it is cancelled.

    Returns:
        Its task, which is not done if it ignores its cancellation; and when the gate closed, in
        seconds, 0 if it did not.
    """
    loop = asyncio.get_running_loop()
    task = loop.create_task(work, name=name)
    closed: asyncio.Future[float] = loop.create_future()

    def stop(at: float) -> None:
        if not closed.done():
            closed.set_result(at)
        task.cancel()

    def on_close() -> None:  # on the thread that closed the gate
        interrupt()
        with suppress(RuntimeError):  # the event loop has ended, and the task with it
            loop.call_soon_threadsafe(stop, time.perf_counter())

    first = asyncio.FIRST_COMPLETED
    try:
        with gate.on_close(on_close):
            await asyncio.wait((task, closed), timeout=timeout_s, return_when=first)
    finally:
        if not task.done():
            interrupt()
            if not closed.done():  # a second cancel would interrupt the closing of its connection
                task.cancel()
            await asyncio.wait((task,), timeout=CANCEL_GRACE_S)
        if not task.done():
            logger.warning("An idle step ignores its cancellation and is abandoned")
            _abandoned.add(task)
            task.add_done_callback(_forget_abandoned)
    return task, closed.result() if closed.done() else 0.0


async def _call(
    job: Job, task: Task, context: JobContext
) -> tuple[WriteBatch | None, BadAnswerError | None]:
    """Run a step; return its batch, None if one of its reads was interrupted, and its bad answer."""
    try:
        batch, error = await _step_or_rule(job, task, context)
    except StepInterruptedError:
        return None, None
    except (SystemExit, KeyboardInterrupt) as error:  # asyncio would end the thread with it
        raise RuntimeError(f"{job.name}.step raised {type(error).__name__}") from None
    if not isinstance(batch, WriteBatch):
        raise TypeError(f"{job.name}.step returned no WriteBatch")
    return batch, error


async def _step_or_rule(
    job: Job, task: Task, context: JobContext
) -> tuple[WriteBatch, BadAnswerError | None]:
    """Run a step; where the LLM is of no help, by rules if the job has any."""
    try:
        return await job.step(task, context), None
    except RULES_AFTER.get(job.needs, ()) as error:
        fits_in_parts = isinstance(error, PromptTooLongError) and _parts(job, task, "split")
        if context.llm is None or fits_in_parts:
            raise
        batch = await job.step(task, context.without_llm())
        if isinstance(error, BadAnswerError):
            return batch, error
        later = replace(task, not_before=context.now + RETRY_AFTER)
        return replace(batch, tasks=(*batch.tasks, later), retask=True), None


def _forget_abandoned(task: "asyncio.Task[Any]") -> None:
    _abandoned.discard(task)
    if not task.cancelled():
        task.exception()  # retrieved, so that asyncio does not log it


def trace(tracer: Any, task: Task, run: Run, error: BaseException | None) -> None:
    """Write the span of one step as ``task_<job>`` with the task's id and outcome, never a text.

    Args:
        tracer: See ``find_tracer``; None traces nothing.
    """
    if tracer is None:
        return
    began_ns = int(run.at.timestamp() * 1e9)
    span = tracer.start_span(f"task_{task.job}", start_time=began_ns)
    known = {"id": task.id, "job": task.job, "attempts": task.attempts, "outcome": run.outcome}
    span.set_attributes({f"slowcat.task.{name}": value for name, value in known.items()})
    if error is not None:  # its message and traceback may quote memories
        span.set_attribute("exception.type", type(error).__name__)
    span.end(began_ns + int(run.ms * 1e6))


def find_tracer() -> Any:
    """Return the process's tracer, a no-op until it is set up; None if not installed."""
    try:
        from opentelemetry.trace import get_tracer
    except ImportError:
        return None
    return get_tracer("slowcat_memory.idle")


BACKOFF_GROWTH = 4.0


def batch_of(
    job: Job, task: Task, result: StepResult, now: datetime, options: IdleOptions
) -> tuple[WriteBatch, RunOutcome]:
    """Return the batch to write after a step, and what has become of it.

    Args:
        now: Timezone-aware.
        options: How often, and how soon, a task is tried again.

    Returns:
        Nothing if the task is to be done later as it is, because somebody spoke, or a server, the
        budget or the disk does not allow it now; the step's own batch with its task done; the parts
        of a task that was too long, or whose answers cannot be used; or the task with its next try,
        and what a rule found meanwhile.
    """
    error, by_rule = result.error, keepable_batch(result.batch or WriteBatch())
    if result.batch is not None and error is None:
        return replace(by_rule, done=task.id), "done"
    if error is None or isinstance(error, (StoreFullError, *AWAY)):
        return WriteBatch(), "away" if error else "interrupted"
    if isinstance(error, PromptTooLongError) and (parts := _parts(job, task, "split")):
        return WriteBatch(done=task.id, tasks=parts), "retry"
    logger.warning(f"The idle job {job.name} failed: {describe_error(error)}")
    after = after_failure(task, describe_error(error), now, options)
    given_up = after.state == "dead" and result.batch is None
    if isinstance(error, BadAnswerError) and given_up and (parts := _parts(job, task, "pieces")):
        once = tuple(replace(part, attempts=options.tries - 1) for part in parts)
        return WriteBatch(done=task.id, tasks=once), "retry"
    # Deleted and added again, so that a task that was forgotten meanwhile stays deleted.
    batch = replace(by_rule, tasks=(*by_rule.tasks, after), retask=True, done=task.id)
    return batch, "dead" if after.state == "dead" else "retry"


def run_of(
    task: Task,
    result: StepResult,
    batch: WriteBatch,
    outcome: RunOutcome,
    llm: JobLLM | None,
    began: datetime,
) -> Run:
    """Return a step's row of the run log; its LLM, if any, counted the tokens."""
    return Run(
        task=task.id,
        job=task.job,
        at=began,
        ms=round(result.ms, 1),
        outcome=outcome,
        model=llm.model if llm else "",
        tokens_in=llm.tokens_in if llm else 0,
        tokens_out=llm.tokens_out if llm else 0,
        made=sum(map(len, (batch.memories, batch.drop, batch.contexts, batch.keys))),
        error=describe_error(result.error) if result.error else "",
    )


def after_failure(task: Task, error: str, now: datetime, options: IdleOptions) -> Task:
    """Return a failed task with the time of its next try, or dead after the last one."""
    attempts = task.attempts + 1
    failed = replace(task, attempts=attempts, error=error)
    if attempts >= options.tries:
        return replace(failed, not_before=None, state="dead")
    wait_s = min(options.backoff_s * BACKOFF_GROWTH**task.attempts, options.backoff_most_s)
    return replace(failed, not_before=now + timedelta(seconds=wait_s))


def second_try(task: Task) -> WriteBatch:
    """Return what resets a dead task to waiting, with all its tries; its last error is kept."""
    waiting = replace(task, state="waiting", attempts=0, not_before=None)
    return WriteBatch(done=task.id, tasks=(waiting,), retask=True)


def _parts(job: Job, task: Task, method: str) -> tuple[Task, ...]:
    """Return the smaller tasks that a job's method ``split`` or ``pieces`` makes of a task."""
    split = getattr(job, method, None)
    try:
        parts = tuple(split(task)) if split else ()
    except Exception as error:
        logger.warning(f"The idle job {job.name} cannot split a task: {describe_error(error)}")
        return ()
    return parts if all(part.id != task.id for part in parts) else ()
