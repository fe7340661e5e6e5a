"""What jobs that look back share: the last sessions, their turns, and what was noted of them."""

from collections.abc import Iterable

from slowcat_memory.core.blocks.rules import SUMMARY, SessionView
from slowcat_memory.core.memory.chunk import chunk_id
from slowcat_memory.records import Memory, Session, Turn
from slowcat_memory.store import Snapshot

MOST_TURNS = 400  # of one session: what tells stands in the beginning and in the end alike


def heard(
    snapshot: Snapshot, scope: str, memories: Iterable[Memory], most: int
) -> list[SessionView]:
    """Read the last sessions of a namespace that have ended.

    Args:
        snapshot: The store.
        scope: The namespace.
        memories: Its memories.
        most: How many sessions.

    Returns:
        The earliest first, without what people took out of recall, or keep to this machine: blocks
        are told to any LLM.
    """
    ended = [one for one in snapshot.sessions(scope) if one.ended is not None and one.turns]
    summaries = [m for m in memories if m.kind == SUMMARY and not m.retired_at]
    return [
        SessionView(
            at=one.started,
            turns=tuple(told_turns(snapshot, one)),
            summary=summary_of(one, summaries),
        )
        for one in (ended[-most:] if most else [])
    ]


def summary_of(session: Session, summaries: Iterable[Memory]) -> Memory | None:
    """Find what was noted of a session, None when nothing was."""
    found = [m for m in summaries if not m.local_only and _is_of(m, session)]
    return max(found, key=lambda m: (m.recorded_at or m.valid_from, m.id), default=None)


def _is_of(memory: Memory, session: Session) -> bool:
    if memory.id == f"{SUMMARY}/{session.id}":
        return True
    return any(session.first_turn <= turn <= session.last_turn for turn in memory.sources)


def told_turns(snapshot: Snapshot, session: Session) -> list[Turn]:
    """Read the turns of a session that may be looked at.

    Args:
        snapshot: The store.
        session: The session.

    Returns:
        In order; the latest of a very long one.
    """
    first = max(session.first_turn, session.last_turn - 2 * MOST_TURNS)
    found = snapshot.turns(session.scope, first - 1, session.last_turn)
    return [t for t in found if t.session == session.id and not t.aside and _open(snapshot, t)]


def _open(snapshot: Snapshot, turn: Turn) -> bool:
    memory = snapshot.memory(turn.scope, chunk_id(turn.id))
    return memory is None or not (memory.retired_at or memory.local_only)
