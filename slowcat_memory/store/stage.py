"""What each kind of write means in rows: a record in, changes in an ``Edit`` out.

Nothing here touches the disk. What is forgotten does not come back: a memory made from a forgotten
turn, a vector or an offer of a forgotten memory is left out, because the step that made it may
have begun before the forgetting.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

from msgspec.structs import replace

from slowcat_memory.errors import StoreError
from slowcat_memory.records import (
    Cursor,
    Event,
    LedgerEntry,
    Manifest,
    Memory,
    Session,
    TokenVectors,
    Vector,
    WriteBatch,
)
from slowcat_memory.store import changes, codec, keys, unended
from slowcat_memory.store.edit import Edit
from slowcat_memory.store.places import EVENTS
from slowcat_memory.store.schema import EMBEDDERS, EPOCH, NEXT_ID
from slowcat_memory.store.sessions import fold

CHUNK = "chunk/"
V = TypeVar("V", Vector, TokenVectors)


def chunk_id(turn: int) -> str:
    """Return the id of a turn's chunk.

    Args:
        turn: The turn's log id.

    Returns:
        The memory id.
    """
    return f"{CHUNK}{turn}"


def turn_of(memory: str) -> int:
    """Return the turn that a chunk stands for.

    Args:
        memory: A memory's id.

    Returns:
        The turn's log id, 0 when it is no chunk's id.
    """
    number = memory.removeprefix(CHUNK)
    return int(number) if number != memory and number.isdecimal() else 0


# ------------------------------------------------------------------- events


def append(events: Sequence[Event], cursor: Cursor | None, edit: Edit) -> None:
    """Write numbered events, and with them everything that follows from them at once.

    Args:
        events: In log order.
        cursor: Moved along.
        edit: Takes the changes.

    Raises:
        ValueError: A key cannot be made, or a record is too large.
    """
    for event in events:
        key = keys.id_key(event.id)
        edit.write_record("log", key, event)
        scoped = keys.scoped_id_key(event.scope, event.id)
        edit.put("log_by_scope", scoped, codec.seal(scoped))
        session = keys.name_key(event.session)
        before = edit.read(Session, "sessions", session)
        after = fold(before, event)
        edit.write_record("sessions", session, after)
        unended.track(before, after, event.session, edit)
    if events:
        edit.set_meta(NEXT_ID, max(edit.meta(NEXT_ID, 1), events[-1].id + 1))
    move(cursor, edit)


def move(cursor: Cursor | None, edit: Edit) -> None:
    """Move a cursor.

    Args:
        cursor: Where to; None moves nothing.
        edit: Takes the change.
    """
    if cursor is not None:
        edit.write_record("cursors", keys.name_key(cursor.name), cursor)


# ------------------------------------------------------------------- what a step derived


def apply(batch: WriteBatch, edit: Edit) -> None:
    """Write everything that one step changes: first what it drops, then what it puts.

    Args:
        batch: The step's outcome.
        edit: Takes the changes.

    Raises:
        ValueError: A key cannot be made, or a record is too large.
    """
    for scope, memory in batch.drop:
        drop_memory(scope, memory, edit)
    for record in batch.memories:
        if not _is_forgotten(record, edit):
            edit.write_record("memories", keys.scoped_key(record.scope, record.id), record)
    if batch.vectors:
        _put_vectors(batch.embedder, batch.vectors, codec.encode_vector, edit)
    if batch.tokens:
        _put_vectors(batch.token_key, batch.tokens, codec.encode_tokens, edit)
    changes.note(batch, edit)
    move(batch.cursor, edit)
    if batch.command is not None:
        edit.write_record("commands", keys.id_key(batch.command.id), batch.command)


def drop_memory(scope: str, memory: str, edit: Edit) -> None:
    """Take a memory away with its vectors by every embedder.

    Args:
        scope: Its namespace.
        memory: Its id.
        edit: Takes the changes.
    """
    edit.drop("memories", keys.scoped_key(scope, memory))
    for embedder in embedders(edit):
        edit.drop("vectors", keys.vector_key(embedder, scope, memory))


def embedders(edit: Edit) -> list[str]:
    """Return the key of every embedder that ever made a vector here.

    Args:
        edit: To read from.

    Returns:
        Keys.
    """
    return list(edit.meta(EMBEDDERS, {}).values())


def _put_vectors(
    embedder: str, vectors: Sequence[V], encode: Callable[[bytes, V], bytes], edit: Edit
) -> None:
    """Put rows into a space; one of tokens is a space like any other, with a key of its own."""
    known = edit.meta(EMBEDDERS, {})
    digest = keys.embedder_hash(embedder).hex()
    if digest not in known:
        edit.set_meta(EMBEDDERS, {**known, digest: embedder})
    for vector in vectors:
        if _has_subject(vector, edit):
            key = keys.vector_key(embedder, vector.scope, vector.memory)
            edit.put("vectors", key, encode(key, vector))


def _has_subject(vector: Vector | TokenVectors, edit: Edit) -> bool:
    """Tell whether what the vector stands for is there: text can be guessed from a vector."""
    turn = turn_of(vector.memory)
    if turn and any(edit.get(table, keys.id_key(turn)) is not None for table in EVENTS):
        return True
    return edit.get("memories", keys.scoped_key(vector.scope, vector.memory)) is not None


def _is_forgotten(memory: Memory, edit: Edit) -> bool:
    return names_forgotten(memory.scope, memory.id, edit) or any(
        edit.get("tombstones", keys.turn_tombstone(turn)) is not None for turn in memory.sources
    )


def names_forgotten(scope: str, memory: str, edit: Edit) -> bool:
    """Tell whether an id names something forgotten.

    Args:
        scope: The memory's namespace.
        memory: Its id.
        edit: To read from.

    Returns:
        True for a forgotten memory, and for the chunk of a forgotten turn.
    """
    if edit.get("tombstones", keys.memory_tombstone(scope, memory)) is not None:
        return True
    turn = turn_of(memory)
    return turn > 0 and edit.get("tombstones", keys.turn_tombstone(turn)) is not None


# ------------------------------------------------------------------- bookkeeping


def record(entry: LedgerEntry, edit: Edit) -> None:
    """Write what recall did for a turn.

    Args:
        entry: The row; what it says of forgotten memories is left out.
        edit: Takes the change.
    """
    if edit.get("tombstones", keys.turn_tombstone(entry.turn)) is not None:
        return
    kept = without(entry, lambda memory: names_forgotten(entry.scope, memory, edit))
    edit.write_record("ledger", keys.id_key(entry.turn), kept)


def without(entry: LedgerEntry, gone: Callable[[str], bool]) -> LedgerEntry:
    """Take memories out of a row of the ledger, offered or not.

    Args:
        entry: The row.
        gone: Tells whether a memory's id is to go.

    Returns:
        The row without them.
    """
    return replace(
        entry,
        offers=tuple(offer for offer in entry.offers if not gone(offer.memory)),
        left_out=tuple(one for one in entry.left_out if not gone(one.memory)),
        visible=tuple(memory for memory in entry.visible if not gone(memory)),
    )


def trim_ledger(keep: int, edit: Edit) -> None:
    """Take away the oldest ledger rows when new ones exceed the ring.

    Args:
        keep: How many rows stay.
        edit: Everything else of the transaction is in it already.
    """
    fresh = edit.puts("ledger")
    if not fresh:
        return
    cursor = edit.txn.cursor(edit.handles["ledger"])
    rows = edit.txn.stat(edit.handles["ledger"])["entries"] + len(fresh)
    if rows <= keep:
        return
    oldest_first = sorted(fresh.union(cursor.iternext(values=False)))
    for key in oldest_first[: max(0, len(oldest_first) - keep)]:
        edit.drop("ledger", key)


def publish(manifest: Manifest, edit: Edit) -> None:
    """Vouch for an index.

    Args:
        manifest: The row.
        edit: Takes the change.

    Raises:
        StoreError: Something was forgotten since the index was begun, so it may hold it.
    """
    if manifest.forget_epoch != edit.meta(EPOCH, 0):
        raise StoreError(
            f"index {manifest.generation} was built before something was forgotten",
            hint="Build it again.",
        )
    edit.write_record("manifest", keys.name_key(manifest.scope), manifest)
    changes.drop(manifest.scope, manifest.changes, edit)


def unpublish(scope: str, edit: Edit) -> None:
    """No longer vouch for an index.

    Args:
        scope: Its namespace.
        edit: Takes the change.
    """
    edit.drop("manifest", keys.name_key(scope))
