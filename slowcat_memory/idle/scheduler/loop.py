"""The idle loop: plan, pick a task, run a step, write, repeat, while the gate is open.

All tasks that a job plans are stored before any of them is run, and a task's result, its end and
its run are one transaction. So a kill leaves a task either waiting, with nothing of it written, or
done; a task that is run again writes the same records under the same ids. A failed task waits,
longer each time, until it is dead. While the LLM's server is unreachable, tasks that need it wait
and no try is counted.

``run`` works in the background by triggers, forever; ``run_until_done`` plans every chosen job at
least once and ends. Both call ``_round``; while ``run_until_done`` works, ``run`` waits.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import datetime, timedelta

from loguru import logger
from msgspec.structs import replace

from slowcat_memory.clock import seconds_of
from slowcat_memory.errors import StoreClosedError, StoreFullError, describe_error
from slowcat_memory.idle.events import LISTENER_FAILURES, MemoryEvents, OnMemory
from slowcat_memory.idle.job import Contexts, Job
from slowcat_memory.idle.options import Budget, IdleOptions
from slowcat_memory.idle.scheduler.idle_gate import IdleGate
from slowcat_memory.idle.scheduler.planner import Planner, has_requirements
from slowcat_memory.idle.scheduler.step import (
    RULES_AFTER,
    StepResult,
    batch_of,
    find_tracer,
    probe_while_open,
    run_of,
    run_step,
    second_try,
    trace,
)
from slowcat_memory.idle.scheduler.task_queue import TaskQueue, Waits
from slowcat_memory.metrics import Metrics
from slowcat_memory.providers import CircuitBreakerLLM
from slowcat_memory.records import Run, Task, WriteBatch

POLL_S = 0.5  # between checks of a closed gate, whose opening is not signalled
TROUBLE_S = 60.0  # pause after a full disk, or an error of the loop itself
LOOK_BACK = 1000  # runs that are read to restore the spent tokens after a restart
SERVER_PATIENCE_S = 8.0  # of ``run_until_done``, when all that is left waits for the LLM's server

OnApplied = Callable[[WriteBatch], None]


class IdleLoop:
    """Runs idle jobs, one step at a time. Use it on one event loop, except where stated."""

    def __init__(
        self,
        jobs: Iterable[Job],
        gate: IdleGate,
        contexts: Contexts,
        breaker: CircuitBreakerLLM | None = None,
        options: IdleOptions = IdleOptions(),
        metrics: Metrics | None = None,
        on_applied: OnApplied = lambda batch: None,
        *,
        clock: Callable[[], datetime] | None = None,
        listeners: list[OnMemory] | None = None,
        on_pause: Iterable[Callable[[], object]] = (),
        budget: Budget | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        """Set up; nothing runs yet.

        Args:
            jobs: The jobs; those disabled in ``options.jobs`` never run.
            contexts: Makes their contexts; brings the store.
            clock: Returns the current time, timezone-aware; None for that of the contexts.
            breaker: Circuit breaker of the LLM's server; without one, the loop rests after each
                failure.
            metrics: Counts ``idle_…``.
            on_applied: Called on the loop's thread with each batch that was written.
            listeners: They are told, on the loop's thread, of each memory that changes.
            on_pause: Called there when it pauses after it has worked.
            budget: The limits; None makes one from the options.
        """
        store, clock = contexts.deps.store, clock or contexts.deps.clock
        self._store, self._gate, self._zone = store, gate, contexts.deps.zone
        self._jobs = {job.name: job for job in jobs}
        self._enabled = {
            name: job
            for name, job in self._jobs.items()
            if options.of_job(name).enabled is not False
        }
        self._options, self._clock, self._seconds = options, clock, seconds_of(clock)
        self._metrics, self._on_applied, self._on_pause = metrics or Metrics(), on_applied, on_pause
        self.listeners = [] if listeners is None else listeners
        self._events = MemoryEvents(store, clock, self._metrics, self.listeners)
        self._budget, self._sleep = budget or Budget(options), sleep
        self._context_of = lambda job: contexts(job, self._budget)
        self._discard_views = contexts.views.clear
        self._planner = Planner(
            store, gate, self._context_of, options, clock, self._metrics, on_tasks=self._queued
        )
        self._server = breaker
        self._server_away = False
        self.waits: Waits = {}  # as of the last choice; read by any thread
        self._tracer = find_tracer()
        self._queue: TaskQueue | None = None
        self._turn = asyncio.Lock()  # of a round of ``run``, or of a whole ``run_until_done``
        self._steps_done = self._steps_at_pause = 0
        with store.snapshot() as snapshot:
            runs = list(snapshot.runs(LOOK_BACK))
        self._budget.remember(runs)
        self._answered = {(run.job, run.model) for run in runs}  # the models of each job's steps

    def _queued(self, tasks: Iterable[Task]) -> None:
        """Bring the queue up to date with stored tasks; those that were there already stayed."""
        if self._queue is not None:
            with self._store.snapshot() as snapshot:
                stored = [snapshot.task(task.id) for task in tasks]
            for task in stored:
                if task is not None:
                    self._queue.put(task)

    # ------------------------------------------------------------------- running

    async def run(self) -> None:
        """Work whenever the gate is open, until cancelled or the store is closed."""
        while True:
            try:
                async with self._turn:
                    works = await self._round(self._enabled, set())
                if not works:
                    self._discard_views()
                    await self._rest(self._options.rest_s)
            except StoreClosedError:
                return
            except StoreFullError:
                await self._rest_after("store_full")
            except Exception as error:  # a fault of this loop must neither end it nor spin
                logger.error(f"Idle work failed and goes on in a minute: {describe_error(error)}")
                await self._rest_after("errors")

    async def run_until_done(
        self, jobs: Sequence[str] | None = None, patience_s: float = 600.0
    ) -> int:
        """Do everything that is due, whatever the triggers say. ``run`` waits meanwhile.

        Every job is planned, and planned again at the end if anything was done since.

        Args:
            jobs: Names of the jobs to run; None for all.
            patience_s: Give up after so many seconds without progress, because of the hour, the
                LLM's server, or the budget.

        Returns:
            How many tasks are left that are not dead and whose LLM or model is configured.

        Raises:
            StoreFullError: The disk is full.
            KeyError: There is no such job.
        """
        names = self._jobs if jobs is None else {name: self._jobs[name] for name in jobs}
        chosen = {name: job for name, job in self._enabled.items() if name in names}
        async with self._turn:
            return await self._drain(chosen, patience_s)

    async def _drain(self, chosen: dict[str, Job], patience_s: float) -> int:
        unasked, idle_since, done = set(chosen), self._seconds(), self._steps_done
        while True:
            if await self._round(chosen, unasked):
                idle_since = self._seconds()
                continue
            if self._steps_done != done and not unasked:
                unasked, done = set(chosen), self._steps_done
                continue
            able = self._able(chosen)
            rest = sum(self._waiting().counts(able).values())
            waited = self._seconds() - idle_since
            if not (rest or unasked) or waited >= self._patience_s(able, patience_s):
                self._discard_views()
                return rest
            await self._rest(self._options.rest_s)

    def _patience_s(self, able: set[str], most_s: float) -> float:
        """Return how long ``run_until_done`` waits without progress: shorter if it is in vain."""
        if self._server is not None and self.waits.keys() == {"server"}:
            return min(most_s, SERVER_PATIENCE_S)
        queue, end = self._waiting(), self._clock() + timedelta(seconds=most_s)
        held = {job for reason, jobs in self.waits.items() if reason != "server" for job in jobs}
        goes_on = queue.next_task(end, able - held) or not queue.counts(able)
        return most_s if goes_on else 0.0

    async def _rest_after(self, trouble: str) -> None:
        self._metrics.count(f"idle_{trouble}")
        self._queue = None
        await self._rest(TROUBLE_S)

    async def _rest(self, seconds: float) -> None:
        """Wait; before that, call who wants to know if any step ended since the last pause."""
        if self._steps_at_pause != self._steps_done:
            self._steps_at_pause = self._steps_done
            for listener in tuple(self._on_pause):
                try:
                    listener()
                except Exception as error:  # a subscriber's code
                    logger.warning(f"A listener to idle work failed: {describe_error(error)}")
        await self._sleep(seconds)

    async def _round(self, jobs: dict[str, Job], forced: set[str]) -> bool:
        """Once the gate is open, plan jobs, then run one step.

        Args:
            forced: Names to plan whatever their triggers say; removed once planned.

        Returns:
            Whether something was done, or must be checked again: to continue at once.
        """
        while wait := self._gate.opens_in():
            await self._rest(min(wait, POLL_S))
        with self._store.idle_turn() as is_free:
            if is_free:
                return await self._work(jobs, forced)
        self._queue = None
        await self._rest(POLL_S)
        return True

    async def _work(self, jobs: dict[str, Job], forced: set[str]) -> bool:
        if self._server is not None and not self._server.found:
            await self._server_ready()  # work by rule must not be done before an LLM's
        more = await self._planner.plan(jobs.values(), forced)
        if self._gate.opens_in():
            return True
        task = await self._next_task(jobs)
        if task is not None:
            return await self._run_task(jobs[task.job], task)
        return more

    # ------------------------------------------------------------------- choosing

    async def _next_task(self, jobs: dict[str, Job]) -> Task | None:
        now, queue, able = self._clock(), self._waiting(), self._able(jobs)
        limit = self._budget.blocks("llm", now, self._zone)
        held = {name for name in able if limit and self._context_of(jobs[name]).llm}
        by_rule = {name for name in held if jobs[name].needs == "llm or rules"}
        able -= held
        # A job that can do without an LLM continues while the server is unreachable, and what is
        # put back waits.
        waits = {"llm", *(RULES_AFTER if self._server_away else ())}
        on_server = {name for name in able if jobs[name].needs in waits}
        if queue.counts(on_server):
            self._server_away = not await self._server_ready()
        away = on_server if self._server_away else set()
        by_rule |= {name for name in away if jobs[name].needs in RULES_AFTER}
        every = {limit: queue.counts(held), "server": queue.counts(away)}
        self.waits = {reason: counts for reason, counts in every.items() if counts}
        return queue.next_task(now, able - away, by_rule)

    def _able(self, jobs: dict[str, Job]) -> set[str]:
        """Return the names of the jobs whose LLM is configured."""
        return {name for name, job in jobs.items() if has_requirements(job, self._context_of(job))}

    async def _server_ready(self) -> bool:
        return self._server is None or await probe_while_open(self._server, self._gate)

    def _waiting(self) -> TaskQueue:
        queue = self._queue
        if queue is None:
            with self._store.snapshot() as snapshot:
                queue = self._queue = TaskQueue(snapshot.tasks(state="waiting"))
        return queue

    # ------------------------------------------------------------------- doing

    async def _run_task(self, job: Job, task: Task) -> bool:
        """Return whether to continue at once; False if the LLM's server is unreachable."""
        with self._store.snapshot() as snapshot:
            stored = snapshot.task(task.id)
        if stored != task:  # done, forgotten, or changed since it was queued
            self._queue = None
            return True
        context, began = self._context_of(job), self._clock()
        timeout_s = self._options.of_job(job.name).timeout_s or self._options.step_s
        result = await run_step(job, task, context, self._gate, timeout_s)
        batch, outcome = batch_of(job, task, result, self._clock(), self._options)
        run = run_of(task, result, batch, outcome, context.llm, began)
        trace(self._tracer, task, run, result.error)
        self._measure(run, result)
        if (llm := context.llm) and llm.answered is not None:
            self._server_away = not llm.answered
            self._metrics.count("idle_items_lost", llm.items_lost)
        if isinstance(result.error, StoreFullError):
            raise result.error
        if run.outcome == "interrupted":  # the row is not urgent
            self._store.apply(job.name, WriteBatch(run=run))
            return True
        await self._apply(job.name, replace(batch, run=run))
        self._steps_done += bool(batch.done)
        if run.outcome == "away":
            return False
        if self._queue is not None:
            self._queue.remove(task.id)
        self._queued(batch.tasks)
        if run.outcome == "done":
            await self._try_again(job.name, run.model)
        return True

    async def _try_again(self, job: str, model: str) -> None:
        """Revive what a job gave up before this model answered it; of every job, if it is new."""
        if not model or (job, model) in self._answered:
            return
        is_new = all(model != other for _, other in self._answered)
        self._answered.add((job, model))
        with self._store.snapshot() as snapshot:
            tasks = [task for task in snapshot.tasks(state="dead") if is_new or task.job == job]
        for task in tasks:
            await self._apply(job, second_try(task))
        self._queued(tasks)

    async def _apply(self, job: str, batch: WriteBatch) -> None:
        events = self._events.of(job, batch) if batch.done else ()
        ack = self._store.apply(job, batch)
        await asyncio.wrap_future(ack.future)
        if not batch.done:
            return
        try:
            self._on_applied(batch)
        except Exception as error:  # the batch is written even if the listener fails
            self._metrics.count(LISTENER_FAILURES)
            logger.warning(f"A listener to idle work failed: {describe_error(error)}")
        self._events.send(events)

    def _measure(self, run: Run, result: StepResult) -> None:
        self._metrics.count(f"idle_{run.outcome}")
        self._metrics.count("idle_tokens_in", run.tokens_in)
        self._metrics.count("idle_tokens_out", run.tokens_out)
        self._metrics.observe("idle_step", run.ms)
        self._metrics.observe(f"idle_step_{run.job}", run.ms)
        if run.outcome == "interrupted":
            self._metrics.observe("idle_preempt", result.stopped_ms)
