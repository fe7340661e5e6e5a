"""Wires idle work: the jobs, the LLM, the gate, and the thread.

Without an LLM, only the jobs that need none run: upkeep.

The jobs, with their prompts and checks, are half of the package's code. They are imported when idle
work begins, not when an agent starts or a command runs.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import wait
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING

from loguru import logger
from msgspec.structs import asdict, replace

from slowcat_memory.clock import seconds_of
from slowcat_memory.config import Config
from slowcat_memory.engine.availability import Callers
from slowcat_memory.engine.upkeep import Upkeep
from slowcat_memory.engine.wiring import EngineWiring
from slowcat_memory.errors import SlowcatError, StoreError, describe_error
from slowcat_memory.idle.job import Contexts, Job, JobDeps
from slowcat_memory.idle.jobs.options import SHARED_SECTION
from slowcat_memory.idle.scheduler.idle_gate import IdleGate
from slowcat_memory.idle.scheduler.task_queue import Forecast, forecast
from slowcat_memory.metrics import Metrics
from slowcat_memory.providers import LLM, CircuitBreakerLLM, open_llm
from slowcat_memory.records import WriteBatch
from slowcat_memory.store import Store

if TYPE_CHECKING:
    from slowcat_memory.idle.scheduler.loop import IdleLoop
    from slowcat_memory.idle.scheduler.thread import IdleThread

PROGRESS_S = 0.5  # between two calls of a progress callback
LOOK_S = 5.0  # between two looks at a gate that is held closed, before the jobs are imported


@dataclass(eq=False, repr=False)
class IdleWork:
    """Runs idle jobs (``jobs``) while no one speaks (``gate`` is open); nothing before ``start``.

    Attributes:
        parts: Dependencies of the jobs; their LLM and options are set here.
        metrics: Counts ``idle_…``.
        index: Indexes what was written; called on the idle thread.
        own_jobs: The jobs, besides those that installed packages add; None for the built-in ones.
        callers: Their gate is closed while someone speaks or recalls; they are called on the
            idle thread. None for nobody.
        sleep: Waits, on the idle thread.
    """

    parts: JobDeps
    config: Config
    metrics: Metrics
    index: Callable[[WriteBatch], None]
    own_jobs: Sequence[Job] | None = None
    callers: Callers | None = None
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep

    def __post_init__(self) -> None:
        self._callers = self.callers or Callers(IdleGate(self.config.idle))
        self.gate = self._callers.gate
        self._contexts: Contexts | None = None
        self._thread: IdleThread | None = None
        self._wanted, self._stopping = threading.Event(), False

    @cached_property
    def jobs(self) -> tuple[Job, ...]:
        """All jobs; imports them."""
        from slowcat_memory.idle.registry import BUILT_IN, find_jobs

        return find_jobs(BUILT_IN if self.own_jobs is None else self.own_jobs)

    def start(self) -> None:
        """Start to work whenever the gate is open; without an LLM, by rules.

        The thread imports the jobs once the gate is open for the first time.

        An LLM that cannot be used costs what it would have written, and one warning.
        """
        try:
            opened = self._open_llm()
        except Exception as error:  # a refused or malformed URL, or what its client raises
            opened = None
            why = error if isinstance(error, SlowcatError) else describe_error(error)
            logger.warning(f"memory: idle work goes on without an LLM ([idle_llm] url): {why}")
        self._thread = self._make_thread(opened)

    def stop(self) -> None:
        """Interrupt the running step and end the thread. Takes a second at most."""
        self._stopping = True
        self._wanted.set()
        if self._contexts:
            self._contexts.interrupt()
        if self._thread is not None:
            self._thread.stop()
        self._close_contexts()

    def until_done(
        self,
        jobs: Sequence[str] | None = None,
        progress: Callable[[Forecast], object] | None = None,
        patience_s: float = 600.0,
    ) -> int:
        """Do everything that is due. Blocks; ends early when interrupted from the keyboard.

        Args:
            jobs: Names of the only jobs to do; None for all.
            progress: Called twice a second, and in the end.
            patience_s: As in ``IdleLoop.run_until_done``.

        Raises:
            StoreError: The store is read-only.
            KeyError: There is no such job.
            ConfigError: The URL of the LLM's server is malformed.
            EndpointRefusedError: It is not on this machine, and that is not allowed.
        """
        if self.parts.store.readonly:
            raise StoreError("no idle work is done in a store that is open read-only")
        if jobs is not None and (unknown := set(jobs) - {job.name for job in self.jobs}):
            raise KeyError(f"there is no idle job {', '.join(sorted(unknown))}")
        self._wanted.set()
        with ExitStack() as ends:
            if (thread := self._thread) is None:  # one that plans what is due before it drains
                thread = self._make_thread(self._open_llm(), jobs)
                ends.callback(self._close_contexts)
                ends.callback(thread.stop)

            def report() -> None:
                if progress is not None:
                    with self.parts.store.snapshot() as snapshot:
                        now = forecast(snapshot, jobs or (), thread.waits())
                    progress(now)

            future = thread.drain(jobs, patience_s)
            ends.callback(future.cancel)
            while wait((future,), PROGRESS_S).not_done:
                report()
            rest = future.result()
            report()
            return rest

    def _close_contexts(self) -> None:
        if self._contexts:
            self._contexts.close()

    def over(
        self,
        store: Store,
        clock: Callable[[], datetime],
        sleep: Callable[[float], Awaitable[object]],
    ) -> "IdleWork":
        """Wire the same work over another store and clock: without upkeep, gate hours or budget.

        The result works only when ``until_done`` is called. Needs an engine in the same process.
        """
        from slowcat_memory.idle.registry import UPKEEP

        idle = replace(
            self.config.idle,
            grace_s=0.0,
            from_hour=0,
            to_hour=0,
            on_battery=True,
            tokens_per_hour=0,
        )
        parts = replace(self.parts, store=store, clock=clock)
        config = replace(self.config, idle=idle)
        jobs = [job for job in self.jobs if job not in UPKEEP]
        return IdleWork(parts, config, Metrics(), lambda batch: None, jobs, sleep=sleep)

    def _open_llm(self) -> CircuitBreakerLLM | None:
        if (given := self.parts.llm) is None:
            return open_llm(self.config.thinking)
        return CircuitBreakerLLM(given, clock=seconds_of(self.parts.clock))

    def _make_thread(
        self, opened: CircuitBreakerLLM | None, jobs: Sequence[str] | None = None
    ) -> "IdleThread":
        from slowcat_memory.idle.scheduler.thread import IdleThread

        parts = replace(self.parts, llm=opened)

        def make_loop() -> "IdleLoop":
            while not self._wanted.is_set() and (closed_s := self.gate.opens_in()):
                self._wanted.wait(min(closed_s, LOOK_S))
            if self._stopping:
                raise asyncio.CancelledError

            from slowcat_memory.idle.scheduler.loop import IdleLoop

            self._contexts = Contexts(parts)
            return IdleLoop(
                [job for job in self.jobs if jobs is None or job.name in jobs],
                self.gate,
                self._contexts,
                breaker=opened,
                options=self.config.idle,
                metrics=self.metrics,
                on_applied=self.index,
                listeners=self._callers.on_event,
                on_pause=self._callers.on_pause,
                sleep=self.sleep,
            )

        ours = None if self.parts.llm else opened  # who brought an LLM closes it
        return IdleThread(make_loop, ours.close if ours else None)


def job_parts(wiring: EngineWiring, upkeep: Upkeep, llm: LLM | None) -> JobDeps:
    config = wiring.config
    return JobDeps(
        store=wiring.store,
        upkeep=upkeep,
        clock=wiring.clock,
        zone=wiring.zone,
        scopes=upkeep.thinkable_scopes,
        llm=llm,
        embed=wiring.indexer.encode,
        space=lambda: wiring.embedding.space.key,
        token_space=lambda: wiring.embedding.token_key,
        # A job's section has its name, except that summary jobs share one.
        options=asdict(config) | dict.fromkeys(SHARED_SECTION, config.summaries),
        language=config.memory.language,
    )
