"""Sums up each session once it has ended, or rests: the agent looks back on it.

A session that goes on after that is summed up again, in the place of the first summary. What it adds
up to (its day and its week, if they are over, and its topics) is made due in the same transaction.
"""

from msgspec import Struct

from slowcat_memory.core.memory.kinds import SESSION_SUMMARY
from slowcat_memory.core.summaries.prompt import SESSION, VERSION
from slowcat_memory.core.summaries.summary import (
    Subject,
    digest_of,
    of_turns,
    stale,
    summary,
    superseded,
    superseding,
)
from slowcat_memory.idle.job import JobContext, Needs, Plan, Trigger
from slowcat_memory.idle.jobs.extraction.due import visible
from slowcat_memory.idle.jobs.summaries import rollups, topics
from slowcat_memory.idle.jobs.summaries.shared import (
    SummariesOptions,
    is_private,
    persona,
    split,
    sum_up,
    touched,
    written,
)
from slowcat_memory.records import Made, Session, Task, WriteBatch
from slowcat_memory.store import Snapshot

NAME = "session_summary"
RANK = 45  # of tasks: before what a session adds up to


class SessionSummary:
    """The job; see ``idle.job.Job``."""

    name = NAME
    version = VERSION
    needs: Needs = "nothing"
    trigger = Trigger(session_end=True, every_s=300.0)
    Options: type[Struct] = SummariesOptions

    def plan(self, context: JobContext) -> Plan | None:
        """Say which sessions are to be summed up; see ``idle.job.Job``."""
        with context.snapshot() as snapshot:
            sessions, cursor = touched(snapshot, NAME, context, rested=True)
            due = tuple(_task(one) for one in sessions if _due(snapshot, one, context))
            same = cursor == snapshot.cursor(NAME)
        return None if same else Plan(tasks=due, cursor=cursor)

    async def step(self, task: Task, context: JobContext) -> WriteBatch:
        """Sum up one session; see ``idle.job.Job``."""
        with context.snapshot() as snapshot:
            session = snapshot.session(task.key)
            turns = visible(snapshot, session, context) if session else []
            old = snapshot.memory(task.scope, summary_id(task.key))
            who, private = persona(snapshot, task.scope), is_private(snapshot, turns)
        digest = digest_of(VERSION, of_turns(turns))
        if len(turns) < context.options.least_turns:
            return WriteBatch(
                memories=superseded(old, context.now) if old else (),
                drop=((task.scope, old.id),) if old else (),
            )
        if not stale(old, digest, llm=context.llm is not None):
            return WriteBatch()
        ruled = not stale(old, digest, llm=False)
        told, again = await sum_up(task, SESSION, turns, who, ruled, context)
        if told is None:
            return written((), again)
        subject = Subject(
            id=summary_id(task.key),
            kind=SESSION_SUMMARY,
            scope=task.scope,
            start=turns[0].at,
            until=turns[-1].at,
            sources=tuple(turn.id for turn in turns),
            digest=digest,
            turns=len(turns),
            local_only=private,
        )
        made = summary(subject, told, Made(job=NAME, version=VERSION), context.now)
        more = (*rollups.after(made, context), *topics.after(made, context))
        return written(superseding(made, old, context.now), again, *more)

    def split(self, task: Task) -> tuple[Task, ...]:
        """Have the LLM read less of each turn; see ``summing_up.split``."""
        return split(task)


def summary_id(session: str) -> str:
    """Name a session's summary."""
    return f"{SESSION_SUMMARY}/{session}"


def _due(snapshot: Snapshot, session: Session, context: JobContext) -> bool:
    turns = visible(snapshot, session, context) if session.turns else []
    old = snapshot.memory(session.scope, summary_id(session.id))
    if len(turns) < context.options.least_turns:
        return old is not None and old.retired_at is None
    return stale(old, digest_of(VERSION, of_turns(turns)), llm=context.llm is not None)


def _task(session: Session) -> Task:
    """Ask for one session; about all of it, so that it goes when any of it is forgotten."""
    return Task(
        id=f"{NAME}/{session.scope}/{session.id}",
        job=NAME,
        key=session.id,
        scope=session.scope,
        created=session.last,
        rank=RANK,
    )
