"""Reads sessions from the log: which have new turns, and which of their turns an LLM may see.

A job's cursor has the log id that it has read up to. Sessions that continue stay in the cursor,
with their first turn that was not planned for.
"""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import islice

from msgspec import Struct

from slowcat_memory.core.disclosure import is_derived_local
from slowcat_memory.core.extraction.known import KNOWN_TOKENS, Known
from slowcat_memory.core.graph.known_names import KnownIndex
from slowcat_memory.core.memory import chunk_id
from slowcat_memory.idle.job import JobContext
from slowcat_memory.records import Memory, Session, Turn
from slowcat_memory.store import Snapshot

EVENTS_PER_PLAN = 1000  # of the log, which takes about 20 ms
SHARE_OF_PROMPT = 16  # what is known takes at most this part of what an LLM reads
SESSION_REST = timedelta(seconds=300)  # a session that is silent this long counts as ended


class Progress(Struct, frozen=True, omit_defaults=True):
    """The log id read up to, and by id of an open session, its first turn not planned for."""

    upto: int = 0
    open: dict[str, int] = {}


class SessionsCursor(Struct, frozen=True, omit_defaults=True):
    """A cursor's payload, as JSON.

    Attributes:
        version: Of the prompt and whatever else makes a job read everything again.
        open: As in `Progress`.
    """

    version: str = ""
    open: dict[str, int] = {}


def visible_turns(
    snapshot: Snapshot,
    session: Session,
    context: JobContext,
    first: int = 0,
    last: int | None = None,
) -> list[Turn]:
    """Return the turns of a session that the LLM may see, in order.

    Excluded are voice commands, retired and muted turns, and local-only turns when the LLM runs on another
    machine. A step passes ``first`` and ``last``, log ids: reading all of a long session in each
    of its steps would take the square of its length.
    """
    after = max(first, session.first_turn) - 1
    upto = session.last_turn if last is None else min(last, session.last_turn)
    return list(_visible(snapshot, session, context, after, upto))


def turns_around(
    snapshot: Snapshot, session: Session, context: JobContext, asked: range, before: int, after: int
) -> list[Turn]:
    """Return the visible turns with ids in ``asked``, and some before and after them."""
    start, left = asked.start, before
    while left and (id := snapshot.turn_before(session.scope, session.id, start)):
        start, turn = id, snapshot.turn(id)
        left -= turn is not None and _is_visible(snapshot, turn, context)
    turns = visible_turns(snapshot, session, context, start, asked.stop - 1)
    following = _visible(snapshot, session, context, asked.stop - 1, session.last_turn)
    return [*turns, *islice(following, after)]


def _visible(
    snapshot: Snapshot, session: Session, context: JobContext, after: int, upto: int
) -> Iterator[Turn]:
    for turn in snapshot.turns(session.scope, after, upto):
        if turn.session == session.id and _is_visible(snapshot, turn, context):
            yield turn


def _is_visible(snapshot: Snapshot, turn: Turn, context: JobContext) -> bool:
    return not turn.aside and not _withheld(snapshot, turn, is_remote(context))


def _withheld(snapshot: Snapshot, turn: Turn, remote: bool) -> bool:
    memory = snapshot.memory(turn.scope, chunk_id(turn.id))
    if memory is None:
        return False
    return memory.retired_at is not None or memory.muted or (remote and memory.local_only)


def may_see(memories: Sequence[Memory], context: JobContext) -> list[Memory]:
    """Return the memories that the LLM may see: no muted ones, nor local-only ones elsewhere."""
    remote = is_remote(context)
    return [m for m in memories if not (m.muted or (remote and m.local_only))]


def is_remote(context: JobContext) -> bool:
    """Return whether there is an LLM on another machine."""
    return context.llm is not None and bool(getattr(context.llm, "remote", True))


def read_log(
    snapshot: Snapshot, after: int, open: dict[str, int], scopes: set[str]
) -> tuple[int, dict[str, int]]:
    """Read the next `EVENTS_PER_PLAN` events of the log.

    Return the log id of the last one, and the first new turn by session; sessions of other scopes
    are excluded, those in ``open`` are kept.
    """
    upto, first = after, dict(open)
    for event in islice(snapshot.events(after=after), EVENTS_PER_PLAN):
        upto = event.id
        if isinstance(event, Turn) and event.scope in scopes:
            first.setdefault(event.session, event.id)
    return upto, first


def is_open(session: Session, context: JobContext) -> bool:
    """Return whether a session has neither ended nor been silent for `SESSION_REST`."""
    return session.ended is None and context.now - session.last < SESSION_REST


def read_sessions(
    snapshot: Snapshot,
    progress: Progress,
    context: JobContext,
    *,
    wait: bool = True,
    whole: bool = False,
) -> tuple[list[tuple[Session, int]], Progress]:
    """Return the sessions with new turns, each with its first new turn, and the progress made.

    Args:
        progress: How far the log was read.
        wait: Postpone open sessions.
        whole: Postpone those of which the log is not read to the end, so that a long one is
            returned once, not for each part of the log.
    """
    upto, first = read_log(snapshot, progress.upto, progress.open, set(context.scopes()))
    found, open = list[tuple[Session, int]](), dict[str, int]()
    for id, turn in first.items():
        session = snapshot.session(id)
        if session is None:
            continue
        unread = whole and session.last_turn > upto
        if unread or (wait and is_open(session, context)):
            open[id] = turn
        else:
            found.append((session, turn))
    return found, Progress(upto, open)


class KnownView(KnownIndex):
    """The statements of a namespace; see ``WorkingSet``."""

    def put(self, memory: Memory, snapshot: Snapshot | None = None) -> None:
        if snapshot and is_derived_local(memory, snapshot.memory):
            self.drop(memory.id)
        else:
            super().put(memory)


def known_before(turns: Sequence[Turn], context: JobContext) -> Known:
    """Return who and what was known before some turns of one namespace, at least one."""
    reads = context.llm.prompt_tokens if context.llm else 0
    with context.snapshot() as snapshot:
        index = context.view(KnownView, snapshot, turns[0].scope)
    return index.before(turns, context.zone, min(KNOWN_TOKENS, reads // SHARE_OF_PROMPT))
