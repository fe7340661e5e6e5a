"""Contexts and keys: what places a memory, and what points back to it.

Both go with their memory. A vector was made of one text, so it goes when that text changes; the
same batch may bring the new one.
"""

from slowcat_memory.records import Context, Key, WriteBatch
from slowcat_memory.store.disk import keys
from slowcat_memory.store.disk.transaction import Transaction
from slowcat_memory.store.rows.subjects import (
    any_forgotten,
    drop_vectors,
    exists,
    names_forgotten,
)


def put(batch: WriteBatch, tx: Transaction) -> None:
    """Write a step's contexts and keys; its vectors come afterwards.

    What belongs to no memory that is here is left out, and what was made from something forgotten.

    Args:
        batch: The step's outcome; its memories are in place.
        tx: Takes the changes.

    Raises:
        ValueError: A key's id is not one.
    """
    for scope, id in batch.drop_keys:
        _drop_key(scope, id, tx)
    for context in batch.contexts:
        _put_context(context, tx)
    for key in batch.keys:
        _put_key(key, tx)


def drop(scope: str, memory: str, tx: Transaction) -> None:
    """Take away what places a memory, and all that points to it.

    Args:
        scope: The memory's namespace.
        memory: Its id.
        tx: Takes the changes.
    """
    tx.drop("contexts", keys.scoped_key(scope, memory))
    for row in tx.walk("keys", keys.scoped_key(scope, memory) + b"?"):
        id = keys.split_scope(row)[1].decode()
        if keys.owner_of(id) == memory:
            _drop_key(scope, id, tx)


def _put_context(context: Context, tx: Transaction) -> None:
    if not _may_stay(context, tx):
        return
    key = keys.scoped_key(context.scope, context.memory)
    before = tx.read(Context, "contexts", key)
    if context.text != (before.text if before else ""):
        drop_vectors(context.scope, context.memory, tx)
    if context.text:
        tx.write_record("contexts", key, context)
    else:
        tx.drop("contexts", key)


def _put_key(key: Key, tx: Transaction) -> None:
    if keys.owner_of(key.id) != key.memory or key.id.endswith("?"):
        raise ValueError("a key's id is its memory's, a question mark, and a name that holds none")
    if not _may_stay(key, tx):
        return
    row = keys.scoped_key(key.scope, key.id)
    before = tx.read(Key, "keys", row)
    if before is not None and before.text != key.text:
        drop_vectors(key.scope, key.id, tx)
    tx.write_record("keys", row, key)


def _drop_key(scope: str, id: str, tx: Transaction) -> None:
    tx.drop("keys", keys.scoped_key(scope, id))
    drop_vectors(scope, id, tx)


def _may_stay(record: Context | Key, tx: Transaction) -> bool:
    return (
        exists(record.scope, record.memory, tx)
        and not names_forgotten(record.scope, record.memory, tx)
        and not any_forgotten(record.sources, tx)
    )
