"""One step of one job, ended the moment the gate closes.

Theory of operation. The step is an asyncio task of its own. Whichever thread closes the gate asks
the idle thread to cancel it; closing its connection is what makes an LLM's server stop. A step that
does not end when it is cancelled is left behind, and what it returns is never written. Being
cancelled because somebody speaks and being cancelled because the engine closes are told apart by
who was cancelled: the step alone, or the loop that waits for it.
"""

import asyncio
import time
from typing import Literal, Protocol

from loguru import logger
from msgspec import Struct

from slowcat_memory.idle.job import Job, JobContext
from slowcat_memory.idle.scheduler.idle_gate import IdleGate
from slowcat_memory.records import Task, WriteBatch

STUBBORN_S = 0.5  # a cancelled step has this long to close what it holds

Ended = Literal["returned", "failed", "interrupted"]
_left_behind: set["asyncio.Task[WriteBatch]"] = set()  # asyncio itself holds tasks weakly


class StepContext(JobContext, Protocol):
    """A job's context, for one step."""

    def interrupt(self) -> None:
        """Let ``interrupted`` tell that somebody speaks. From any thread."""


class Outcome(Struct, frozen=True, kw_only=True):
    """What came of a step.

    Attributes:
        ended: How.
        ms: After how many milliseconds.
        batch: What is to be written, when it returned.
        error: Why it failed, when it did.
        stopped_ms: Milliseconds from the closing of the gate to its end, when that ended it.
    """

    ended: Ended
    ms: float
    batch: WriteBatch | None = None
    error: BaseException | None = None
    stopped_ms: float = 0.0


async def attempt(
    job: Job, task: Task, context: StepContext, gate: IdleGate, timeout_s: float
) -> Outcome:
    """Do one step while the gate is open.

    Args:
        job: The job.
        task: What it does.
        context: For this step alone.
        gate: Ends it.
        timeout_s: After so many seconds it has failed.

    Returns:
        What came of it; nothing is written yet.

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

    def tell() -> None:  # on whichever thread closed the gate
        context.interrupt()
        try:
            loop.call_soon_threadsafe(stop, time.perf_counter())
        except RuntimeError:  # the event loop has ended, and the step with it
            pass

    end = gate.on_close(tell)
    try:
        if gate.opens_in():  # it closed before it could be told
            tell()
        await asyncio.wait((step, closed), timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
    finally:
        end()
        if not step.done():
            context.interrupt()
            if not closed.done():  # a second time would cut short how it closes its connection
                step.cancel()
            await _leave(step)
    ended = time.perf_counter()
    stopped_ms = (ended - closed.result()) * 1e3 if closed.done() else 0.0
    return _outcome(step, closed.done(), (ended - began) * 1e3, stopped_ms)


async def _call(job: Job, task: Task, context: JobContext) -> WriteBatch:
    try:
        batch = await job.step(task, context)
    except (SystemExit, KeyboardInterrupt) as error:  # asyncio would end the thread with it
        raise RuntimeError(f"{job.name}.step raised {type(error).__name__}") from None
    if not isinstance(batch, WriteBatch):
        raise TypeError(f"{job.name}.step returned no WriteBatch")
    return batch


async def _leave(step: "asyncio.Task[WriteBatch]") -> None:
    """Wait for a cancelled step, but not for ever."""
    await asyncio.wait((step,), timeout=STUBBORN_S)
    if not step.done():
        logger.warning("An idle step does not end when it is told to; it is left behind")
        _left_behind.add(step)
        step.add_done_callback(_gone)


def _gone(step: "asyncio.Task[WriteBatch]") -> None:
    _left_behind.discard(step)
    if not step.cancelled():
        step.exception()  # looked at, so that asyncio does not complain of it


def _outcome(
    step: "asyncio.Task[WriteBatch]", closed: bool, ms: float, stopped_ms: float
) -> Outcome:
    if not step.done():
        return Outcome(ended="failed", ms=ms, error=TimeoutError())
    error = asyncio.CancelledError() if step.cancelled() else step.exception()
    if step.cancelling() and not closed:
        return Outcome(ended="failed", ms=ms, error=TimeoutError())
    if step.cancelling():  # what it raised or returned since is of no account
        return Outcome(ended="interrupted", ms=ms, stopped_ms=stopped_ms)
    if error is not None:
        return Outcome(ended="failed", ms=ms, error=error)
    return Outcome(ended="returned", ms=ms, batch=step.result())
