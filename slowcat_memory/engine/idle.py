"""Idle thinking, wired: the jobs, the LLM, the gate, and the thread on which it all runs.

Without an LLM, only what needs none is done: upkeep.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet
from datetime import datetime

from loguru import logger
from msgspec.structs import replace

from slowcat_memory.idle.context import Contexts, JobDeps
from slowcat_memory.idle.events import MemoryEvent, OnMemory
from slowcat_memory.idle.forecast import Forecast, forecast
from slowcat_memory.idle.job import Job
from slowcat_memory.idle.registry import BUILT_IN, UPKEEP, find_jobs
from slowcat_memory.idle.scheduler.idle_gate import IdleGate
from slowcat_memory.idle.scheduler.loop import IdleLoop
from slowcat_memory.idle.scheduler.options import IdleOptions
from slowcat_memory.idle.scheduler.thread import IdleThread
from slowcat_memory.metrics import Metrics
from slowcat_memory.providers import ThinkingOptions, open_llm
from slowcat_memory.records import WriteBatch
from slowcat_memory.store import Store

TELL_S = 0.5  # between two words about progress
STEPS = ("done", "retry", "dead", "interrupted")  # as the loop counts them


class Thinking:
    """What an engine thinks while nobody speaks.

    Attributes:
        gate: When: told by whoever knows what goes on in a conversation.
        jobs: What may be done.
    """

    def __init__(
        self,
        parts: JobDeps,
        options: IdleOptions,
        llm: ThinkingOptions,
        metrics: Metrics,
        take: Callable[[WriteBatch], None],
        jobs: Sequence[Job] = BUILT_IN,
        *,
        seconds: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        """Wire it; ``start`` starts it.

        Args:
            parts: What jobs work with; the LLM and the jobs' options come in here.
            options: When, and how much.
            llm: Which LLM, unless the parts bring one.
            metrics: Counts ``idle_…``.
            take: Takes what was written into the indexes; called on the idle thread.
            jobs: What may be done, beside what installed packages add.
            seconds: The gate's clock, which never goes back; for tests.
            sleep: Waits, on the idle thread; for tests.
        """
        self._sleep = sleep
        self._parts, self._options, self._llm = parts, options, llm
        self._metrics, self._take, self.jobs = metrics, take, find_jobs(jobs).jobs
        self.gate = IdleGate(options, seconds)
        self._listeners: list[OnMemory] = []
        self._ends: list[Callable[[], object]] = []
        self._contexts: Contexts | None = None
        self._thread: IdleThread | None = None
        self._rested_at = 0  # steps that had been done when it last had nothing to do

    def start(self) -> None:
        """Begin to think whenever the gate is open. Without an LLM, the log says so.

        Raises:
            ConfigError: The URL of the LLM's server is malformed.
            EndpointRefusedError: It is not on this machine, and that is not allowed.
        """
        self._thread = self._hosted()
        self._thread.start()

    def stop(self) -> None:
        """End the running step, and think no more. Takes a second at most."""
        if self._thread is not None:
            self._thread.stop()
        if self._contexts is not None:
            self._contexts.close()

    def listen(self, listener: OnMemory) -> Callable[[], None]:
        """Have somebody told of memories that come, change, or go.

        Args:
            listener: Told on the idle thread; what it raises is counted, and no more.

        Returns:
            Ends that.
        """
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener) if listener in self._listeners else None

    def on_burst_end(self, tell: Callable[[], object]) -> Callable[[], None]:
        """Have somebody told each time that thinking has paused: nothing is due, or somebody speaks.

        Args:
            tell: Called on the idle thread; returns at once.

        Returns:
            Ends that.
        """
        self._ends.append(tell)
        return lambda: self._ends.remove(tell) if tell in self._ends else None

    def over(
        self,
        store: Store,
        clock: Callable[[], datetime],
        sleep: Callable[[float], Awaitable[object]],
    ) -> "Thinking":
        """Wire the same thinking over another store and another clock, without upkeep.

        Nobody speaks there, so nothing holds it, and no budget is kept.

        Args:
            store: What jobs read and write.
            clock: The time there.
            sleep: Waits there.

        Returns:
            What is told when to think by ``until_done`` alone.
        """
        parts = replace(self._parts, store=store, clock=clock)
        options = replace(self._options, grace_s=0.0, from_hour=0, to_hour=0, on_battery=True)
        jobs = [job for job in self.jobs if job not in UPKEEP]
        return Thinking(
            parts,
            replace(options, tokens_per_hour=0),
            self._llm,
            Metrics(),
            lambda batch: None,
            jobs,
            sleep=sleep,
        )

    def until_done(
        self,
        jobs: Sequence[str] | None = None,
        progress: Callable[[Forecast], object] | None = None,
        patience_s: float = 600.0,
    ) -> int:
        """Do all that is due. Blocks; ends early when interrupted from the keyboard.

        Args:
            jobs: Names of the only ones to do; None for every one.
            progress: Told twice a second.
            patience_s: As in ``IdleLoop.run_until_done``.

        Returns:
            How many tasks are left.

        Raises:
            KeyError: There is no such job.
        """
        if jobs is not None and (unknown := set(jobs) - {job.name for job in self.jobs}):
            raise KeyError(f"there is no idle job {', '.join(sorted(unknown))}")
        if self._thread is not None:
            return self._watch(self._thread.drain(jobs, patience_s), jobs, progress)
        thread = self._hosted(jobs)  # it does what is due before it is told to drain
        thread.start()
        try:
            return self._watch(thread.drain(jobs, patience_s), jobs, progress)
        finally:
            thread.stop()

    # ------------------------------------------------------------------- inside

    def _hosted(self, jobs: Sequence[str] | None = None) -> IdleThread:
        wanted = [job for job in self.jobs if jobs is None or job.name in jobs]
        opened = None if self._parts.llm else open_llm(self._llm)
        parts = replace(self._parts, llm=self._parts.llm or opened)

        def make() -> IdleLoop:
            self._contexts = Contexts(parts)
            loop = IdleLoop(
                parts.store,
                wanted,
                self.gate,
                self._contexts,
                breaker=opened,
                options=self._options,
                clock=parts.clock,
                metrics=self._metrics,
                on_applied=self._take,
                sleep=self._rest,
            )
            loop.listen(self._tell)
            return loop

        return IdleThread(make, opened.close) if opened else IdleThread(make)

    def _tell(self, event: MemoryEvent) -> None:
        for listener in tuple(self._listeners):
            listener(event)

    async def _rest(self, seconds: float) -> None:
        """Wait; before that, tell that a burst has ended, if there was one."""
        done = self._steps()
        if done != self._rested_at:
            self._rested_at = done
            for tell in tuple(self._ends):
                try:
                    tell()
                except Exception as error:  # somebody else's code
                    logger.warning(f"A listener to idle work failed: {type(error).__name__}")
        await self._sleep(seconds)

    def _steps(self) -> int:
        counts = self._metrics.counts()
        return sum(counts.get(f"idle_{name}", 0) for name in STEPS)

    def _watch(
        self,
        future: "Future[int]",
        jobs: Sequence[str] | None,
        progress: Callable[[Forecast], object] | None,
    ) -> int:
        try:
            while True:
                try:
                    return future.result(TELL_S)
                except NotYet:
                    if future.done():
                        raise
                if progress is not None:
                    with self._parts.store.snapshot() as snapshot:
                        now = forecast(snapshot, jobs or ())
                    progress(now)
        finally:
            future.cancel()
