"""Plan, pick, step, apply, repeat: while the gate is open.

Theory of operation. All that a job finds to be due is in the store before any of it is done, and
the outcome of a task, its end and its run are one transaction. So a kill finds a task either
waiting, with nothing of it written, or done; and a task that is taken up again writes the same
records under the same ids. What fails waits, longer each time, until it is dead; a server that is
away is nobody's fault, and everything that needs it waits without being counted as tried.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Protocol

from loguru import logger
from msgspec.structs import replace

from slowcat_memory.errors import (
    EndpointError,
    EndpointRefusedError,
    PromptTooLongError,
    StoreClosedError,
    StoreFullError,
)
from slowcat_memory.idle.context import Tally
from slowcat_memory.idle.events import OnMemory, changes, tell
from slowcat_memory.idle.job import Job
from slowcat_memory.idle.local_only import kept_here
from slowcat_memory.idle.scheduler.budget import Budget
from slowcat_memory.idle.scheduler.idle_gate import IdleGate
from slowcat_memory.idle.scheduler.options import IdleOptions
from slowcat_memory.idle.scheduler.retries import backoff, failed, told
from slowcat_memory.idle.scheduler.server_away import Away, Breaker, is_ready
from slowcat_memory.idle.scheduler.step import Outcome, StepContext, attempt
from slowcat_memory.idle.scheduler.task_queue import Queue
from slowcat_memory.idle.scheduler.tracing import find_tracer, span
from slowcat_memory.idle.scheduler.triggers import Triggers
from slowcat_memory.metrics import Metrics
from slowcat_memory.records import Cursor, Run, RunOutcome, Task, WriteBatch
from slowcat_memory.store import Store

POLL_S = 0.5  # how often a closed gate is looked at: it opens without a word
TROUBLE_S = 60.0  # after a full disk, or an error of the loop itself
LOOK_BACK = 1000  # runs that are read for what was spent before a restart
MOST_PLANS = 1000  # of one job in a row: one whose cursor runs in a circle must not hold the others

OnApplied = Callable[[WriteBatch], None]


class CountingContext(StepContext, Protocol):
    """A step's context that knows what the LLM cost."""

    @property
    def tally(self) -> Tally | None:
        """What was asked; None without an LLM."""


class IdleLoop:
    """Does what is due, one step at a time. Belongs to one event loop, except where said."""

    def __init__(
        self,
        store: Store,
        jobs: Iterable[Job],
        gate: IdleGate,
        context_of: Callable[[Job], CountingContext],
        breaker: Breaker | None = None,
        options: IdleOptions = IdleOptions(),
        clock: Callable[[], datetime] = lambda: datetime.now().astimezone(),
        metrics: Metrics | None = None,
        on_applied: OnApplied = lambda batch: None,
        *,
        budget: Budget | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        """Wire it; nothing runs yet.

        Args:
            store: Holds tasks, cursors and results.
            jobs: What may be done.
            gate: When.
            context_of: Makes a context for each plan and step.
            breaker: Tells whether the LLM's server is worth asking; None asks, and waits.
            options: How much, and how often again.
            clock: The time, aware.
            metrics: Counts ``idle_…``.
            on_applied: Told what has been written, on the loop's thread.
            budget: What may be spent; None makes one of the options.
            sleep: Waits; for tests.
        """
        self._store, self._gate, self._context_of = store, gate, context_of
        self._jobs = {job.name: job for job in jobs}
        self._breaker, self._options, self._clock = breaker, options, clock
        self._metrics, self._on_applied = metrics or Metrics(), on_applied
        self._budget, self._sleep = budget or Budget(options), sleep
        self._triggers, self._away, self._tracer = Triggers(), Away(), find_tracer()
        self._listeners: list[OnMemory] = []
        self._queue: Queue | None = None
        self._one_at_a_time = asyncio.Lock()  # ``run_until_done`` may be asked beside ``run``
        self._done = 0  # steps that changed something, or asked for more
        self._drains = 0  # those asked to do all there is: meanwhile ``run`` waits
        self._drained = asyncio.Event()
        self._plans: dict[str, int] = {}  # in a row, by job
        self._stuck: set[str] = set()  # jobs whose last step found the LLM's server away
        self._broken: dict[str, tuple[int, datetime]] = {}  # plans that failed: how often, when
        with store.snapshot() as snapshot:
            self._budget.remember(snapshot.runs(LOOK_BACK))

    def listen(self, listener: OnMemory) -> None:
        """Have somebody told of memories that come, change, or go. Before the loop runs.

        Args:
            listener: Told on the loop's thread.
        """
        self._listeners.append(listener)

    def changed(self) -> None:
        """Read the tasks again: somebody else has changed them. From any thread."""
        self._queue = None

    # ------------------------------------------------------------------- running

    async def run(self) -> None:
        """Think whenever the gate is open, until cancelled, or the store is closed."""
        while True:
            try:
                if self._drains:
                    self._drained.clear()
                    await self._drained.wait()
                if not await self._round(self._jobs):
                    await self._sleep(self._options.rest_s)
            except StoreClosedError:
                return
            except StoreFullError:
                await self._trouble("store_full")
            except Exception as error:  # a fault of this loop must not end it, nor spin
                logger.error(f"Idle thinking failed and goes on in a minute: {told(error)}")
                await self._trouble("errors")

    async def run_until_done(
        self, jobs: Sequence[str] | None = None, patience_s: float = 600.0
    ) -> int:
        """Do all there is, whatever the triggers say.

        Every job is asked, and asked again at the end if anything was done since. Meanwhile ``run``
        waits: no other job is done beside.

        Args:
            jobs: Names of the only ones to do; None for every one.
            patience_s: Seconds for which nothing could be done (its time has not come, the LLM's
                server is away, the budget is spent) after which it gives up.

        Returns:
            How many tasks are left that are neither dead nor in want of a model.

        Raises:
            StoreFullError: The disk is full.
            KeyError: There is no such job.
        """
        chosen = self._jobs if jobs is None else {name: self._jobs[name] for name in jobs}
        self._drains += 1
        try:
            return await self._drain(chosen, patience_s)
        finally:
            self._drains -= 1
            if not self._drains:
                self._drained.set()

    async def _drain(self, chosen: dict[str, Job], patience_s: float) -> int:
        unasked, idle_since, done = set(chosen), self._clock(), self._done
        while True:
            if await self._round(chosen, unasked):
                idle_since = self._clock()
                continue
            if self._done != done and not unasked:
                unasked, done = set(chosen), self._done
                continue
            able = {name for name, job in chosen.items() if _has(job, self._context_of(job))}
            left = sum(task.job in able for task in self._waiting())
            waited = (self._clock() - idle_since).total_seconds()
            if not (left or unasked) or waited >= patience_s:
                return left
            await self._sleep(self._options.rest_s)

    async def _trouble(self, name: str) -> None:
        self._metrics.count(f"idle_{name}")
        self._queue = None
        await self._sleep(TROUBLE_S)

    async def _round(self, jobs: dict[str, Job], unasked: set[str] | None = None) -> bool:
        """Once the gate is open, ask jobs what is due, then do one task.

        Args:
            jobs: Those that may be done.
            unasked: Those that are to be asked whatever their triggers say; taken out once asked.

        Returns:
            Whether anything was done, or is to be looked at anew; not when a server was away.
        """
        async with self._one_at_a_time:
            while wait := self._gate.opens_in():
                await self._sleep(min(wait, POLL_S))
            if self._drains and unasked is None:
                return True
            asked = await self._plan(jobs, unasked if unasked is not None else set())
            now = self._clock()
            able = {name for name, job in jobs.items() if self._may(job, now)}
            asking = {name for name in able if self._asks(jobs[name])}
            if any(task.job in asking for task in self._waiting()) and not await self._ready(now):
                able -= asking
            task = self._waiting().next(now, lambda task: task.job in able)
            return await self._do(jobs[task.job], task) if task else asked

    def _waiting(self) -> Queue:
        queue = self._queue
        if queue is None:
            with self._store.snapshot() as snapshot:
                queue = self._queue = Queue(snapshot.tasks(state="waiting"))
        return queue

    def _may(self, job: Job, now: datetime) -> bool:
        """Tell whether a job's steps may be done now."""
        context = self._context_of(job)
        return _has(job, context) and not self._budget.holds(job.needs, now, context.zone)

    def _asks(self, job: Job) -> bool:
        """Tell whether a job's steps wait for the LLM's server: it needs one, or found it away.

        A job that needs nothing should do without while the server is away; one that does not would
        be tried again at once, for ever.
        """
        return job.needs == "llm" or job.name in self._stuck

    async def _ready(self, now: datetime) -> bool:
        """Tell whether the LLM's server is worth asking."""
        if self._breaker is None:
            return self._away.ready(now)
        return await is_ready(self._breaker, self._gate)

    # ------------------------------------------------------------------- planning

    async def _plan(self, jobs: dict[str, Job], unasked: set[str]) -> bool:
        """Ask the jobs that are to be asked; True when one of them found something."""
        found = False
        for job in jobs.values():
            if self._gate.opens_in():
                break
            context, now = self._context_of(job), self._clock()
            if not _has(job, context) or not self._sound(job, now):
                unasked.discard(job.name)
                continue
            with self._store.snapshot() as snapshot:
                due = self._triggers.due(snapshot, job, now, context.zone)
            if due or job.name in unasked:
                again = await self._ask(job, context)
                found |= again
                if not again:
                    unasked.discard(job.name)
        return found

    async def _ask(self, job: Job, context: CountingContext) -> bool:
        """Have a job say what is due, and keep that; True when it is to be asked again at once."""
        with self._store.snapshot() as before:
            asked = Triggers.asked(before, job, self._clock(), context.zone)
        try:
            plan = job.plan(context)
        except Exception as error:  # a job's fault is the job's alone
            self._plan_failed(job, error)
            return False
        self._broken.pop(job.name, None)
        moves = plan is not None and plan.cursor is not None and self._is_new(plan.cursor)
        if plan is not None and (plan.tasks or moves):
            await self._apply(job.name, WriteBatch(tasks=plan.tasks, cursor=plan.cursor))
            self._queue = None
        # What moved its cursor may have looked at a part only: it is asked until it stands still.
        more = moves and plan is not None and plan.more
        self._plans[job.name] = self._plans.get(job.name, 0) + 1 if more else 0
        if 0 < self._plans[job.name] < MOST_PLANS:
            return True
        self._plans[job.name] = 0
        await self._apply(job.name, WriteBatch(cursor=asked))
        return False

    def _is_new(self, cursor: Cursor) -> bool:
        with self._store.snapshot() as snapshot:
            return snapshot.cursor(cursor.name) != cursor

    def _plan_failed(self, job: Job, error: Exception) -> None:
        times = self._broken.get(job.name, (0, None))[0] + 1
        self._broken[job.name] = (times, self._clock())
        self._metrics.count("idle_plan_failures")
        logger.warning(f"The idle job {job.name} cannot say what is due: {told(error)}")

    def _sound(self, job: Job, now: datetime) -> bool:
        """Tell whether a job's plan works, or may be tried again."""
        if job.name not in self._broken:
            return True
        times, since = self._broken[job.name]
        wait = timedelta(seconds=backoff(times, self._options))
        return not timedelta() <= now - since < wait

    # ------------------------------------------------------------------- doing

    async def _do(self, job: Job, task: Task) -> bool:
        with self._store.snapshot() as snapshot:
            there = snapshot.task(task.id)
        if there != task:  # done, forgotten, or changed by somebody else
            self._queue = None
            return True
        context, began = self._context_of(job), self._clock()
        timeout_s = getattr(context.options, "timeout_s", self._options.step_s)
        with span(task, self._tracer) as note:
            outcome = await attempt(job, task, context, self._gate, timeout_s)
            batch = self._settle(job, task, outcome)
            run = _run(task, outcome, batch, context.tally, began)
            note(run.outcome, outcome.error)
        self._count(run, outcome)
        if isinstance(outcome.error, StoreFullError):
            raise outcome.error
        if run.outcome == "interrupted":  # nothing waits for this row, least of all a conversation
            self._store.apply(job.name, WriteBatch(run=run))
            return True
        await self._apply(job.name, replace(batch, run=run))
        self._done += bool(batch.done)
        if run.outcome == "away":  # nothing was done: whoever drains must lose patience some day
            return False
        self._replan(task, batch)
        return True

    def _settle(self, job: Job, task: Task, outcome: Outcome) -> WriteBatch:
        """Turn what came of a step into what is to be written, the run aside."""
        error = outcome.error
        if outcome.ended == "interrupted" or isinstance(error, StoreFullError):
            return WriteBatch()
        if isinstance(error, EndpointError | EndpointRefusedError):
            self._away.failed(self._clock())
            self._stuck.add(job.name)
            return WriteBatch()
        if self._asks(job):
            self._stuck.discard(job.name)
            self._away.answered()
        if outcome.batch is not None:
            with self._store.snapshot() as snapshot:
                memories = kept_here(outcome.batch.memories, snapshot)
            return replace(outcome.batch, memories=memories, done=task.id)
        assert error is not None
        if isinstance(error, PromptTooLongError) and (parts := _split(job, task)):
            return WriteBatch(done=task.id, tasks=parts)
        logger.warning(f"The idle job {job.name} failed: {told(error)}")
        after = failed(task, told(error), self._clock(), self._options)
        # Taken away and put again, so that one which was forgotten meanwhile stays away.
        return WriteBatch(done=task.id, tasks=(after,), retask=True)

    def _replan(self, task: Task, batch: WriteBatch) -> None:
        queue = self._queue
        if batch.tasks:
            self._queue = None
        elif queue is not None:
            queue.take(task.id)

    async def _apply(self, job: str, batch: WriteBatch) -> None:
        """Write a batch and wait until it is on disk, then tell whoever listens."""
        if batch.done and self._listeners:
            with self._store.snapshot() as before:
                events = changes(job, batch, before)
        else:
            events = ()
        ack = self._store.apply(job, batch)
        await asyncio.wrap_future(ack.future)
        if batch.done:
            try:
                self._on_applied(batch)
            except Exception as error:  # it is written whatever the listener does
                self._metrics.count("idle_listener_failures")
                logger.warning(f"A listener to idle work failed: {told(error)}")
            if failures := tell(self._listeners, events):
                self._metrics.count("idle_listener_failures", failures)

    def _count(self, run: Run, outcome: Outcome) -> None:
        self._metrics.count(f"idle_{run.outcome}")
        self._metrics.count("idle_tokens_in", run.tokens_in)
        self._metrics.count("idle_tokens_out", run.tokens_out)
        self._metrics.observe("idle_step", run.ms)
        self._metrics.observe(f"idle_step_{run.job}", run.ms)
        if outcome.ended == "interrupted":
            self._metrics.observe("idle_preempt", outcome.stopped_ms)
        self._budget.spend(run.tokens_in + run.tokens_out, run.at)


def _has(job: Job, context: StepContext) -> bool:
    """Tell whether what a job needs is there."""
    if job.needs == "llm":
        return context.llm is not None
    return job.needs == "nothing" or context.space != ""


def _split(job: Job, task: Task) -> tuple[Task, ...]:
    """Have a job split a task that is too long, when it can; nothing when that is no help."""
    split = getattr(job, "split", None)
    try:
        parts = tuple(split(task)) if split else ()
    except Exception as error:
        logger.warning(f"The idle job {job.name} cannot split a task: {told(error)}")
        return ()
    return parts if all(part.id != task.id for part in parts) else ()


def _run(
    task: Task, outcome: Outcome, batch: WriteBatch, tally: Tally | None, began: datetime
) -> Run:
    return Run(
        task=task.id,
        job=task.job,
        at=began,
        ms=round(outcome.ms, 1),
        outcome=_name(outcome, batch),
        model=tally.model if tally else "",
        tokens_in=tally.tokens_in if tally else 0,
        tokens_out=tally.tokens_out if tally else 0,
        made=sum(map(len, (batch.memories, batch.drop, batch.contexts, batch.keys))),
        error=told(outcome.error) if outcome.error else "",
    )


def _name(outcome: Outcome, batch: WriteBatch) -> RunOutcome:
    if outcome.ended == "interrupted":
        return "interrupted"
    if outcome.ended == "returned":
        return "done"
    if not batch.done:
        return "away"
    return "dead" if any(task.state == "dead" for task in batch.tasks) else "retry"
