"""The last sessions of a namespace with their turns and summaries, for the reflection jobs."""

from collections.abc import Iterable

from slowcat_memory.core.blocks.rules import SUMMARY, SessionView
from slowcat_memory.core.memory.chunk import chunk_id
from slowcat_memory.records import Memory, Session, Turn
from slowcat_memory.store import Snapshot

MOST_TURNS = 400  # of one session


def recent_sessions(
    snapshot: Snapshot, scope: str, memories: Iterable[Memory], most: int
) -> list[SessionView]:
    """Return the last sessions of a namespace that have ended, the earliest first.

    Turns and summaries that are retired or local-only are left out: blocks go to any LLM.
    """
    ended = [one for one in snapshot.sessions(scope) if one.ended is not None and one.turns]
    summaries = [m for m in memories if m.kind == SUMMARY and not m.retired_at]
    return [
        SessionView(
            at=one.started,
            turns=tuple(readable_turns(snapshot, one)),
            summary=summary_of(one, summaries),
        )
        for one in (ended[-most:] if most else [])
    ]


def summary_of(session: Session, summaries: Iterable[Memory]) -> Memory | None:
    """Return the latest summary of a session, None without any."""
    found = [m for m in summaries if not m.local_only and _is_of(m, session)]
    return max(found, key=lambda m: (m.recorded_at or m.valid_from, m.id), default=None)


def _is_of(memory: Memory, session: Session) -> bool:
    if memory.id == f"{SUMMARY}/{session.id}":
        return True
    return any(session.first_turn <= turn <= session.last_turn for turn in memory.sources)


def readable_turns(snapshot: Snapshot, session: Session) -> list[Turn]:
    """Return a session's readable turns in order; of a very long one the latest."""
    first = max(session.first_turn, session.last_turn - 2 * MOST_TURNS)
    found = snapshot.turns(session.scope, first - 1, session.last_turn)
    return [t for t in found if t.session == session.id and not t.aside and _readable(snapshot, t)]


def _readable(snapshot: Snapshot, turn: Turn) -> bool:
    memory = snapshot.memory(turn.scope, chunk_id(turn.id))
    return memory is None or not (memory.retired_at or memory.local_only)
