"""A session's row: the fold of its events in log order, kept up one event at a time.

So forgetting some events and folding the rest gives the row that there would be without them.
"""

from msgspec.structs import replace

from slowcat_memory.records import Event, Session, Turn
from slowcat_memory.store.disk.tables import NEXT_ID, UNENDED
from slowcat_memory.store.disk.transaction import Transaction


def fold(row: Session | None, event: Event) -> Session:
    """Return a session's row after its next event; ``row`` is None before the first."""
    if row is None:
        row = Session(id=event.session, scope=event.scope, started=event.at, last=event.at)
    if isinstance(event, Turn):
        return _with_turn(row, event)
    if event.kind == "end":
        return replace(row, ended=event.at, reason=event.reason)
    return replace(row, ended=None, reason="")


def _with_turn(row: Session, turn: Turn) -> Session:
    return replace(
        row,
        last=turn.at,
        turns=row.turns + 1,
        first_turn=row.first_turn or turn.id,
        last_turn=turn.id,
    )


def track_unended(before: Session | None, after: Session | None, id: str, tx: Transaction) -> None:
    """Update the list of sessions that have not ended, so that nobody need read every session.

    Args:
        before: The session's row until now, None when there was none.
        after: Its row from now on, None when it is gone.
        id: The session.
        tx: Takes the change; a store of a version without the list never gets one.
    """
    was, is_now = (row is not None and row.ended is None for row in (before, after))
    if was == is_now:
        return
    known = tx.meta(UNENDED, [] if tx.meta(NEXT_ID, 1) == 1 else None)
    if known is not None:
        others = [session for session in known if session != id]
        tx.set_meta(UNENDED, [*others, id] if is_now else others)
