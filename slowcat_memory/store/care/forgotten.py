"""Deletes from a copy of a store what the store has forgotten since the copy was made.

Only the store knows that: by the tombstones of turns and memories, and by the epoch marks of
memories deleted without a name. When the store is damaged, the file beside it knows (``unerased``).
"""

from collections import defaultdict
from collections.abc import Sequence
from functools import partial

from slowcat_memory.core.memory import turn_of
from slowcat_memory.records import Forget
from slowcat_memory.store.disk import codec, keys
from slowcat_memory.store.disk.environment import Environment
from slowcat_memory.store.disk.tables import CREATED, EPOCH, ERASE_DUE
from slowcat_memory.store.disk.transaction import Transaction, reading, transact
from slowcat_memory.store.disk.unerased import ORDER, Unerased
from slowcat_memory.store.rows import forget


def delete_forgotten(store: Environment, made: Environment, more: Sequence[Forget] = ()) -> int:
    """Delete it, and what ``more`` requests cover, from a copy; return how many there were.

    Turns and memories count. The copy has the tombstones of both then.
    """
    tombstones = _tombstones(made) | _tombstones(store)
    return _delete(made, [*_requests(made, tombstones), *more], tombstones)


def forget_again(made: Environment, unerased: Unerased) -> None:
    """Delete from what was recovered of a store what it has forgotten, or was about to delete.

    Its copies are to be erased then: the erasure is due.
    """
    tombstones = _tombstones(made) | dict(unerased.tombstones)
    requests = _requests(made, tombstones)
    transact(made, partial(_order_again, unerased.order))
    transact(made, forget.resume)
    _delete(made, requests, tombstones | _tombstones(made))


def _order_again(order: bytes | None, tx: Transaction) -> None:
    if order is not None:
        tx.put("meta", ORDER, order)
    tx.set_meta(ERASE_DUE, True)
    tx.set_meta(EPOCH, tx.meta(EPOCH, 0) + 1)


def _delete(made: Environment, requests: list[Forget], tombstones: dict[bytes, bytes]) -> int:
    gone = 0
    if requests:
        found = transact(made, partial(forget.forget, requests))
        gone = len(found.turns) + sum(not turn_of(id) for _, id in found.memories)
    transact(made, partial(_set_tombstones, tombstones))
    return gone


def created(env: Environment) -> str:
    """Return when a store was created. It identifies the memory: all copies keep it."""
    with reading(env) as tx:
        return str(tx.meta(CREATED, ""))


def _tombstones(env: Environment) -> dict[bytes, bytes]:
    with reading(env) as tx:
        return dict(tx.rows("tombstones"))


def _requests(made: Environment, tombstones: dict[bytes, bytes]) -> list[Forget]:
    """Return the requests that delete everything these tombstones and epoch marks name."""
    turns = tuple(keys.id_of(key) for key in tombstones if keys.is_turn_tombstone(key))
    memories: dict[str, set[str]] = defaultdict(set)
    with reading(made) as tx:
        epoch = tx.meta(EPOCH, 0)
        for key in tx.keys("memories"):
            scope, rest = keys.split_scope(key)
            id = rest.decode()
            mark = keys.epoch_mark(scope, id)
            if keys.memory_tombstone(scope, id) in tombstones or (
                mark in tombstones and codec.decode(int, mark, tombstones[mark]) > epoch
            ):
                memories[scope].add(id)
    requests = [Forget(scope=scope, memories=tuple(ids)) for scope, ids in memories.items()]
    return [Forget(turns=turns), *requests] if turns else requests


def _set_tombstones(tombstones: dict[bytes, bytes], tx: Transaction) -> None:
    """Keep exactly the tombstones and marks that the store or its copy had.

    Forgetting by name, as done here, would prevent a memory from ever being made again.
    """
    for key in tx.keys("tombstones"):
        tx.drop("tombstones", key)
    for key, value in tombstones.items():
        tx.put("tombstones", key, value)
