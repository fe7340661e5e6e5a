"""Checks a backup's tables and counters before it may replace a store.

A file with valid checksums may still be crafted, or written by a faulty program: a key of the wrong
shape or an id at the end of the numbers would break every later opening or append.
"""

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import lmdb
import msgspec

from slowcat_memory.errors import StoreDamagedError, StoreError
from slowcat_memory.store.blocks.reader import last_id
from slowcat_memory.store.disk import keys
from slowcat_memory.store.disk.environment import Environment
from slowcat_memory.store.disk.tables import (
    COUNTS,
    CREATED,
    EMBEDDERS,
    EPOCH,
    FORMAT_ROW,
    LAST_CALL,
    LAST_CHANGE,
    LAST_RUN,
    NEXT_ID,
    TABLES,
    UNENDED,
)
from slowcat_memory.store.disk.transaction import Transaction

HINT = "Try an older one."
MOST_ID = 2**52  # leaves as many again: JSON readers keep integers up to 2**53 exactly

_META: dict[str, type] = {
    FORMAT_ROW: str, CREATED: str, NEXT_ID: int, EPOCH: int, UNENDED: list, LAST_CHANGE: int,
    LAST_RUN: int, LAST_CALL: int, COUNTS: dict, EMBEDDERS: dict,
}  # fmt: skip


@contextmanager
def errors_of(what: str) -> Iterator[None]:
    """Raise ``StoreDamagedError`` for anything that unexpected content leads to."""
    try:
        yield
    except StoreError:
        raise
    except (ValueError, TypeError, LookupError, ArithmeticError, AttributeError) as error:
        raise StoreDamagedError(f"{what} is no valid store: {error}", hint=HINT) from error
    except (struct.error, msgspec.MsgspecError, lmdb.Error) as error:
        raise StoreDamagedError(f"{what} is no valid store: {error}", hint=HINT) from error


def check(env: Environment, what: str) -> None:
    """Check the counters and the keys of every table.

    Raises:
        StoreDamagedError: One is not as the store writes it.
    """
    with errors_of(what), env.reading() as (txn, handles):
        tx = Transaction(txn, handles)
        for name, kind in _META.items():
            _check_meta(name, kind, tx.meta(name, None), what)
        for table in TABLES:
            numbered = table.key.startswith("u64") or table.key.endswith(r"\0 u64 id")
            for key in tx.keys(table.name) if numbered else ():
                _check_id(table.name, key, table.key.startswith("u64"), what)


def _check_meta(name: str, kind: type, value: Any, what: str) -> None:
    if value is None:
        right = name not in (FORMAT_ROW, CREATED, NEXT_ID)
    elif kind is int:
        right = type(value) is int and (name == NEXT_ID) <= value <= MOST_ID
    else:
        right = isinstance(value, kind)
    if not right:
        raise StoreDamagedError(f"{what} is no valid store: {name} is {value!r:.40}", hint=HINT)


def _check_id(table: str, key: bytes, alone: bool, what: str) -> None:
    if len(key) < 8 or (alone and len(key) != 8) or not 0 < keys.id_of(key) <= MOST_ID:
        raise StoreDamagedError(
            f"{what} is no valid store: a key of {table} is {key!r:.40}", hint=HINT
        )


def next_id(tx: Transaction) -> int:
    """Return a store's next log id, also when its counter is out of range."""
    counter = tx.meta(NEXT_ID, 1)
    if type(counter) is int and counter <= MOST_ID:
        return counter
    forgotten = (keys.id_of(key) for key in tx.keys("tombstones") if keys.is_turn_tombstone(key))
    ids = [last_id(tx.cursor), *forgotten]
    return max((id for id in ids if id <= MOST_ID), default=0) + 1
