"""Plans jobs, and stores their tasks so that a restart finds them."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta, tzinfo
from itertools import islice

import msgspec
from loguru import logger
from msgspec import Struct

from slowcat_memory.errors import describe_error
from slowcat_memory.idle.job import (
    Job,
    JobContext,
    Plan,
    StepInterruptedError,
    Trigger,
    cursor_at,
    payload_of,
)
from slowcat_memory.idle.options import IdleOptions, JobOptions
from slowcat_memory.idle.scheduler.idle_gate import IdleGate
from slowcat_memory.metrics import Metrics
from slowcat_memory.records import Cursor, SessionEdge, Task, Turn, WriteBatch
from slowcat_memory.store import Snapshot, Store

MOST_PLANS = 1000  # of one job in a row: a cursor that moves in a circle must not block the others


@dataclass
class Planner:
    """Plans jobs whose triggers fired. One whose plan fails is planned when they fire again.

    Attributes:
        on_tasks: Called with the tasks that were stored.
    """

    store: Store
    gate: IdleGate
    context_of: Callable[[Job], JobContext]
    options: IdleOptions
    clock: Callable[[], datetime]
    metrics: Metrics
    on_tasks: Callable[[Sequence[Task]], None]

    def __post_init__(self) -> None:
        self._triggers = Triggers(self.options.jobs)
        self._interrupted = set[str]()  # whose plans gave way to somebody
        self._in_a_row = Counter[str]()  # plans after which there was more to plan

    async def plan(self, jobs: Iterable[Job], forced: set[str]) -> bool:
        """Plan the jobs whose triggers fired, while the gate is open.

        Args:
            forced: Names of jobs to plan whatever their triggers say; a job is removed once it has
                nothing more to plan, or cannot be planned.

        Returns:
            Whether any job is to be planned again at once.
        """
        again = False
        for job in jobs:
            if self.gate.opens_in():
                break
            if job.name in self._interrupted:  # for a round, so that others are planned and done
                self._interrupted.discard(job.name)
                continue
            context, now = self.context_of(job), self.clock()
            if not has_requirements(job, context):
                forced.discard(job.name)
                continue
            with self.store.snapshot() as snapshot:
                due, asked = self._triggers.look(snapshot, job, now, context.zone)
            if due or job.name in forced:
                more = await self._ask(job, context, asked)
                again |= more
                if not more:
                    forced.discard(job.name)
        return again

    async def _ask(self, job: Job, context: JobContext, asked: Cursor) -> bool:
        """Plan a job once; return whether to plan it again at once."""
        try:
            with self.gate.on_close(context.interrupt):
                plan = job.plan(context) or Plan()
        except StepInterruptedError:  # it closed
            self._interrupted.add(job.name)
            return True
        except Exception as error:  # affects this job alone
            plan = Plan()
            self.metrics.count("idle_plan_failures")
            logger.warning(f"Planning the idle job {job.name} failed: {describe_error(error)}")
        with self.store.snapshot() as snapshot:
            moves = plan.cursor is not None and snapshot.cursor(plan.cursor.name) != plan.cursor
        if plan.tasks or moves:
            await self._write(job.name, WriteBatch(tasks=plan.tasks, cursor=plan.cursor))
            self.on_tasks(plan.tasks)
        # A job that moved its cursor may have read only a part: plan until the cursor stops.
        self._in_a_row[job.name] += 1
        if moves and plan.more and self._in_a_row[job.name] < MOST_PLANS:
            return True
        self._in_a_row[job.name] = 0
        await self._write(job.name, WriteBatch(cursor=asked))
        return False

    async def _write(self, job: str, batch: WriteBatch) -> None:
        await asyncio.wrap_future(self.store.apply(job, batch).future)


def has_requirements(job: Job, context: JobContext) -> bool:
    """Return whether the LLM that a job needs is configured."""
    return job.needs != "llm" or context.llm is not None


LOOK = 1000  # events read at a time: some milliseconds


# ------------------------------------------------------------------- when

# Stored, so that it survives a restart. Clocks can be wrong: a machine without a battery starts in
# 1970, people travel, summer time ends. So a daily plan is due on any other local date than the last
# one's, and an interval that appears to end before it began counts as over: a plan too many costs
# milliseconds.


class News(Struct):
    """Log events that a job has not seen: how many turns, and whether a session ended."""

    since: int = 0
    upto: int = 0
    turns: int = 0
    ended: bool = False


class Triggers:
    """Decides which jobs are planned. Caches what it read of the log.

    ``now`` is timezone-aware, ``zone`` is the user's.
    """

    def __init__(self, options: Mapping[str, JobOptions] | None = None) -> None:
        self._options = options or {}
        self._seen = dict[str, News]()

    def look(
        self, snapshot: Snapshot, job: Job, now: datetime, zone: tzinfo
    ) -> tuple[bool, Cursor]:
        """Return whether a job is due, and what records that it was planned with this view."""
        options, trigger = self._options.get(job.name, JobOptions()), job.trigger
        if options.at_hour is not None:
            trigger = Trigger(at_hour=options.at_hour)
        elif options.every_s is not None and trigger.every_s:
            trigger = msgspec.structs.replace(trigger, every_s=options.every_s)
        last = snapshot.cursor(f"asked/{job.name}")
        before = payload_of(last, datetime)
        cursor = cursor_at(f"asked/{job.name}", snapshot.last_id(), now)
        if options.every_s and not _is_over(options.every_s, before, now):
            return False, cursor
        news = self._news(snapshot, job.name, last.position if last else 0)
        return due(trigger, before, news, now, zone), cursor

    def _news(self, snapshot: Snapshot, job: str, since: int) -> News:
        news = self._seen.get(job)
        if news is None or news.since != since:
            news = self._seen[job] = News(since=since, upto=since)
        for event in islice(snapshot.events(after=news.upto), LOOK):
            news.upto = event.id
            news.turns += isinstance(event, Turn)
            news.ended |= isinstance(event, SessionEdge) and event.kind == "end"
        return news


def due(trigger: Trigger, before: datetime | None, news: News, now: datetime, zone: tzinfo) -> bool:
    """Return whether a job is due that was last planned at ``before``."""
    hour = trigger.at_hour
    return (
        0 < trigger.turns <= news.turns
        or (trigger.session_end and news.ended)
        or (trigger.every_s > 0 and _is_over(trigger.every_s, before, now))
        or (
            hour is not None
            and (not before or day_of(hour, before, zone) != day_of(hour, now, zone))
        )
    )


def day_of(hour: int, now: datetime, zone: tzinfo) -> date:
    """Return the local date of the current daily plan: the latest whose hour has passed.

    An hour skipped by the clocks has passed with the next one; a repeated one counts once. Before
    the hour it is the day before, so that a machine asleep at its hour catches up.
    """
    local = now.astimezone(zone)
    before = local.hour < hour and local.date() > date.min
    return local.date() - timedelta(days=before)


def _is_over(every_s: float, since: datetime | None, now: datetime) -> bool:
    return since is None or not 0 <= (now - since).total_seconds() < every_s
