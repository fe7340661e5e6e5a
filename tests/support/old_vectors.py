"""Rows of vectors as earlier versions wrote them, for tests of stores that have some."""

import struct
from collections.abc import Iterable

import numpy as np

from slowcat_memory.store import Store
from slowcat_memory.store.disk import codec, keys
from slowcat_memory.store.disk.tables import EMBEDDERS
from slowcat_memory.store.disk.transaction import Transaction, transact

Row = tuple[bytes, bytes]


def old_vector(space: str, scope: str, id: str, values: np.ndarray, *, draft: bool = False) -> Row:
    """Return key and envelope of a vector in half precision, its id as text."""
    key = keys.old_vector_key(space, scope, id)
    return key, codec.seal(key, bytes([draft]) + values.astype("<f2").tobytes())


def old_tokens(space: str, scope: str, id: str, rows: np.ndarray, *, draft: bool = False) -> Row:
    """Return key and envelope of token vectors, (n, dim), int8."""
    key = keys.old_vector_key(space, scope, id)
    head = struct.pack("<BH", draft, rows.shape[1])
    return key, codec.seal(key, head + rows.tobytes(), compress=False)


def put_rows(store: Store, rows: Iterable[Row], *spaces: str) -> None:
    """Write rows into the table of vectors as they are, and make their spaces known."""

    def write(tx: Transaction) -> None:
        known = {keys.embedder_hash(space).hex(): space for space in spaces}
        tx.set_meta(EMBEDDERS, tx.meta(EMBEDDERS, {}) | known)
        for key, value in rows:
            tx.put("vectors", key, value)

    store._writer.call(lambda: transact(store._env, write))  # type: ignore[union-attr]


def old_rows(store: Store) -> list[bytes]:
    """Return the keys of the rows that are in the form of earlier versions."""
    with store._env.reading() as txn:
        rows = Transaction(*txn).rows("vectors")
        return [bytes(key) for key, value in rows if not codec.is_small(value)]
