"""The namespaces that changed since a job last looked, so that it skips the others."""

from collections.abc import Iterable

from msgspec import Struct

from slowcat_memory.records import Cursor
from slowcat_memory.store import Snapshot

FAR = 5_000  # events; with more, looking at every namespace is cheaper than reading them


class Seen(Struct, frozen=True):
    """How far a job has looked.

    Attributes:
        events: Id of the log's last event.
        changes: Number of the last change of memories and vectors.
        mark: Anything else that must not have changed, in the job's own format.
    """

    events: int
    changes: int
    mark: str


def now_seen(snapshot: Snapshot, mark: str = "") -> Seen:
    """Return the state of the store as a job sees it now."""
    return Seen(snapshot.last_id(), snapshot.last_change(), mark)


def cursor_of(job: str, seen: Seen) -> Cursor:
    """Return the cursor that stores how far a job has looked."""
    return Cursor(name=job, position=seen.events, note=f"{seen.changes} {seen.mark}")


def touched(
    snapshot: Snapshot,
    job: str,
    mark: str,
    scopes: Iterable[str],
    ignoring: str = "\0",
    *,
    made: bool = True,
) -> list[str]:
    """Return the namespaces with new turns or changed memories since a job's cursor.

    Args:
        mark: As in ``Seen``; if it differs, every namespace counts.
        ignoring: Prefix of the ids that this job makes itself; they count only if the user made
            them.
        made: Whether memories and vectors count, besides turns.

    Returns:
        Those namespaces, in order; all of them if the job has no cursor yet.
    """
    cursor = snapshot.cursor(job)
    if cursor is None or snapshot.last_id() - cursor.position > FAR:
        return list(scopes)
    changes, _, before = cursor.note.partition(" ")
    if before != mark:
        return list(scopes)
    said = {event.scope for event in snapshot.events(after=cursor.position)}
    return [
        scope
        for scope in scopes
        if scope in said or (made and _changed(snapshot, scope, int(changes), ignoring))
    ]


def _changed(snapshot: Snapshot, scope: str, after: int, ignoring: str) -> bool:
    """Return whether memories or vectors changed; publishing an index prunes older changes."""
    manifest = snapshot.manifest(scope)
    if manifest and manifest.changes > after:
        return True
    return any(
        not id_.startswith(ignoring) or _by_hand(snapshot, scope, id_)
        for id_ in snapshot.changed(scope, after)
    )


def _by_hand(snapshot: Snapshot, scope: str, id_: str) -> bool:
    """Return whether the user wrote a memory; they may have given it back to the job."""
    memory = snapshot.memory(scope, id_)
    return memory is not None and memory.made is None and memory.retired_at is None
