"""Which namespaces have changed since a job looked last; so a job never reads those at rest."""

from collections.abc import Iterable

from msgspec import Struct

from slowcat_memory.records import Cursor
from slowcat_memory.store import Snapshot

FAR = 5_000  # events behind which it is cheaper to look at every namespace than to read them


class Seen(Struct, frozen=True):
    """What a job knew when it looked last.

    Attributes:
        events: Id of the log's last event.
        changes: Number of the last change of memories and vectors.
        mark: What else must not have changed, in the job's own words.
    """

    events: int
    changes: int
    mark: str


def now_seen(snapshot: Snapshot, mark: str = "") -> Seen:
    """Tell what there is to know now.

    Args:
        snapshot: The store.
        mark: In the job's own words.

    Returns:
        What a cursor keeps.
    """
    return Seen(snapshot.last_id(), snapshot.last_change(), mark)


def cursor_of(job: str, seen: Seen) -> Cursor:
    """Write down what a job has seen.

    Args:
        job: Whose cursor.
        seen: What it knows.

    Returns:
        The cursor.
    """
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
    """List the namespaces in which anything was said, made or taken away since.

    Args:
        snapshot: The store.
        job: Whose cursor tells since when.
        mark: As in ``Seen``; where it differs, every namespace counts.
        scopes: Of these.
        ignoring: How the ids begin of what does not count where a job made it: what this one
            makes itself.
        made: Whether memories and vectors count, beside what was said.

    Returns:
        Those, in order; all of them before the cursor's first move.
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
    """Tell whether memories or vectors changed; those before an index was published are pruned."""
    manifest = snapshot.manifest(scope)
    if manifest and manifest.changes > after:
        return True
    return any(
        not id_.startswith(ignoring) or _by_hand(snapshot, scope, id_)
        for id_ in snapshot.changed(scope, after)
    )


def _by_hand(snapshot: Snapshot, scope: str, id_: str) -> bool:
    """Tell whether a person wrote what stands there: they may have given it back."""
    memory = snapshot.memory(scope, id_)
    return memory is not None and memory.made is None and memory.retired_at is None
