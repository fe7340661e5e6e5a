"""Contexts and keys: what places a memory, and what points back to it.

Both go with their memory. A vector was made of one text, so it goes when that text changes; the
same batch may bring the new one.
"""

from slowcat_memory.records import Context, Key, WriteBatch
from slowcat_memory.store.disk import keys
from slowcat_memory.store.disk.transaction import Edit
from slowcat_memory.store.rows.subjects import (
    any_forgotten,
    drop_vectors,
    is_there,
    names_forgotten,
)


def put(batch: WriteBatch, edit: Edit) -> None:
    """Write a step's contexts and keys; its vectors come afterwards.

    What belongs to no memory that is here is left out, and what was made from something forgotten.

    Args:
        batch: The step's outcome; its memories are in place.
        edit: Takes the changes.

    Raises:
        ValueError: A key's id is not one.
    """
    for scope, id in batch.drop_keys:
        _drop_key(scope, id, edit)
    for context in batch.contexts:
        _put_context(context, edit)
    for key in batch.keys:
        _put_key(key, edit)


def drop(scope: str, memory: str, edit: Edit) -> None:
    """Take away what places a memory, and all that points to it.

    Args:
        scope: The memory's namespace.
        memory: Its id.
        edit: Takes the changes.
    """
    edit.drop("contexts", keys.scoped_key(scope, memory))
    for row in edit.walk("keys", keys.scoped_key(scope, memory) + b"?"):
        id = keys.split_scope(row)[1].decode()
        if keys.owner_of(id) == memory:
            _drop_key(scope, id, edit)


def _put_context(context: Context, edit: Edit) -> None:
    if not _may_stay(context, edit):
        return
    key = keys.scoped_key(context.scope, context.memory)
    before = edit.read(Context, "contexts", key)
    if context.text != (before.text if before else ""):
        drop_vectors(context.scope, context.memory, edit)
    if context.text:
        edit.write_record("contexts", key, context)
    else:
        edit.drop("contexts", key)


def _put_key(key: Key, edit: Edit) -> None:
    if keys.owner_of(key.id) != key.memory or key.id.endswith("?"):
        raise ValueError("a key's id is its memory's, a question mark, and a name that holds none")
    if not _may_stay(key, edit):
        return
    row = keys.scoped_key(key.scope, key.id)
    before = edit.read(Key, "keys", row)
    if before is not None and before.text != key.text:
        drop_vectors(key.scope, key.id, edit)
    edit.write_record("keys", row, key)


def _drop_key(scope: str, id: str, edit: Edit) -> None:
    edit.drop("keys", keys.scoped_key(scope, id))
    drop_vectors(scope, id, edit)


def _may_stay(record: Context | Key, edit: Edit) -> bool:
    return (
        is_there(record.scope, record.memory, edit)
        and not names_forgotten(record.scope, record.memory, edit)
        and not any_forgotten(record.sources, edit)
    )
