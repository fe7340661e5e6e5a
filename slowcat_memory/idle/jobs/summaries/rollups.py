"""Sums up days and weeks, from the summaries of their sessions, in the user's time zone.

A period is summed up once it is over; and again, in place of what there was, when a session of it
comes late or is made anew. Sessions between which the line only broke count as one conversation,
which belongs to the day on which it began.

The cursor says up to which change of the store periods were compared with their sessions, and its
note when the next one ends: so a plan that finds nothing new reads two rows.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import cast

import msgspec
from msgspec import Struct

from slowcat_memory.core.memory.kinds import SUMMARY
from slowcat_memory.core.summaries.prompt import DAY, VERSION, WEEK
from slowcat_memory.core.summaries.summary import (
    Subject,
    as_turn,
    conversations,
    current,
    digest_of,
    of_summaries,
    stale,
    summary,
    superseded,
    superseding,
    until,
)
from slowcat_memory.core.time.periods import Period, PeriodKind, period_of
from slowcat_memory.idle.job import JobContext, Needs, Plan, Trigger
from slowcat_memory.idle.jobs.extraction.due import may_see
from slowcat_memory.idle.jobs.summaries.shared import (
    SummariesOptions,
    mark_of,
    numbered,
    persona,
    session_summaries,
    split,
    sum_up,
    written,
)
from slowcat_memory.records import Cursor, Made, Memory, Task, WriteBatch
from slowcat_memory.store import Snapshot

NAME = "rollups"
RANK = {"day": 55, "week": 60}  # of tasks
PURPOSES = {"day": DAY, "week": WEEK}


class Compared(Struct, frozen=True, omit_defaults=True):
    """What the cursor's note says.

    Attributes:
        mark: As in ``summing_up.Reading``, and the time zone.
        next: When the next period ends that has a session; None when none goes on.
    """

    mark: str = ""
    next: datetime | None = None


class Rollups:
    """The job; see ``idle.job.Job``."""

    name = NAME
    version = VERSION
    needs: Needs = "nothing"
    trigger = Trigger(session_end=True, every_s=300.0)
    Options: type[Struct] = SummariesOptions

    def plan(self, context: JobContext) -> Plan | None:
        """Say which days and weeks are to be summed up; see ``idle.job.Job``."""
        with context.snapshot() as snapshot:
            before, changed = snapshot.cursor(NAME), snapshot.last_change()
            compared, mark = _compared(before), f"{mark_of(snapshot, context)} {context.zone}"
            over = compared.next is not None and compared.next <= context.now
            if before and before.position == changed and compared.mark == mark and not over:
                return None
            due, ends = list[Task](), list[datetime]()
            for scope in context.scopes():
                due += _due(snapshot, scope, ends, context)
        note = msgspec.json.encode(Compared(mark, min(ends, default=None))).decode()
        cursor = Cursor(name=NAME, position=changed, note=note)
        return None if cursor == before and not due else Plan(tasks=tuple(due), cursor=cursor)

    async def step(self, task: Task, context: JobContext) -> WriteBatch:
        """Sum up one period; see ``idle.job.Job``."""
        kind = cast(PeriodKind, task.key.partition("/")[0])
        id = f"{SUMMARY}/{task.key}"
        with context.snapshot() as snapshot:
            found = by_period(session_summaries(snapshot, task.scope), kind, context)
            period, parts = found.get(id, (None, []))
            old, who = snapshot.memory(task.scope, id), persona(snapshot, task.scope)
        parts = may_see(parts, context)
        if period is None or not parts or period.end > context.now:
            gone = old is not None and period is None
            return WriteBatch(
                memories=superseded(old, context.now) if gone and old else (),
                drop=((task.scope, id),) if gone else (),
            )
        digest = digest_of(VERSION, of_summaries(parts))
        if not stale(old, digest, llm=context.llm is not None):
            return WriteBatch()
        ruled = not stale(old, digest, llm=False)
        lines = [as_turn(memory, n) for n, memory in numbered(parts)]
        told, again = await sum_up(task, PURPOSES[kind], lines, who, ruled, context)
        if told is None:
            return written((), again)
        made = summary(
            Subject(
                id=id,
                kind=f"{SUMMARY}/{kind}",
                scope=task.scope,
                start=period.start,
                until=period.end,
                sources=tuple(sorted({turn for memory in parts for turn in memory.sources})),
                digest=digest,
                covers=tuple(memory.id for memory in parts),
                turns=sum(int(memory.facets.get("turns", 0)) for memory in parts),
                local_only=any(memory.local_only for memory in parts),
            ),
            told,
            Made(job=NAME, version=VERSION),
            context.now,
        )
        return written(superseding(made, old, context.now), again)

    def split(self, task: Task) -> tuple[Task, ...]:
        """Have the LLM read less of each summary; see ``summing_up.split``."""
        return split(task)


def after(made: Memory, context: JobContext) -> Iterator[Task]:
    """Make due what a session's summary adds up to, as far as it is over.

    Args:
        made: The session's summary, about to be written.
        context: What may be used.

    Yields:
        Tasks.
    """
    for kind in _kinds(context):
        period = period_of(kind, made.valid_from, context.zone)
        if period.end <= context.now:
            yield _task(made.scope, kind, period)


def by_period(
    sessions: Sequence[Memory], kind: PeriodKind, context: JobContext
) -> dict[str, tuple[Period, list[Memory]]]:
    """Share sessions out among periods, each conversation as a whole.

    Args:
        sessions: Their summaries.
        kind: Days, or weeks.
        context: What may be used.

    Returns:
        Period and summaries by the id of the period's summary.
    """
    gap = timedelta(seconds=getattr(context.options, "heal_s", 0.0))
    found: dict[str, tuple[Period, list[Memory]]] = {}
    for talk in conversations(sessions, gap):
        period = period_of(kind, talk[0].valid_from, context.zone)
        found.setdefault(f"{SUMMARY}/{kind}/{period.name}", (period, []))[1].extend(talk)
    return found


def _due(
    snapshot: Snapshot, scope: str, ends: list[datetime], context: JobContext
) -> Iterator[Task]:
    """Compare periods with their sessions; note when those end that still go on."""
    sessions = session_summaries(snapshot, scope)
    for kind in _kinds(context):
        there = {m.id: m for m in current(snapshot.memories(scope, f"{SUMMARY}/{kind}/"))}
        found = by_period(sessions, kind, context)
        for id, (period, every) in found.items():
            parts = may_see(every, context)
            if period.end > context.now:
                ends.append(period.end)
            elif parts and stale(
                there.get(id),
                digest_of(VERSION, of_summaries(parts)),
                llm=context.llm is not None,
            ):
                yield _task(scope, kind, period)
        for id, memory in there.items():  # its sessions are gone, or belong elsewhere now
            if id not in found:
                yield _task(
                    scope,
                    kind,
                    Period(memory.valid_from, until(memory), id.rpartition("/")[2], kind),
                )


def _kinds(context: JobContext) -> list[PeriodKind]:
    options = context.options
    wanted: list[tuple[PeriodKind, bool]] = [
        ("day", getattr(options, "days", True)),
        ("week", getattr(options, "weeks", True)),
    ]
    return [kind for kind, is_wanted in wanted if is_wanted]


def _task(scope: str, kind: PeriodKind, period: Period) -> Task:
    key = f"{kind}/{period.name}"
    return Task(
        id=f"{NAME}/{scope}/{key}",
        job=NAME,
        key=key,
        scope=scope,
        created=period.end,
        rank=RANK[kind],
    )


def _compared(cursor: Cursor | None) -> Compared:
    try:
        return msgspec.json.decode(cursor.note, type=Compared) if cursor else Compared()
    except msgspec.MsgspecError:
        return Compared()
