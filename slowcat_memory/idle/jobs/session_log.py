"""Reads sessions from the log: which have new turns, and which of their turns an LLM may see.

A job's cursor has the log id that it has read up to. Sessions that continue stay in the cursor,
with their first turn that was not planned for.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta
from itertools import chain, islice

from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory.core.blocks.rules import SUMMARY, SessionView
from slowcat_memory.core.disclosure import is_withheld
from slowcat_memory.core.extraction.known import KNOWN_TOKENS, Known
from slowcat_memory.core.graph.known_names import KnownIndex
from slowcat_memory.core.memory import NOTE, chunk_id
from slowcat_memory.idle.job import (
    Job,
    JobContext,
    Needs,
    NoOptions,
    Plan,
    Trigger,
    cursor_at,
    new_task,
    payload_of,
)
from slowcat_memory.records import Cursor, Memory, Session, Task, Turn
from slowcat_memory.store import Snapshot

EVENTS_PER_PLAN = 1000  # of the log, which takes about 20 ms
SHARE_OF_PROMPT = 16  # what is known takes at most this part of what an LLM reads
SESSION_REST = timedelta(seconds=300)  # a session that is silent this long counts as ended


class Progress(Struct, frozen=True, omit_defaults=True):
    """How far the log was read; a cursor's payload, as JSON.

    Attributes:
        upto: The log id read up to; in a cursor, its position.
        open: By id of an open session, its first turn not planned for.
        version: Of the prompt and whatever else makes a job read everything again.
        epoch: The forget epoch.
    """

    upto: int = 0
    open: dict[str, int] = {}
    version: str = ""
    epoch: int = 0


def visible_turns(
    snapshot: Snapshot,
    session: Session,
    context: JobContext | None,
    first: int = 0,
    last: int | None = None,
) -> list[Turn]:
    """Return the turns of a session that the LLM may see, in order.

    Excluded are voice commands, retired and muted turns, and local-only turns when the LLM runs on
    another machine, or ``context`` is None: what is made of them is sent to any LLM. A step passes
    ``first`` and ``last``, log ids: reading all of a long session in each of its steps would take
    the square of its length.
    """
    after = max(first, session.first_turn) - 1
    upto = session.last_turn if last is None else min(last, session.last_turn)
    return list(_visible(snapshot, session, context, after, upto))


def turns_around(
    snapshot: Snapshot, session: Session, context: JobContext, asked: range, before: int, after: int
) -> list[Turn]:
    """Return the visible turns with ids in ``asked``, and some before and after them."""
    start, rest = asked.start, before
    while rest and (id := snapshot.turn_before(session.scope, session.id, start)):
        start, turn = id, snapshot.turn(id)
        rest -= turn is not None and _is_visible(snapshot, turn, context)
    turns = visible_turns(snapshot, session, context, start, asked.stop - 1)
    following = _visible(snapshot, session, context, asked.stop - 1, session.last_turn)
    return [*turns, *islice(following, after)]


def _visible(
    snapshot: Snapshot, session: Session, context: JobContext | None, after: int, upto: int
) -> Iterator[Turn]:
    for turn in snapshot.turns(session.scope, after, upto):
        if turn.session == session.id and _is_visible(snapshot, turn, context):
            yield turn


def _is_visible(snapshot: Snapshot, turn: Turn, context: JobContext | None) -> bool:
    memory = snapshot.memory(turn.scope, chunk_id(turn.id))
    if turn.aside or memory is None:
        return not turn.aside
    remote = context is None or context.remote
    return not (memory.retired_at or memory.muted or (remote and memory.local_only))


def may_see(memories: Sequence[Memory], context: JobContext) -> list[Memory]:
    """Return the memories that the LLM may see: no muted ones, nor local-only ones elsewhere."""
    remote = context.remote
    return [m for m in memories if not (m.muted or (remote and m.local_only))]


def known_before(turns: Sequence[Turn], context: JobContext) -> Known:
    """Return who and what was known before some turns of one namespace, at least one."""
    with context.snapshot() as snapshot:
        index = context.view(KnownIndex, snapshot, turns[0].scope)
    return index.before(
        turns, context.zone, min(KNOWN_TOKENS, context.prompt_tokens // SHARE_OF_PROMPT)
    )


MOST_TURNS = 400  # of one session


def recent_sessions(
    snapshot: Snapshot, scope: str, memories: Iterable[Memory], most: int
) -> list[SessionView]:
    """Return the last sessions of a namespace that have ended, the earliest first.

    Turns and summaries that are retired or local-only are excluded: blocks are sent to any LLM.
    """
    ended = [row for row in snapshot.sessions(scope) if row.ended is not None and row.turns]
    shown = (m for m in memories if m.kind == SUMMARY and not (m.retired_at or is_withheld(m)))
    summaries = {memory.id: memory for memory in shown}
    return [
        SessionView(
            at=session.started,
            turns=tuple(visible_turns(snapshot, session, None, session.last_turn - 2 * MOST_TURNS)),
            summary=summaries.get(f"{SUMMARY}/{session.id}"),
        )
        for session in (ended[-most:] if most else [])
    ]


def user_of(snapshot: Snapshot, scope: str) -> str:
    """Return what a scope's user is called: as in the latest turn that no recogniser named.

    Without such a turn, as in the latest turn, or in a note.
    """
    latest = islice(snapshot.latest_turns(scope), MOST_TURNS)
    turns = sorted((t for t in latest if t.role == "user"), key=lambda t: not t.unnamed)
    notes = (note.speaker for note in snapshot.memories(scope, f"{NOTE}/"))
    return next(chain((turn.speaker for turn in turns), notes), "User")


class SessionJob(Job):
    """Base of the jobs that work on sessions one by one, each once it was read; see ``Job``.

    Attributes:
        wait: Whether it waits until a session has ended, or is silent.
        whole: Whether a long session is due once, not for each part of the log.
    """

    trigger = Trigger(session_end=True, every_s=300.0)
    wait = whole = True

    def mark(self, snapshot: Snapshot, context: JobContext) -> str:
        """Return what makes all sessions due again when it changes."""
        return str(self.version)

    def cursors(self, context: JobContext) -> tuple[str, ...]:
        """Return the name of the cursor to move, and of others that may be further on."""
        return (self.name,)

    def due(
        self, snapshot: Snapshot, session: Session, new: range, context: JobContext
    ) -> Iterable[Task]:
        """Return the tasks of a session with new turns in a range of log ids."""
        raise NotImplementedError

    def plan(self, context: JobContext) -> Plan | None:
        names = self.cursors(context)
        with context.snapshot() as snapshot:
            mark = self.mark(snapshot, context)
            furthest = max((_progress(snapshot, n, mark) for n in names), key=lambda row: row.upto)
            sessions, progress = self._unread(snapshot, furthest, context)
            tasks = [
                task
                for session, first in sessions
                for task in self.due(snapshot, session, range(first, progress.upto + 1), context)
            ]
            kept = replace(progress, upto=0, epoch=snapshot.forget_epoch())
            cursor = cursor_at(names[0], progress.upto, kept)
            moves = cursor != snapshot.cursor(names[0])
        return Plan(tasks=tuple(tasks), cursor=cursor) if moves else None

    def _unread(
        self, snapshot: Snapshot, progress: Progress, context: JobContext
    ) -> tuple[list[tuple[Session, int]], Progress]:
        """Return the sessions with new turns, each with its first new turn, and the progress made."""
        upto, first, scopes = progress.upto, dict(progress.open), set(context.scopes())
        for event in islice(snapshot.events(after=upto), EVENTS_PER_PLAN):
            upto = event.id
            if isinstance(event, Turn) and event.scope in scopes:
                first.setdefault(event.session, event.id)
        rows, open = list[tuple[Session, int]](), dict[str, int]()
        for id, turn in first.items():
            session = snapshot.session(id)
            if session is None:
                continue
            unread = self.whole and session.last_turn > upto
            goes_on = session.ended is None and context.now - session.last < SESSION_REST
            if unread or (self.wait and goes_on):
                open[id] = turn
            else:
                rows.append((session, turn))
        return rows, replace(progress, upto=upto, open=open)


def _progress(snapshot: Snapshot, name: str, mark: str) -> Progress:
    """Return how far a cursor has read the log; nothing if it did so under another mark."""
    cursor = snapshot.cursor(name)
    progress = payload_of(cursor, Progress)
    if cursor is None or progress is None or progress.version != mark:
        return Progress(version=mark)
    return replace(progress, upto=cursor.position)


FAR = 5_000  # events; with more, checking every namespace is cheaper than reading them


def cursor_of(job: str, snapshot: Snapshot, mark: str = "") -> Cursor:
    """Return the position of a job that has read everything up to now.

    Args:
        mark: Anything else that must not have changed, in the job's own format.
    """
    return Cursor(name=job, position=snapshot.last_id(), note=f"{snapshot.last_change()} {mark}")


class ScopeJob(Job):
    """Base of the jobs that work on a namespace as a whole, once it changed; see ``Job``.

    Attributes:
        rank: Of its tasks.
        writes: Beginnings of the ids that it writes, which count as a change only by the user's hand.
        more: As in ``Plan``.
    """

    rank: int
    writes: str | tuple[str, ...] = ()
    more = True
    needs: Needs = "nothing"
    trigger = Trigger(session_end=True, every_s=600.0)
    Options: type[Struct] = NoOptions

    def due(self, snapshot: Snapshot, scope: str, context: JobContext) -> Iterable[tuple[str, int]]:
        """Return the keys and ranks of a namespace's tasks."""
        return ((self.name, self.rank),)

    def mark(self, snapshot: Snapshot, context: JobContext) -> str:
        """Return what makes all namespaces due when it changes.

        With a forget or another embedding model, and daily: statements hold from or until a day.
        """
        day = context.now.astimezone(context.zone).date()
        return f"{self.version}.{snapshot.forget_epoch()} {day} {context.space}"

    def plan(self, context: JobContext) -> Plan | None:
        """Plan tasks for each namespace that changed."""
        with context.snapshot() as snapshot:
            mark = self.mark(snapshot, context)
            scopes = touched(snapshot, self.name, mark, context.scopes(), self.writes)
            cursor = cursor_of(self.name, snapshot, mark)
            if snapshot.cursor(self.name) == cursor:
                return None
            # With the mark as its note, a task that was given up is tried again under another.
            tasks = [
                new_task(self.name, scope, key, context.now, rank, note=mark)
                for scope in scopes
                for key, rank in self.due(snapshot, scope, context)
            ]
        return Plan(tasks=tuple(tasks), cursor=cursor, more=self.more)


def touched(
    snapshot: Snapshot,
    job: str,
    mark: str,
    scopes: Iterable[str],
    ignoring: str | tuple[str, ...],
) -> list[str]:
    """Return the namespaces with new turns or changed memories since a job's cursor, in order.

    All namespaces if the job has no cursor yet.

    Args:
        mark: As in ``cursor_of``; if it differs, every namespace counts.
        ignoring: Beginnings of the ids that this job writes; they count only if the user wrote them.
    """
    cursor = snapshot.cursor(job)
    if cursor is None or snapshot.last_id() - cursor.position > FAR:
        return list(scopes)
    changes, _, before = cursor.note.partition(" ")
    if before != mark:
        return list(scopes)
    heard = {event.scope for event in snapshot.events(after=cursor.position)}
    return [
        scope
        for scope in scopes
        if scope in heard or _changed(snapshot, scope, int(changes), ignoring)
    ]


def _changed(snapshot: Snapshot, scope: str, after: int, ignoring: str | tuple[str, ...]) -> bool:
    """Return whether memories or vectors changed; publishing an index prunes older changes."""
    manifest = snapshot.manifest(scope)
    if manifest and manifest.changes > after:
        return True
    return any(
        not id_.startswith(ignoring) or _by_hand(snapshot, scope, id_)
        for id_ in snapshot.changed(scope, after)
    )


def _by_hand(snapshot: Snapshot, scope: str, id_: str) -> bool:
    """Return whether the user wrote a memory; they may have released it to the job."""
    memory = snapshot.memory(scope, id_)
    return memory is not None and memory.made is None and memory.retired_at is None
