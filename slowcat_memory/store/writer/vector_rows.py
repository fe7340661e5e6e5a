"""Rewrites vectors of earlier versions in the present form: bytes, codes and numbered keys.

No model is needed: both forms are of the same vectors, and both are read at any time. A background
thread reads a slice, encodes it, and passes it to the writer between two of the conversation's own
writes. The write leaves out what has changed since it was read, so a crash or a forget at any
moment loses nothing and brings nothing back; what is left is found by the next round.
"""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice, takewhile

import numpy as np
from msgspec import Struct

from slowcat_memory.core.ranking import token_codes
from slowcat_memory.errors import StoreDamagedError
from slowcat_memory.records import TokenCodes
from slowcat_memory.store.disk import codec, keys
from slowcat_memory.store.disk.environment import Environment
from slowcat_memory.store.disk.transaction import Transaction
from slowcat_memory.store.rows.subjects import embedders
from slowcat_memory.store.writer.write_queue import Ack, Change

ROWS = 64  # rewritten in one transaction: 20 ms of this thread's time, 1 ms of the writer's
NEARLY_ONE = 0.1  # bytes whose vectors' lengths differ from 1 by more are no vectors of that kind

Row = tuple[bytes, bytes]


class Rewrite(Struct, frozen=True):
    """A row, and the one that replaces it."""

    key: bytes
    value: bytes
    new_key: bytes
    new_value: bytes


class VectorRows:
    """Rewrites the rows of a store's namespaces."""

    def __init__(self, env: Environment, submit: Callable[[Change], Ack]) -> None:
        """Read from ``env``; ``submit`` passes a change to the writer."""
        self._env, self._submit = env, submit

    def rewrite(self, scope: str, stop: Callable[[], bool]) -> int:
        """Rewrite all rows of a namespace; return how many.

        Without any, only the rows of memories that are no turns are looked at. ``stop`` is called
        between two transactions; True ends the round.

        Raises:
            StoreError: The store is closed or full; rows rewritten until then remain.
        """
        with self._env.reading() as txn:
            spaces = embedders(Transaction(*txn))
        return sum(self._rewrite_space(space, scope, stop) for space in spaces)

    def _rewrite_space(self, space: str, scope: str, stop: Callable[[], bool]) -> int:
        done, after = 0, keys.vector_prefix(space, scope)
        while not stop():
            with self._env.reading() as txn:
                old = list(islice(_old_rows(Transaction(*txn), space, scope, after), ROWS))
            made = [new for key, value in old if (new := _rewritten(space, key, value))]
            if made:
                self._submit(partial(_replace_rows, made)).wait(None)
            done += len(made)
            if len(old) < ROWS:
                break
            after = old[-1][0] + b"\0"
        return done


def _old_rows(tx: Transaction, space: str, scope: str, after: bytes) -> Iterator[Row]:
    """Yield intact rows of earlier versions, from a key on; numbered keys, the last, are of this."""
    cursor, prefix = tx.cursor("vectors"), keys.vector_prefix(space, scope)
    if cursor is None or not cursor.set_range(after):
        return
    end = prefix + keys.NUMBERED
    for key, value in takewhile(lambda row: prefix <= row[0] < end, cursor.iternext()):
        if not codec.is_small(value) and codec.intact(key, value):
            yield key, value


def _rewritten(space: str, key: bytes, value: bytes) -> Rewrite | None:
    """Return the new form of a row; None for one that is neither a vector nor token vectors.

    A space's key does not say for certain which they are, but their lengths do.
    """
    _, scope, id = keys.split_vector_key(key)
    new_key = keys.vector_key(space, scope, id)
    likely = _encoded_tokens if keys.is_token_space(space) else _encoded_vector
    for encode in (likely, _encoded_vector, _encoded_tokens):
        try:
            if new_value := encode(key, value, new_key):
                return Rewrite(key, value, new_key, new_value)
        except StoreDamagedError:
            continue
    return None


def _encoded_vector(key: bytes, value: bytes, new_key: bytes) -> bytes | None:
    vector = codec.decode_vector(key, value)
    return codec.encode_vector(new_key, vector) if _are_unit(vector.values[None]) else None


def _encoded_tokens(key: bytes, value: bytes, new_key: bytes) -> bytes | None:
    tokens, draft = codec.decode_tokens(key, value)
    if not _are_unit(tokens / np.float32(token_codes.SCALE)):
        return None
    codes, dim = token_codes.encode(tokens), tokens.shape[1]
    made = TokenCodes(scope="", memory="", codes=codes, dim=dim, draft=draft)
    return codec.encode_tokens(new_key, made)


def _are_unit(vectors: np.ndarray) -> bool:
    lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
    return bool((np.abs(lengths - 1) <= NEARLY_ONE).all())


def _replace_rows(rows: list[Rewrite], tx: Transaction) -> None:
    for row in rows:
        if tx.get("vectors", row.key) == row.value:
            tx.drop("vectors", row.key)
            tx.put("vectors", row.new_key, row.new_value)
