"""What each kind of write means in rows: a record in, changes in an ``Edit`` out.

Nothing here touches the disk. What is forgotten does not come back: a memory made from a forgotten
turn, a vector or an offer of a forgotten memory is left out, because the step that made it may
have begun before the forgetting (see ``subjects``).
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

from msgspec.structs import replace

from slowcat_memory.core.memory.chunk import turn_of
from slowcat_memory.core.text.normalize import digest
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
from slowcat_memory.store.disk import codec, keys
from slowcat_memory.store.disk.tables import EMBEDDERS, EPOCH, NEXT_ID
from slowcat_memory.store.disk.transaction import Edit
from slowcat_memory.store.rows import annotations, change_log, tasks, unended
from slowcat_memory.store.rows.sessions import fold
from slowcat_memory.store.rows.subjects import (
    any_forgotten,
    drop_vectors,
    is_there,
    names_forgotten,
    text_of,
)

V = TypeVar("V", Vector, TokenVectors)


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
    done = tasks.done(batch, edit)
    tasks.log(batch, done, edit)
    if not done:
        return
    for scope, memory in batch.drop:
        drop_memory(scope, memory, edit)
    for record in batch.memories:
        if not _is_forgotten(record, edit):
            _put_memory(record, edit)
    annotations.put(batch, edit)
    if batch.vectors:
        _put_vectors(batch.embedder, batch.vectors, codec.encode_vector, edit)
    if batch.tokens:
        _put_vectors(batch.token_key, batch.tokens, codec.encode_tokens, edit)
    change_log.note(batch, edit)
    move(batch.cursor, edit)
    if batch.command is not None:
        edit.write_record("commands", keys.id_key(batch.command.id), batch.command)
    tasks.ask(batch, edit)


def _put_memory(memory: Memory, edit: Edit) -> None:
    """Put a memory. A chunk's context has a row of its own, and may be gone by tomorrow.

    A vector was made of one text: it goes when that text changes.
    """
    kept = replace(memory, context="") if turn_of(memory.id) else memory
    before = text_of(memory.scope, memory.id, edit) if edit.meta(EMBEDDERS, {}) else ""
    edit.write_record("memories", keys.scoped_key(memory.scope, memory.id), kept)
    if before and text_of(memory.scope, memory.id, edit) != before:
        drop_vectors(memory.scope, memory.id, edit)


def drop_memory(scope: str, memory: str, edit: Edit) -> None:
    """Take a memory away with what places it, its keys, and the vectors of it and of them.

    Args:
        scope: Its namespace.
        memory: Its id.
        edit: Takes the changes.
    """
    edit.drop("memories", keys.scoped_key(scope, memory))
    annotations.drop(scope, memory, edit)
    drop_vectors(scope, memory, edit)


def _put_vectors(
    embedder: str, vectors: Sequence[V], encode: Callable[[bytes, V], bytes], edit: Edit
) -> None:
    """Put rows into a space; one of tokens is a space like any other, with a key of its own."""
    known = edit.meta(EMBEDDERS, {})
    digest = keys.embedder_hash(embedder).hex()
    if digest not in known:
        edit.set_meta(EMBEDDERS, {**known, digest: embedder})
    for vector in vectors:
        if _has_subject(vector, edit) and _is_fresh(vector, edit):
            key = keys.vector_key(embedder, vector.scope, vector.memory)
            edit.put("vectors", key, encode(key, vector))


def _has_subject(vector: Vector | TokenVectors, edit: Edit) -> bool:
    """Tell whether what the vector stands for is there: text can be guessed from a vector."""
    scope, id = vector.scope, vector.memory
    return is_there(scope, id, edit) or edit.get("keys", keys.scoped_key(scope, id)) is not None


def _is_fresh(vector: Vector | TokenVectors, edit: Edit) -> bool:
    """Tell whether a vector's text is still that which it was made of."""
    return not vector.of or digest(text_of(vector.scope, vector.memory, edit)) == vector.of


def _is_forgotten(memory: Memory, edit: Edit) -> bool:
    return names_forgotten(memory.scope, memory.id, edit) or any_forgotten(memory.sources, edit)


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


def trim(table: str, keep: int, edit: Edit) -> None:
    """Take away a ring's oldest rows when new ones exceed it.

    Args:
        table: The ring; its keys are numbers.
        keep: How many rows stay.
        edit: Everything else of the transaction is in it already.
    """
    fresh = edit.puts(table)
    if not fresh:
        return
    cursor = edit.txn.cursor(edit.handles[table])
    rows = edit.txn.stat(edit.handles[table])["entries"] + len(fresh)
    if rows <= keep:
        return
    oldest_first = sorted(fresh.union(cursor.iternext(values=False)))
    for key in oldest_first[: max(0, len(oldest_first) - keep)]:
        edit.drop(table, key)


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
    change_log.drop(manifest.scope, manifest.changes, edit)


def unpublish(scope: str, edit: Edit) -> None:
    """No longer vouch for an index.

    Args:
        scope: Its namespace.
        edit: Takes the change.
    """
    edit.drop("manifest", keys.name_key(scope))
