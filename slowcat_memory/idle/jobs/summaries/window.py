"""Sums up a long session part by part, while it goes on: every so many turns, from the turns alone.

No summary is ever summed up here, so that nothing is told twice over. How long a part is depends on
what is talked about (``[summaries] domain``).
"""

from msgspec import Struct

from slowcat_memory.core.summaries.prompt import VERSION, WINDOW
from slowcat_memory.core.summaries.summary import WINDOW as KIND
from slowcat_memory.core.summaries.summary import (
    Subject,
    current,
    digest_of,
    of_turns,
    stale,
    summary,
    superseding,
)
from slowcat_memory.core.time.periods import due_runs
from slowcat_memory.idle.job import JobContext, Needs, Plan, Trigger
from slowcat_memory.idle.jobs.extraction.due import visible
from slowcat_memory.idle.jobs.summaries import meta
from slowcat_memory.idle.jobs.summaries.shared import (
    SummariesOptions,
    is_private,
    persona,
    split,
    sum_up,
    touched,
    written,
)
from slowcat_memory.records import Made, Memory, Session, Task, Turn, WriteBatch
from slowcat_memory.store import Snapshot

NAME = "window_summary"
RANK = 47  # of tasks


class WindowSummary:
    """The job; see ``idle.job.Job``."""

    name = NAME
    version = VERSION
    needs: Needs = "nothing"
    trigger = Trigger(turns=5, session_end=True, every_s=300.0)
    Options: type[Struct] = SummariesOptions

    def plan(self, context: JobContext) -> Plan | None:
        """Say which parts of which sessions are to be summed up; see ``idle.job.Job``."""
        if not context.options.enabled:
            return None
        with context.snapshot() as snapshot:
            sessions, cursor = touched(snapshot, NAME, context, rested=False)
            due = tuple(
                task for session in sessions for task in self._due(snapshot, session, context)
            )
            same = cursor == snapshot.cursor(NAME)
        return None if same else Plan(tasks=due, cursor=cursor)

    def _due(self, snapshot: Snapshot, session: Session, context: JobContext) -> list[Task]:
        if session.turns <= context.options.window_turns:
            return []
        turns = visible(snapshot, session, context)
        there = windows_of(snapshot, session.scope, session.id)
        covered = {id for memory in there for id in memory.sources}
        found = due_runs([turn.id for turn in turns], covered, context.options.window_turns)
        if context.llm is not None:
            found += [m.sources for m in there if m.made is not None and not m.made.model]
        return [_task(session, part) for part in found]

    async def step(self, task: Task, context: JobContext) -> WriteBatch:
        """Sum up one part; see ``idle.job.Job``."""
        session_id, id = task.key.rpartition("/")[0], f"{KIND}/{task.key}"
        with context.snapshot() as snapshot:
            session = snapshot.session(session_id)
            seen = visible(snapshot, session, context) if session else []
            turns = [turn for turn in seen if turn.id in task.sources]
            old = snapshot.memory(task.scope, id)
            there = windows_of(snapshot, task.scope, session_id)
            metas = meta.metas_of(snapshot, task.scope, session_id)
            who, private = persona(snapshot, task.scope), is_private(snapshot, turns)
        digest = digest_of(VERSION, of_turns(turns))
        if not turns or not stale(old, digest, llm=context.llm is not None):
            return WriteBatch()
        ruled = not stale(old, digest, llm=False)
        told, again = await sum_up(task, WINDOW, turns, who, ruled, context)
        if told is None:
            return written((), again)
        made = summary(
            _subject(task, id, turns, digest, private),
            told,
            Made(job=NAME, version=VERSION),
            context.now,
        )
        windows = sorted(
            (*(m for m in there if m.id != id), made), key=lambda memory: memory.sources
        )
        more = meta.due(task.scope, session_id, windows, metas, len(seen), context)
        return written(superseding(made, old, context.now), again, *more)

    def split(self, task: Task) -> tuple[Task, ...]:
        """Have the LLM read less of each turn; see ``summing_up.split``."""
        return split(task)


def windows_of(snapshot: Snapshot, scope: str, session: str) -> list[Memory]:
    """Read what sums up parts of a session, in order."""
    found = current(snapshot.memories(scope, f"{KIND}/{session}/"))
    return sorted(found, key=lambda memory: memory.sources)


def _subject(task: Task, id: str, turns: list[Turn], digest: str, private: bool) -> Subject:
    return Subject(
        id=id,
        kind=KIND,
        scope=task.scope,
        start=turns[0].at,
        until=turns[-1].at,
        sources=tuple(turn.id for turn in turns),
        digest=digest,
        turns=len(turns),
        local_only=private,
    )


def _task(session: Session, part: tuple[int, ...]) -> Task:
    key = f"{session.id}/{part[0]}"
    return Task(
        id=f"{NAME}/{session.scope}/{key}",
        job=NAME,
        key=key,
        scope=session.scope,
        created=session.last,
        rank=RANK,
        sources=part,
    )
