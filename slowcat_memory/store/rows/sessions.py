"""What the log says about a session, kept up one event at a time.

Pure: the row of a session is the fold of its events in log order, so forgetting some of them and
folding the rest gives what the row would be had they never been said.
"""

from msgspec.structs import replace

from slowcat_memory.records import Event, Session, Turn


def fold(row: Session | None, event: Event) -> Session:
    """Take one more event into a session's row.

    Args:
        row: The row so far, None before the first event.
        event: The next event of the session.

    Returns:
        The new row.
    """
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
