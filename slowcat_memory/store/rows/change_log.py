"""What was derived since when: so that an index takes up only what changed after it was built.

Every step that puts or drops memories, vectors, contexts or keys leaves a row with a number of its
own and the ids of the memories that it touched. Publishing an index that holds all changes up to some number drops those rows.
"""

from collections import defaultdict

from slowcat_memory.records import Vector, WriteBatch
from slowcat_memory.store.disk import keys
from slowcat_memory.store.disk.tables import LAST_CHANGE
from slowcat_memory.store.disk.transaction import Transaction

LATEST = 2**64 - 1


def note(batch: WriteBatch, tx: Transaction) -> None:
    """Write down which memories a step touches.

    Args:
        batch: The step's outcome.
        tx: Takes the changes.
    """
    touched: dict[str, dict[str, None]] = defaultdict(dict)
    for scope, memory in batch.drop:
        touched[scope][memory] = None
    for record in batch.memories:
        touched[record.scope][record.id] = None
    for context in batch.contexts:
        touched[context.scope][context.memory] = None
    for key in batch.keys:
        touched[key.scope][key.memory] = None
    for scope, id in batch.drop_keys:
        touched[scope][keys.owner_of(id)] = None
    for vector in batch.vectors:
        touched[vector.scope][_subject(vector, tx)] = None
    if not touched:
        return
    number = tx.meta(LAST_CHANGE, 0) + 1
    tx.set_meta(LAST_CHANGE, number)
    for scope, ids in touched.items():
        tx.write_record("changes", keys.scoped_id_key(scope, number), list(ids))


def _subject(vector: Vector, tx: Transaction) -> str:
    """Return the memory that a vector, which may be a key's, is found for."""
    own = keys.scoped_key(vector.scope, vector.memory)
    return vector.memory if tx.get("keys", own) is None else keys.owner_of(vector.memory)


def drop(scope: str, upto: int, tx: Transaction) -> None:
    """Take a namespace's rows away.

    Args:
        scope: The namespace.
        upto: The last number that goes.
        tx: Takes the changes; rows that only it holds stay.
    """
    prefix, cursor = keys.scope_prefix(scope), tx.txn.cursor(tx.handles["changes"])
    if not cursor.set_range(prefix):
        return
    for key in cursor.iternext(values=False):
        if not key.startswith(prefix) or keys.id_of(key) > upto:
            return
        tx.drop("changes", key)
