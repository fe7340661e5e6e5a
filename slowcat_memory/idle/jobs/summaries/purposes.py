"""The purposes of summaries, as a table: what each reads, when it is due, and what follows.

Session, window (a part of a long session), meta (of windows), day and week. A window is made
from turns alone, so nothing is summarised twice. Sessions separated only by a dropped connection
count as one conversation, which belongs to the day on which it began. An outdated summary is
replaced (see ``core.summaries.summary``).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory.core.memory import SESSION_SUMMARY, SUMMARY, chunk_id
from slowcat_memory.core.summaries import prompt
from slowcat_memory.core.summaries.prompt import VERSION, Purpose
from slowcat_memory.core.summaries.summary import (
    META,
    TOPIC,
    WINDOW,
    Subject,
    as_turn,
    conversations,
    current,
    digest_of,
    is_stale,
    items,
    of_summaries,
    of_turns,
    until,
)
from slowcat_memory.core.time.periods import Period, PeriodKind, due_runs, period_of
from slowcat_memory.idle.job import JobContext, new_task
from slowcat_memory.idle.jobs.session_log import may_see, visible_turns
from slowcat_memory.records import Memory, Session, Task, Turn, WriteBatch
from slowcat_memory.store import Snapshot

GROUP_TOPICS = "group"  # key of the task that finds topics
GROUP_WINDOWS = "group"  # end of the key of the task that finds a session's due meta summaries
MIN_PARTS = 2  # fewer summaries get no summary of their own
TOPICS_RANK = 70


class SummaryInput(Struct, frozen=True):
    """The input of a summary.

    Attributes:
        subject: Its subject; None if no sources are left, and the summary is removed.
        turns: The LLM's input: turns, or summaries in their form.
        seen: Ids of these summaries; None for turns.
        persona: The agent's, for the LLM.
    """

    subject: Subject | None
    turns: Sequence[Turn]
    old: Memory | None
    seen: tuple[str, ...] | None = None
    persona: Memory | None = None


class SummaryPurpose(Struct, frozen=True, kw_only=True):
    """A row of the table.

    Attributes:
        read: Returns the input of a task; None when there is nothing to do.
        due: Returns the tasks of a session with new turns in a range of log ids; none if it is not
            made from one session.
        wait: Whether ``due`` waits until the session has ended, or is silent.
        follow_up: Returns the tasks that a new summary makes due.
    """

    job: str
    prompt: Purpose
    rank: int
    read: Callable[[Snapshot, Task, JobContext], SummaryInput | None]
    due: Callable[[Snapshot, Session, range, JobContext], Iterable[Task]] = (
        lambda snapshot, session, new, context: ()
    )
    wait: bool = False
    follow_up: Callable[[Memory, Task, JobContext], Iterable[Task]] = lambda made, task, context: ()

    def task(self, scope: str, key: str, created: datetime, sources: tuple[int, ...] = ()) -> Task:
        return new_task(self.job, scope, key, created, self.rank, sources=sources)


# ------------------------------------------------------------------- sessions


def _read_session(snapshot: Snapshot, task: Task, context: JobContext) -> SummaryInput | None:
    session = snapshot.session(task.key)
    turns = visible_turns(snapshot, session, context) if session else []
    id = f"{SESSION_SUMMARY}/{task.key}"
    old = snapshot.memory(task.scope, id)
    if len(turns) < context.options.least_turns:
        return SummaryInput(None, turns, old)
    return SummaryInput(_subject_of_turns(id, SESSION_SUMMARY, turns, snapshot), turns, old)


def _session_due(
    snapshot: Snapshot, session: Session, new: range, context: JobContext
) -> Iterator[Task]:
    turns = visible_turns(snapshot, session, context) if session.turns else []
    old = snapshot.memory(session.scope, f"{SESSION_SUMMARY}/{session.id}")
    if len(turns) < context.options.least_turns:
        due = old is not None and old.retired_at is None
    else:
        due = is_stale(old, digest_of(VERSION, of_turns(turns)), llm=context.llm is not None)
    if due:
        yield PURPOSES["session"].task(session.scope, session.id, session.last)


def _after_session(made: Memory, task: Task, context: JobContext) -> Iterator[Task]:
    for kind in period_kinds(context):
        period = period_of(kind, made.valid_from, context.zone)
        if period.end <= context.now:
            yield period_task(made.scope, period)
    yield group_task(made.scope, context.now)


def session_summaries(snapshot: Snapshot, scope: str) -> list[Memory]:
    """Return the current summaries of a scope's sessions, the earliest first."""
    every = current(snapshot.memories(scope, f"{SESSION_SUMMARY}/"))
    return sorted(every, key=lambda memory: (memory.valid_from, memory.id))


# ------------------------------------------------------------------- windows of a long session


def _read_window(snapshot: Snapshot, task: Task, context: JobContext) -> SummaryInput | None:
    session = snapshot.session(task.key.rpartition("/")[0])
    if session is None or not task.sources:
        return None
    seen = visible_turns(snapshot, session, context, min(task.sources), max(task.sources))
    turns = [turn for turn in seen if turn.id in task.sources]
    if not turns:
        return None
    id = f"{WINDOW}/{task.key}"
    subject = _subject_of_turns(id, WINDOW, turns, snapshot)
    return SummaryInput(subject, turns, snapshot.memory(task.scope, id))


def _windows_due(
    snapshot: Snapshot, session: Session, new: range, context: JobContext
) -> Iterator[Task]:
    if session.turns <= context.options.window_turns:
        return
    start = _first_uncovered(snapshot, session, new.start, context.options.window_turns)
    turns = visible_turns(snapshot, session, context, start, new.stop - 1)
    found = (_window_at(snapshot, session, turn.id) for turn in turns)
    windows = [memory for memory in found if memory is not None]
    covered = {id for memory in windows for id in memory.sources}
    parts = due_runs([turn.id for turn in turns], covered, context.options.window_turns)
    if context.llm is not None:
        parts += [m.sources for m in windows if m.made is not None and not m.made.model]
    for part in parts:
        key = f"{session.id}/{part[0]}"
        yield PURPOSES["window"].task(session.scope, key, session.last, part)


def _first_uncovered(snapshot: Snapshot, session: Session, new: int, most: int) -> int:
    """Return the log id of the first turn before ``new`` that no window covers.

    Walks back from the new turns: a window, of ``most`` turns at most, is met soon.
    """
    first = new
    while before := snapshot.turn_before(session.scope, session.id, first):
        window = _window_at(snapshot, session, before)
        if window is not None:
            return max(before, *(id for id in window.sources if id < new)) + 1
        first = before
    return first


def _window_at(snapshot: Snapshot, session: Session, turn: int) -> Memory | None:
    """Return the current window that begins with a turn."""
    memory = snapshot.memory(session.scope, f"{WINDOW}/{session.id}/{turn}")
    return None if memory is None or memory.retired_at is not None else memory


def _after_window(made: Memory, task: Task, context: JobContext) -> Iterable[Task]:
    return (_group_windows_task(task.scope, task.key.rpartition("/")[0], context.now),)


# ------------------------------------------------------------------- summaries of windows


def _read_meta(snapshot: Snapshot, task: Task, context: JobContext) -> SummaryInput | None:
    session = task.key.rpartition("/")[0]
    ids = (f"{WINDOW}/{session}/{turn}" for turn in task.sources)
    windows = current(one for id in ids if (one := snapshot.memory(task.scope, id)))
    parts = may_see(sorted(windows, key=lambda memory: memory.sources), context)
    if len(parts) < MIN_PARTS:
        return None
    id = f"{META}/{task.key}"
    turns = len({turn for memory in parts for turn in memory.sources})
    subject = _subject_of_summaries(id, META, parts, until=until(parts[-1]), turns=turns)
    return SummaryInput(subject, _as_turns(parts), snapshot.memory(task.scope, id), _ids(parts))


def _metas_due(
    snapshot: Snapshot, session: Session, new: range, context: JobContext
) -> Iterator[Task]:
    if session.turns >= context.options.meta_turns:
        yield _group_windows_task(session.scope, session.id, context.now)


def _group_windows_task(scope: str, session: str, now: datetime) -> Task:
    """Return the task that groups a session's windows: one, however many windows are new."""
    return PURPOSES["meta"].task(scope, f"{session}/{GROUP_WINDOWS}", now)


def group_windows(task: Task, context: JobContext) -> WriteBatch:
    """Make the tasks for windows without a meta summary, and for outdated meta summaries."""
    id = task.key.rpartition("/")[0]
    with context.snapshot() as snapshot:
        session = snapshot.session(id)
        if session is None or session.turns < context.options.meta_turns:
            return WriteBatch()
        windows = _of_session(snapshot, task.scope, id, WINDOW)
        metas = _of_session(snapshot, task.scope, id, META)
    return WriteBatch(tasks=tuple(_metas_of_windows(task.scope, id, windows, metas, context)))


def _metas_of_windows(
    scope: str,
    session: str,
    windows: Sequence[Memory],
    metas: Sequence[Memory],
    context: JobContext,
) -> Iterator[Task]:
    options, by_id = context.options, {memory.id: memory for memory in windows}
    covered = {id for memory in metas for id in items(memory, "covers")}
    ids = [memory.id for memory in windows]
    groups = due_runs(ids, covered, max(MIN_PARTS, options.meta_windows), MIN_PARTS)
    for memory in metas:
        left = tuple(id for id in items(memory, "covers") if id in by_id)
        digest = digest_of(VERSION, of_summaries(by_id[id] for id in left))
        if len(left) >= MIN_PARTS and is_stale(memory, digest, llm=context.llm is not None):
            groups.append(left)
    for group in groups:
        first = by_id[group[0]]
        sources = tuple(sorted({turn for id in group for turn in by_id[id].sources}))
        key = f"{session}/{first.sources[0]}"
        yield PURPOSES["meta"].task(scope, key, first.valid_from, sources)


def _of_session(snapshot: Snapshot, scope: str, session: str, kind: str) -> list[Memory]:
    found = current(snapshot.memories(scope, f"{kind}/{session}/"))
    return sorted(found, key=lambda memory: memory.sources)


# ------------------------------------------------------------------- days and weeks


def _read_period(snapshot: Snapshot, task: Task, context: JobContext) -> SummaryInput | None:
    kind: PeriodKind = "day" if task.key.startswith("day/") else "week"
    id = f"{SUMMARY}/{task.key}"
    found = by_period(session_summaries(snapshot, task.scope), kind, context)
    period, every = found.get(id, (None, []))
    old = snapshot.memory(task.scope, id)
    if period is None:
        return SummaryInput(None, [], old)
    parts = may_see(every, context)
    if not parts or period.end > context.now:
        return None
    kind_of_memory = f"{SUMMARY}/{kind}"
    subject = _subject_of_summaries(id, kind_of_memory, parts, start=period.start, until=period.end)
    return SummaryInput(subject, _as_turns(parts), old, _ids(parts))


def by_period(
    sessions: Sequence[Memory], kind: PeriodKind, context: JobContext
) -> dict[str, tuple[Period, list[Memory]]]:
    """Group session summaries by period, each conversation as a whole.

    Returns (period, summaries) by the id of the period's summary.
    """
    gap = timedelta(seconds=context.options.heal_s)
    found: dict[str, tuple[Period, list[Memory]]] = {}
    for conversation in conversations(sessions, gap):
        period = period_of(kind, conversation[0].valid_from, context.zone)
        id = f"{SUMMARY}/{kind}/{period.name}"
        found.setdefault(id, (period, []))[1].extend(conversation)
    return found


def periods_due(
    snapshot: Snapshot, scope: str, context: JobContext
) -> tuple[list[Task], list[datetime]]:
    """Return the tasks of the periods that have ended, and the ends of the present ones."""
    tasks, ends = list[Task](), list[datetime]()
    sessions, llm = session_summaries(snapshot, scope), context.llm is not None
    for kind in period_kinds(context):
        stored = {m.id: m for m in current(snapshot.memories(scope, f"{SUMMARY}/{kind}/"))}
        found = by_period(sessions, kind, context)
        for id, (period, every) in found.items():
            parts = may_see(every, context)
            digest = digest_of(VERSION, of_summaries(parts))
            if period.end > context.now:
                ends.append(period.end)
            elif parts and is_stale(stored.get(id), digest, llm=llm):
                tasks.append(period_task(scope, period))
        for id, memory in stored.items():
            if id not in found:  # its sessions are gone, or now belong to another period
                name = id.rpartition("/")[2]
                tasks.append(
                    period_task(scope, Period(memory.valid_from, until(memory), name, kind))
                )
    return tasks, ends


def period_kinds(context: JobContext) -> list[PeriodKind]:
    wanted: tuple[tuple[PeriodKind, bool], ...] = (
        ("day", context.options.days),
        ("week", context.options.weeks),
    )
    return [kind for kind, is_wanted in wanted if is_wanted]


def period_task(scope: str, period: Period) -> Task:
    return PURPOSES[period.kind].task(scope, f"{period.kind}/{period.name}", period.end)


# ------------------------------------------------------------------- topics


def topic_subject(id: str, name: str, parts: Sequence[Memory]) -> Subject:
    subject = _subject_of_summaries(id, TOPIC, parts, until=max(map(until, parts)))
    return replace(subject, name=name)


def group_task(scope: str, now: datetime) -> Task:
    return new_task("topics", scope, GROUP_TOPICS, now, TOPICS_RANK)


# ------------------------------------------------------------------- subjects


def _subject_of_turns(id: str, kind: str, turns: Sequence[Turn], snapshot: Snapshot) -> Subject:
    chunks = (snapshot.memory(turn.scope, chunk_id(turn.id)) for turn in turns)
    return Subject(
        id=id,
        kind=kind,
        scope=turns[0].scope,
        start=turns[0].at,
        until=turns[-1].at,
        sources=tuple(turn.id for turn in turns),
        digest=digest_of(VERSION, of_turns(turns)),
        turns=len(turns),
        local_only=any(memory is not None and memory.local_only for memory in chunks),
    )


def _subject_of_summaries(
    id: str,
    kind: str,
    parts: Sequence[Memory],
    *,
    until: datetime,
    start: datetime | None = None,
    turns: int | None = None,
) -> Subject:
    counted = sum(int(memory.facets.get("turns", 0)) for memory in parts)
    return Subject(
        id=id,
        kind=kind,
        scope=parts[0].scope,
        start=start or parts[0].valid_from,
        until=until,
        sources=tuple(sorted({turn for memory in parts for turn in memory.sources})),
        digest=digest_of(VERSION, of_summaries(parts)),
        covers=tuple(memory.id for memory in parts),
        turns=counted if turns is None else turns,
        local_only=any(memory.local_only for memory in parts),
    )


def _ids(memories: Sequence[Memory]) -> tuple[str, ...]:
    return tuple(memory.id for memory in memories)


def _as_turns(memories: Sequence[Memory]) -> list[Turn]:
    return [as_turn(memory, number) for number, memory in enumerate(memories, start=1)]


# ------------------------------------------------------------------- the table

PURPOSES = {
    "session": SummaryPurpose(
        job="session_summary", prompt=prompt.SESSION, rank=45,
        read=_read_session, due=_session_due, wait=True, follow_up=_after_session,
    ),
    "window": SummaryPurpose(
        job="window_summary", prompt=prompt.WINDOW, rank=47,
        read=_read_window, due=_windows_due, follow_up=_after_window,
    ),
    "meta": SummaryPurpose(
        job="meta_summary", prompt=prompt.ROLLUP, rank=48,
        read=_read_meta, due=_metas_due,
    ),
    "day": SummaryPurpose(
        job="rollups", prompt=prompt.ROLLUP, rank=55, read=_read_period,
    ),
    "week": SummaryPurpose(
        job="rollups", prompt=prompt.ROLLUP, rank=60, read=_read_period,
    ),
}  # fmt: skip
