"""Reads that another thread can end: each calls a function first, which may raise.

A reader in the background reads ten thousand rows in one go. While it does, it holds the
interpreter's lock most of the time, and keeps the store from growing its map.
"""

from collections.abc import Callable, Iterator
from typing import Any

from slowcat_memory.store.disk.environment import Txn

BeforeRead = Callable[[], None]


class InterruptibleTxn:
    """A read transaction that calls a function before each read of a row."""

    def __init__(self, txn: Txn, before_read: BeforeRead) -> None:
        self._txn, self._before_read = txn, before_read
        self.stat = txn.stat

    def get(self, key: bytes, *, db: Any) -> bytes | None:
        self._before_read()
        return self._txn.get(key, db=db)

    def cursor(self, db: Any) -> "InterruptibleCursor":
        self._before_read()
        return InterruptibleCursor(self._txn.cursor(db), self._before_read)


class InterruptibleCursor:
    """A cursor of such a transaction."""

    def __init__(self, cursor: Any, before_read: BeforeRead) -> None:
        self._cursor, self._before_read = cursor, before_read
        self.set_range, self.key, self.value = cursor.set_range, cursor.key, cursor.value
        self.first, self.last = cursor.first, cursor.last

    def next(self) -> bool:
        self._before_read()
        return bool(self._cursor.next())

    def prev(self) -> bool:
        self._before_read()
        return bool(self._cursor.prev())

    def __iter__(self) -> Iterator[Any]:
        return self._each(iter(self._cursor))

    def iternext(self, keys: bool = True, values: bool = True) -> Iterator[Any]:
        return self._each(self._cursor.iternext(keys=keys, values=values))

    def iterprev(self, keys: bool = True, values: bool = True) -> Iterator[Any]:
        return self._each(self._cursor.iterprev(keys=keys, values=values))

    def _each(self, rows: Iterator[Any]) -> Iterator[Any]:
        for row in rows:
            self._before_read()
            yield row
