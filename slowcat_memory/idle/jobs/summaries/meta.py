"""Sums up the summaries of a very long session's parts, five at a time, from a hundred turns on."""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from slowcat_memory.core.summaries.prompt import META, VERSION
from slowcat_memory.core.summaries.summary import META as KIND
from slowcat_memory.core.summaries.summary import WINDOW as PART
from slowcat_memory.core.summaries.summary import (
    Subject,
    as_turn,
    current,
    digest_of,
    items,
    of_summaries,
    stale,
    summary,
    superseding,
    until,
)
from slowcat_memory.core.time.periods import due_runs
from slowcat_memory.idle.job import JobContext, Needs, Plan, Trigger
from slowcat_memory.idle.jobs.extraction.due import may_see
from slowcat_memory.idle.jobs.summaries.shared import (
    SummariesOptions,
    numbered,
    persona,
    split,
    sum_up,
    touched,
    written,
)
from slowcat_memory.records import Made, Memory, Task, WriteBatch
from slowcat_memory.store import Snapshot

NAME = "meta_summary"
RANK = 48  # of tasks
LEAST = 2  # summaries that are worth summing up


class MetaSummary:
    """The job; see ``idle.job.Job``."""

    name = NAME
    version = VERSION
    needs: Needs = "nothing"
    trigger = Trigger(session_end=True, every_s=300.0)
    Options: type[Struct] = SummariesOptions

    def plan(self, context: JobContext) -> Plan | None:
        """Say which parts are to be summed up in turn; see ``idle.job.Job``."""
        if not context.options.enabled:
            return None
        with context.snapshot() as snapshot:
            sessions, cursor = touched(snapshot, NAME, context, rested=False)
            found = list[Task]()
            for session in sessions:
                if session.turns >= context.options.meta_turns:
                    parts = _sorted(snapshot, session.scope, f"{PART}/{session.id}/")
                    metas = metas_of(snapshot, session.scope, session.id)
                    found += due(session.scope, session.id, parts, metas, session.turns, context)
            same = cursor == snapshot.cursor(NAME)
        return None if same else Plan(tasks=tuple(found), cursor=cursor)

    async def step(self, task: Task, context: JobContext) -> WriteBatch:
        """Sum up a few summaries; see ``idle.job.Job``."""
        id, session = f"{KIND}/{task.key}", task.key.rpartition("/")[0]
        with context.snapshot() as snapshot:
            parts = _sorted(snapshot, task.scope, f"{PART}/{session}/")
            parts = [m for m in parts if set(m.sources) & set(task.sources)]
            old, who = snapshot.memory(task.scope, id), persona(snapshot, task.scope)
        parts = may_see(parts, context)
        digest = digest_of(VERSION, of_summaries(parts))
        if len(parts) < LEAST or not stale(old, digest, llm=context.llm is not None):
            return WriteBatch()
        ruled = not stale(old, digest, llm=False)
        lines = [as_turn(memory, n) for n, memory in numbered(parts)]
        told, again = await sum_up(task, META, lines, who, ruled, context)
        if told is None:
            return written((), again)
        sources = tuple(sorted({turn for memory in parts for turn in memory.sources}))
        made = summary(
            Subject(
                id=id,
                kind=KIND,
                scope=task.scope,
                start=parts[0].valid_from,
                until=until(parts[-1]),
                sources=sources,
                digest=digest,
                covers=tuple(memory.id for memory in parts),
                turns=len(sources),
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


def metas_of(snapshot: Snapshot, scope: str, session: str) -> list[Memory]:
    """Read what sums up the summaries of a session's parts."""
    return _sorted(snapshot, scope, f"{KIND}/{session}/")


def due(
    scope: str,
    session: str,
    parts: Sequence[Memory],
    metas: Sequence[Memory],
    turns: int,
    context: JobContext,
) -> Iterator[Task]:
    """Say which summaries of parts are to be summed up.

    Args:
        scope: The namespace.
        session: The session.
        parts: The summaries of its parts, in order.
        metas: What sums them up so far.
        turns: How many turns it has.
        context: What may be used.

    Yields:
        Tasks: for what is not summed up yet, and for what was made anew since.
    """
    options, by_id = context.options, {memory.id: memory for memory in parts}
    if turns < options.meta_turns:
        return
    covered = {id for memory in metas for id in items(memory, "covers")}
    groups = due_runs([m.id for m in parts], covered, max(LEAST, options.meta_windows), LEAST)
    for memory in metas:
        left = tuple(id for id in items(memory, "covers") if id in by_id)
        digest = digest_of(VERSION, of_summaries(by_id[id] for id in left))
        if len(left) >= LEAST and stale(memory, digest, llm=context.llm is not None):
            groups.append(left)
    for group in groups:
        first = by_id[group[0]]
        key = f"{session}/{first.sources[0]}"
        yield Task(
            id=f"{NAME}/{scope}/{key}",
            job=NAME,
            key=key,
            scope=scope,
            created=first.valid_from,
            rank=RANK,
            sources=tuple(sorted({turn for id in group for turn in by_id[id].sources})),
        )


def _sorted(snapshot: Snapshot, scope: str, beginning: str) -> list[Memory]:
    return sorted(current(snapshot.memories(scope, beginning)), key=lambda memory: memory.sources)
