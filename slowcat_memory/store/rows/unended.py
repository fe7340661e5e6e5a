"""Which sessions have not ended: so that who opens a store need not look at every session."""

from slowcat_memory.records import Session
from slowcat_memory.store.disk.tables import NEXT_ID, UNENDED
from slowcat_memory.store.disk.transaction import Transaction


def track(before: Session | None, after: Session | None, id: str, tx: Transaction) -> None:
    """Take note of a session's new state.

    Args:
        before: Its row until now, None when there was none.
        after: Its row from now on, None when it is gone.
        id: The session.
        tx: Takes the change; a store of a version that took no note never begins to.
    """
    was, is_now = (row is not None and row.ended is None for row in (before, after))
    if was == is_now:
        return
    known = tx.meta(UNENDED, [] if tx.meta(NEXT_ID, 1) == 1 else None)
    if known is not None:
        others = [session for session in known if session != id]
        tx.set_meta(UNENDED, [*others, id] if is_now else others)
