"""What each kind of write means in rows: a record in, changes in an ``Transaction`` out.

Nothing here touches the disk. What is forgotten does not come back: a memory made from a forgotten
turn, a vector or an offer of a forgotten memory is left out, because the step that made it may
have begun before the forgetting (see ``subjects``).
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

from msgspec.structs import replace

from slowcat_memory.core.memory.chunk import turn_of
from slowcat_memory.core.text.digest import digest
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
from slowcat_memory.store.disk.transaction import Transaction
from slowcat_memory.store.rows import annotations, change_log, tasks, unended
from slowcat_memory.store.rows.sessions import fold
from slowcat_memory.store.rows.subjects import (
    any_forgotten,
    drop_vectors,
    exists,
    names_forgotten,
    text_of,
)

V = TypeVar("V", Vector, TokenVectors)


# ------------------------------------------------------------------- events


def append(events: Sequence[Event], cursor: Cursor | None, tx: Transaction) -> None:
    """Write numbered events, and with them everything that follows from them at once.

    Args:
        events: In log order.
        cursor: Moved along.
        tx: Takes the changes.

    Raises:
        ValueError: A key cannot be made, or a record is too large.
    """
    for event in events:
        key = keys.id_key(event.id)
        tx.write_record("log", key, event)
        scoped = keys.scoped_id_key(event.scope, event.id)
        tx.put("log_by_scope", scoped, codec.seal(scoped))
        session = keys.name_key(event.session)
        before = tx.read(Session, "sessions", session)
        after = fold(before, event)
        tx.write_record("sessions", session, after)
        unended.track(before, after, event.session, tx)
    if events:
        tx.set_meta(NEXT_ID, max(tx.meta(NEXT_ID, 1), events[-1].id + 1))
    move(cursor, tx)


def move(cursor: Cursor | None, tx: Transaction) -> None:
    """Move a cursor.

    Args:
        cursor: Where to; None moves nothing.
        tx: Takes the change.
    """
    if cursor is not None:
        tx.write_record("cursors", keys.name_key(cursor.name), cursor)


# ------------------------------------------------------------------- what a step derived


def apply(batch: WriteBatch, tx: Transaction) -> None:
    """Write everything that one step changes: first what it drops, then what it puts.

    Args:
        batch: The step's outcome.
        tx: Takes the changes.

    Raises:
        ValueError: A key cannot be made, or a record is too large.
    """
    done = tasks.done(batch, tx)
    tasks.log(batch, done, tx)
    if not done:
        return
    for scope, memory in batch.drop:
        drop_memory(scope, memory, tx)
    for record in batch.memories:
        if not _is_forgotten(record, tx):
            _put_memory(record, tx)
    annotations.put(batch, tx)
    if batch.vectors:
        _put_vectors(batch.embedder, batch.vectors, codec.encode_vector, tx)
    if batch.tokens:
        _put_vectors(batch.token_key, batch.tokens, codec.encode_tokens, tx)
    change_log.note(batch, tx)
    move(batch.cursor, tx)
    if batch.command is not None:
        tx.write_record("commands", keys.id_key(batch.command.id), batch.command)
    tasks.ask(batch, tx)


def _put_memory(memory: Memory, tx: Transaction) -> None:
    """Put a memory. A chunk's context has a row of its own, and may be gone by tomorrow.

    A vector was made of one text: it goes when that text changes.
    """
    kept = replace(memory, context="") if turn_of(memory.id) else memory
    before = text_of(memory.scope, memory.id, tx) if tx.meta(EMBEDDERS, {}) else ""
    tx.write_record("memories", keys.scoped_key(memory.scope, memory.id), kept)
    if before and text_of(memory.scope, memory.id, tx) != before:
        drop_vectors(memory.scope, memory.id, tx)


def drop_memory(scope: str, memory: str, tx: Transaction) -> None:
    """Take a memory away with what places it, its keys, and the vectors of it and of them.

    Args:
        scope: Its namespace.
        memory: Its id.
        tx: Takes the changes.
    """
    tx.drop("memories", keys.scoped_key(scope, memory))
    annotations.drop(scope, memory, tx)
    drop_vectors(scope, memory, tx)


def _put_vectors(
    embedder: str, vectors: Sequence[V], encode: Callable[[bytes, V], bytes], tx: Transaction
) -> None:
    """Put rows into a space; one of tokens is a space like any other, with a key of its own."""
    known = tx.meta(EMBEDDERS, {})
    digest = keys.embedder_hash(embedder).hex()
    if digest not in known:
        tx.set_meta(EMBEDDERS, {**known, digest: embedder})
    for vector in vectors:
        if _has_subject(vector, tx) and _is_fresh(vector, tx):
            key = keys.vector_key(embedder, vector.scope, vector.memory)
            tx.put("vectors", key, encode(key, vector))


def _has_subject(vector: Vector | TokenVectors, tx: Transaction) -> bool:
    """Tell whether what the vector stands for is there: text can be guessed from a vector."""
    scope, id = vector.scope, vector.memory
    return exists(scope, id, tx) or tx.get("keys", keys.scoped_key(scope, id)) is not None


def _is_fresh(vector: Vector | TokenVectors, tx: Transaction) -> bool:
    """Tell whether a vector's text is still that which it was made of."""
    return not vector.of or digest(text_of(vector.scope, vector.memory, tx)) == vector.of


def _is_forgotten(memory: Memory, tx: Transaction) -> bool:
    return names_forgotten(memory.scope, memory.id, tx) or any_forgotten(memory.sources, tx)


# ------------------------------------------------------------------- bookkeeping


def write_ledger(entry: LedgerEntry, tx: Transaction) -> None:
    """Write what recall did for a turn.

    Args:
        entry: The row; what it says of forgotten memories is left out.
        tx: Takes the change.
    """
    if tx.get("tombstones", keys.turn_tombstone(entry.turn)) is not None:
        return
    kept = without(entry, lambda memory: names_forgotten(entry.scope, memory, tx))
    tx.write_record("ledger", keys.id_key(entry.turn), kept)


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


def trim(table: str, keep: int, tx: Transaction) -> None:
    """Take away a ring's oldest rows when new ones exceed it.

    Args:
        table: The ring; its keys are numbers.
        keep: How many rows stay.
        tx: Everything else of the transaction is in it already.
    """
    fresh = tx.puts(table)
    if not fresh:
        return
    cursor = tx.txn.cursor(tx.handles[table])
    rows = tx.txn.stat(tx.handles[table])["entries"] + len(fresh)
    if rows <= keep:
        return
    oldest_first = sorted(fresh.union(cursor.iternext(values=False)))
    for key in oldest_first[: max(0, len(oldest_first) - keep)]:
        tx.drop(table, key)


def publish(manifest: Manifest, tx: Transaction) -> None:
    """Vouch for an index.

    Args:
        manifest: The row.
        tx: Takes the change.

    Raises:
        StoreError: Something was forgotten since the index was begun, so it may hold it.
    """
    if manifest.forget_epoch != tx.meta(EPOCH, 0):
        raise StoreError(
            f"index {manifest.generation} was built before something was forgotten",
            hint="Build it again.",
        )
    tx.write_record("manifest", keys.name_key(manifest.scope), manifest)
    change_log.drop(manifest.scope, manifest.changes, tx)


def unpublish(scope: str, tx: Transaction) -> None:
    """No longer vouch for an index.

    Args:
        scope: Its namespace.
        tx: Takes the change.
    """
    tx.drop("manifest", keys.name_key(scope))
