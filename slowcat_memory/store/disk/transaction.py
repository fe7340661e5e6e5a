"""What one transaction will change, collected before it is written.

LMDB never sees a key twice in one transaction: a put and a delete, or two puts, of one key leave
pages behind that make structural checks of a healthy file cry wolf. So changes gather here, the
last one per key wins, and reading through an tx sees them.
"""

from collections.abc import Callable
from itertools import takewhile
from typing import Any, TypeVar

import lmdb

from slowcat_memory.errors import StoreDamagedError
from slowcat_memory.store.disk import codec, keys
from slowcat_memory.store.disk.environment import Environment, Handles, Txn
from slowcat_memory.store.disk.tables import COUNTS

T = TypeVar("T")


class Transaction:
    """Rows to put and to drop, over a transaction or over another tx."""

    def __init__(self, txn: Txn, handles: Handles, under: "Transaction | None" = None) -> None:
        """Start empty.

        Args:
            txn: The write transaction to read through to.
            handles: The tables.
            under: An tx whose changes are seen too.
        """
        self.txn = txn
        self.handles = handles
        self._under = under
        self._rows: dict[str, dict[bytes, bytes | None]] = {}

    def over(self) -> "Transaction":
        """Begin an tx on top of this one, to be absorbed when it turns out well.

        Returns:
            The tx.
        """
        return Transaction(self.txn, self.handles, self)

    def absorb(self, other: "Transaction") -> None:
        """Take over another tx's changes.

        Args:
            other: From ``over``.
        """
        for table, rows in other._rows.items():
            self._rows.setdefault(table, {}).update(rows)

    # ------------------------------------------------------------------- read

    def get(self, table: str, key: bytes) -> bytes | None:
        """Read a row as it will be.

        Args:
            table: The table.
            key: The key.

        Returns:
            The envelope, None when there is none.
        """
        rows = self._rows.get(table)
        if rows is not None and key in rows:
            return rows[key]
        if self._under is not None:
            return self._under.get(table, key)
        return self.txn.get(key, db=self.handles[table])

    def read(self, kind: type[T], table: str, key: bytes) -> T | None:
        """Read a record as it will be.

        Args:
            kind: Its type.
            table: The table.
            key: The key.

        Returns:
            The record, None when there is none or it is damaged.
        """
        value = self.get(table, key)
        try:
            return None if value is None else codec.decode(kind, key, value)
        except StoreDamagedError:
            return None

    def meta(self, name: str, default: Any) -> Any:
        """Read a row of ``meta`` as it will be.

        Args:
            name: The row.
            default: Its value when there is none.

        Returns:
            Plain JSON values.
        """
        key = keys.name_key(name)
        value = self.get("meta", key)
        return default if value is None else codec.decode_meta(key, value)

    def puts(self, table: str) -> set[bytes]:
        """Return the keys that are to be put.

        Args:
            table: The table.

        Returns:
            Keys of this tx alone.
        """
        return {key for key, value in self._rows.get(table, {}).items() if value is not None}

    def walk(self, table: str, prefix: bytes) -> list[bytes]:
        """Return the keys that begin so, as they will be.

        Args:
            table: The table; one that an older store lacks is empty.
            prefix: What they begin with; not empty.

        Returns:
            Keys, sorted.
        """
        found = (
            self._walk(table, prefix) if self._under is None else self._under.walk(table, prefix)
        )
        rows = self._rows.get(table, {})
        own = {key for key, value in rows.items() if value is not None and key.startswith(prefix)}
        return sorted(own.union(key for key in found if key not in rows))

    def _walk(self, table: str, prefix: bytes) -> list[bytes]:
        db = self.handles.get(table)
        cursor = None if db is None else self.txn.cursor(db)
        if cursor is None or not cursor.set_range(prefix):
            return []
        return list(takewhile(lambda key: key.startswith(prefix), cursor.iternext(values=False)))

    # ------------------------------------------------------------------- change

    def put(self, table: str, key: bytes, value: bytes) -> None:
        """Put a row.

        Args:
            table: The table.
            key: The key.
            value: The envelope.
        """
        self._rows.setdefault(table, {})[key] = value

    def write_record(self, table: str, key: bytes, record: Any) -> None:
        """Put a record.

        Args:
            table: The table.
            key: The key.
            record: The record.

        Raises:
            ValueError: It is too large.
        """
        self.put(table, key, codec.encode(key, record))

    def set_meta(self, name: str, value: Any) -> None:
        """Put a row of ``meta``.

        Args:
            name: The row.
            value: Plain JSON values.
        """
        key = keys.name_key(name)
        self.put("meta", key, codec.encode_meta(key, value))

    def drop(self, table: str, key: bytes) -> None:
        """Take a row away; nothing happens when there is none.

        Args:
            table: The table.
            key: The key.
        """
        self._rows.setdefault(table, {})[key] = None

    # ------------------------------------------------------------------- write

    def empty(self) -> bool:
        """Tell whether there is nothing to write.

        Returns:
            True when nothing changes.
        """
        return not any(self._rows.values())

    def write(self) -> None:
        """Write every change and the tables' new row counts into the transaction.

        Raises:
            lmdb.Error: LMDB refuses; the transaction must be aborted.
        """
        for table in sorted(self._rows):
            if table != "meta":
                self._write(table)
        self.set_meta(COUNTS, self._counts())
        self._write("meta")

    def _write(self, table: str) -> None:
        db = self.handles[table]
        rows = sorted(self._rows.get(table, {}).items())
        for key, value in rows:
            if value is None:
                self.txn.delete(key, db=db)
        # One call: each put alone gives up the interpreter's lock, and under load waits for it.
        self.txn.cursor(db).putmulti([(key, value) for key, value in rows if value is not None])

    def _counts(self) -> dict[str, int]:
        return {
            name: self.txn.stat(db)["entries"]
            for name, db in self.handles.items()
            if name != "meta"
        }


def transact(env: Environment, change: Callable[[Transaction], T]) -> T:
    """Run one write transaction, growing the map as often as it takes.

    Args:
        env: Where to write; from the thread that owns its writes.
        change: Puts its changes into the tx; called again when the map had to grow.

    Returns:
        What ``change`` returned, once it is committed.

    Raises:
        lmdb.Error: Nothing was written.
    """
    while True:
        try:
            with env.begin_write() as txn:
                tx = Transaction(txn, env.handles)
                result = change(tx)
                if not tx.empty():
                    tx.write()
            return result
        except lmdb.MapFullError:
            env.grow()
