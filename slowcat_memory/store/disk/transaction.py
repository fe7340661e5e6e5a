"""Collects the changes that one LMDB transaction will write.

LMDB never gets a key twice in one transaction: a put and a delete, or two puts, of one key leave
pages behind that make structural checks of a healthy file report damage. So changes are collected
here, the last one per key wins, and reads through a ``Transaction`` see them.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import lmdb
import msgspec
from msgspec.structs import replace

from slowcat_memory.errors import StoreDamagedError, StoreFullError
from slowcat_memory.store.disk import codec, folder
from slowcat_memory.store.disk.environment import Environment, Handles, Txn, our_errors
from slowcat_memory.store.disk.folder import DATA, create, fresh_folder
from slowcat_memory.store.disk.outbox import (
    COPY,
    OUTBOX,
    Changes,
    CopyState,
    Outbox,
    Unsent,
    encode,
    pack,
    shared,
)
from slowcat_memory.store.disk.page_reader import LZ4, MAX_TABLES
from slowcat_memory.store.disk.tables import COUNTS, LAST_CHANGE, NEXT_ID

T = TypeVar("T")
BeforeRead = Callable[[], object]
OnDamaged = Callable[[str, bytes], object]
ROWS = 5000  # in one transaction of a copy
TRIES = 3  # of a change that is made beside the writers


@dataclass(eq=False, repr=False)
class Rows:
    """The rows that an LMDB transaction sees, by table.

    A damaged record is skipped, and told to ``on_damaged`` with its table and key. ``before_read``
    is called before each read, and may raise.
    """

    txn: Txn
    handles: Handles
    before_read: BeforeRead = lambda: None
    on_damaged: OnDamaged = lambda table, key: None

    @property
    def number(self) -> int:
        """The number of the LMDB transaction, in its generation of the file."""
        return int(self.txn.id())

    def tables(self) -> list[str]:
        return list(self.handles)

    def cursor(self, table: str) -> "lmdb.Cursor[bytes]":
        self.before_read()
        return self.txn.cursor(self.handles[table])

    def rows(
        self, table: str, prefix: bytes = b"", start: bytes = b""
    ) -> Iterator[tuple[bytes, bytes]]:
        """Yield the rows whose keys begin with ``prefix``, from ``prefix + start`` on."""
        cursor = self.cursor(table)
        for row in cursor if cursor.set_range(prefix + start) else ():
            if not row[0].startswith(prefix):
                return
            self.before_read()
            yield row

    def keys(self, table: str, prefix: bytes = b"", start: bytes = b"") -> Iterator[bytes]:
        """Yield the keys that ``rows`` yields; reads no value."""
        cursor = self.cursor(table)
        is_placed = cursor.set_range(prefix + start)
        for key in cursor.iternext(values=False) if is_placed else ():
            if not key.startswith(prefix):
                return
            self.before_read()
            yield key

    def rows_before(
        self, table: str, prefix: bytes, number: int = 0
    ) -> Iterator[tuple[bytes, bytes]]:
        """Yield rows of a prefix and a number, the last first; those below ``number``, 0 for all."""
        cursor = self.cursor(table)
        is_placed = cursor.set_range(prefix + (codec.id_key(number) if number else codec.PAST))
        while cursor.prev() if is_placed else cursor.last():
            is_placed, row = True, cursor.item()
            if not row[0].startswith(prefix):
                return
            yield row

    def scopes(self, table: str) -> Iterator[str]:
        """Yield the scopes that the keys of a table begin with; reads a key of each."""
        cursor = self.cursor(table)
        more = cursor.first()
        while more:
            scope, _ = codec.split_scope(cursor.key())
            yield scope
            more = cursor.set_range(scope.encode() + b"\1")

    def stat(self, table: str) -> "lmdb._StatDict":
        return self.txn.stat(self.handles[table])

    def count(self, table: str) -> int:
        return int(self.stat(table)["entries"])

    def counts(self) -> dict[str, int]:
        return {table: self.count(table) for table in self.handles}

    def get(self, table: str, key: bytes) -> bytes | None:
        self.before_read()
        return self.txn.get(key, db=self.handles[table])

    def read(self, kind: type[T], table: str, key: bytes) -> T | None:
        """Return a record, None when there is none or it is damaged."""
        return self.decoded(partial(codec.decode, kind), table, key)

    def decoded(self, decode: Callable[[bytes, bytes], T], table: str, key: bytes) -> T | None:
        """Return what ``decode`` makes of a row, None when there is none or it is damaged."""
        value = self.get(table, key)
        return None if value is None else self.undamaged(decode, table, key, value)

    def records(
        self, kind: type[T], table: str, prefix: bytes = b"", start: bytes = b"", part: bytes = b""
    ) -> Iterator[T]:
        """Yield the records of ``rows`` that may hold the bytes ``part``: only these are unpacked."""
        every = self.rows(table, prefix, start)
        rows = (row for row in every if part in row[1] or LZ4 in row[1][1:2])
        return self.every_decoded(partial(codec.decode, kind), table, rows)

    def latest(self, kind: type[T], table: str, before: int = 0) -> Iterator[T]:
        """Yield the records of a numbered table, the last first; with ``before``, earlier ones."""
        rows = self.rows_before(table, b"", before)
        return self.every_decoded(partial(codec.decode, kind), table, rows)

    def every_decoded(
        self, decode: Callable[[bytes, bytes], T], table: str, rows: Iterable[tuple[bytes, bytes]]
    ) -> Iterator[T]:
        """Yield what ``decode`` makes of rows, without the damaged ones."""
        for key, value in rows:
            if (record := self.undamaged(decode, table, key, value)) is not None:
                yield record

    def undamaged(
        self, decode: Callable[[bytes, bytes], T], table: str, key: bytes, value: bytes
    ) -> T | None:
        try:
            return decode(key, value)
        except StoreDamagedError:
            self.on_damaged(table, key)
            return None

    def meta(self, name: str, default: Any = None) -> Any:
        """Return a row of ``meta``: plain JSON values."""
        key = codec.name_key(name)
        value = self.get("meta", key)
        return default if value is None else codec.decode_meta(key, value)


class Transaction(Rows):
    """Rows to put and to drop, on top of an LMDB transaction.

    ``rows``, ``keys`` and ``count`` see only committed rows; the other reads see the
    changes too.
    """

    def __init__(self, txn: Txn, handles: Handles) -> None:
        super().__init__(txn, handles)
        self.changes: Changes = {}

    def merge(self, changes: Changes) -> None:
        for table, rows in changes.items():
            self.changes.setdefault(table, {}).update(rows)

    def get(self, table: str, key: bytes) -> bytes | None:
        rows = self.changes.get(table)
        return rows[key] if rows is not None and key in rows else super().get(table, key)

    def puts(self, table: str) -> dict[bytes, bytes]:
        """Return the rows that are to be put."""
        return {
            key: value for key, value in self.changes.get(table, {}).items() if value is not None
        }

    def rows_with(self, table: str, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Yield the rows whose keys begin so, the changed ones last."""
        changed, new = frozenset(self.changes.get(table, ())), self.puts(table)
        for key, value in self.rows(table, prefix):
            if key not in changed:
                yield key, value
        yield from ((key, value) for key, value in new.items() if key.startswith(prefix))

    def keys_with(self, table: str, prefix: bytes) -> list[bytes]:
        return sorted(key for key, _ in self.rows_with(table, prefix))

    def put(self, table: str, key: bytes, value: bytes) -> None:
        self.changes.setdefault(table, {})[key] = value

    def write_record(self, table: str, key: bytes, record: Any) -> None:
        """Put a record; raises ``ValueError`` when it is too large."""
        self.put(table, key, codec.encode(key, record))

    def set_meta(self, name: str, value: Any) -> None:
        key = codec.name_key(name)
        self.put("meta", key, codec.encode_meta(key, value))

    def drop(self, table: str, key: bytes) -> None:
        self.changes.setdefault(table, {})[key] = None

    def clear(self, table: str) -> None:
        """Drop every row of a table, those that are to be put included."""
        self.changes[table] = dict.fromkeys(self.keys(table))

    def empty(self) -> bool:
        return not any(self.changes.values())

    def write(self) -> None:
        """Write every change and the tables' new row counts into the LMDB transaction.

        Raises:
            lmdb.Error: LMDB refuses; the LMDB transaction must be aborted.
        """
        for table in sorted(self.changes):
            if table != "meta":
                self._write(table)
        self.set_meta(COUNTS, {name: self.count(name) for name in self.handles if name != "meta"})
        self._write("meta")

    def _write(self, table: str) -> None:
        db = self.handles[table]
        for key, value in sorted(self.changes.get(table, {}).items()):
            if value is None:
                self.txn.delete(key, db=db)
        # One call: each single put releases the interpreter's lock, and under load waits for it.
        self.txn.cursor(db).putmulti(sorted(self.puts(table).items()))


def transact(env: Environment, change: Callable[[Transaction], T]) -> T:
    """Run one write transaction, in a larger map as often as necessary.

    Called from the thread that owns this process's writes. ``change`` puts its changes into the
    transaction; it is called again when the map was full.
    """
    while True:
        try:
            with env.begin_write() as txn, ExitStack() as undo:
                tx = Transaction(txn, env.holding.handles)
                result = change(tx)
                if forgotten := tx.puts("tombstones"):
                    with our_errors(env.folder.last_path):
                        size = folder.add_unerased(env.folder, forgotten)
                    undo.callback(folder.take_back_unerased, env.folder, size)
                if writes := not tx.empty():
                    last = _put_change_set(env.outbox, tx) if env.outbox is not None else 0
                    tx.write()
                number, reached = tx.number, (tx.meta(NEXT_ID, 1), tx.meta(LAST_CHANGE, 0))
                txn.commit()
                undo.pop_all()
            if writes:  # one that changes nothing gets no number of its own
                env.committed(number, *reached)
            if writes and env.outbox is not None:
                env.outbox.committed(last)
            return result
        except lmdb.MapFullError:
            copy_and_swap(env, larger=2)


def _put_change_set(outbox: Outbox, tx: Transaction) -> int:
    """Add a copy's transaction its own change set, and delete what was sent.

    Returns the number of the last change set.
    """
    changes, state = shared(tx.changes), msgspec.convert(tx.meta(COPY), CopyState)
    drop_sent(outbox.sent, tx)
    if not changes:
        return state.seq
    state = replace(state, seq=state.seq + 1, epoch=outbox.epoch)
    events = map(codec.id_of, tx.puts("log"))
    unsent = Unsent(state.seq, outbox.epoch, max(events, default=0), pack(changes))
    tx.put(OUTBOX, *encode(unsent))
    tx.set_meta(COPY, state)
    return state.seq


def drop_sent(upto: int, tx: Transaction) -> None:
    """Delete a copy's change sets up to a number, which were sent."""
    for key in tx.keys(OUTBOX):
        if codec.id_of(key) > upto:
            return
        tx.drop(OUTBOX, key)


def change_beside(env: Environment, change: Callable[[Transaction], T]) -> T:
    """Make a change beside the writers, and commit it if nobody else has committed meanwhile.

    So the writers wait for the writing of its rows alone. After ``TRIES`` it is made under the write
    lock.
    """
    for _ in range(TRIES):
        with reading(env) as tx:
            seen, number = env.env, tx.number
            result = change(tx)
        merge = partial(_merge_next, env, seen, number, tx)
        if tx.empty() or env.run(partial(transact, env, merge)):
            return result
    under_lock: T = env.run(partial(transact, env, change))
    return under_lock


def _merge_next(
    env: Environment, seen: object, number: int, ahead: Transaction, tx: Transaction
) -> bool:
    is_next = env.env is seen and tx.number == number + 1
    if is_next:
        tx.merge(ahead.changes)
    return is_next


def copy_and_swap(env: Environment, larger: int = 1) -> None:
    """Replace the generation by a copy, whose map is ``larger`` times as large."""
    present = env.env
    with writing(env), fresh_folder(env.path) as fresh:
        if env.env is present:  # else another process has done it
            copy_out(env, fresh / DATA, larger)
            env.swap(fresh)


@contextmanager
def reading(env: Environment) -> Iterator[Transaction]:
    """Read the committed rows."""
    with env.reading() as (txn, handles):
        yield Transaction(txn, handles)


def read_meta(env: Environment, name: str, default: Any) -> Any:
    """Return a committed row of ``meta``."""
    with reading(env) as tx:
        return tx.meta(name, default)


@contextmanager
def writing(env: Environment) -> Iterator[int]:
    """Hold the write lock of all processes without writing; yields the transaction's number."""
    txn = env.begin_write()
    try:
        yield txn.id()
    finally:
        txn.abort()


def copy_out(env: Environment, to: Path, larger: int = 1) -> int:
    """Write a compact copy of the committed rows to a new file, 0600, flushed.

    Its map is ``larger`` times as large. The writers continue meanwhile.

    Returns:
        The number of the last transaction in it.

    Raises:
        FileExistsError: The file exists.
        StoreDamagedError: It lacks rows; it is removed.
        StoreError: LMDB or the disk refuses; the partial copy is removed.
    """
    with reading(env) as tx:
        write_copy(tx, to, larger * env.map_size)
        return tx.number


def write_copy(tx: Transaction, to: Path, map_size: int, omitting: Sequence[str] = ()) -> None:
    """Write the rows of a transaction to a new file as ``copy_out`` does, but for some tables."""
    os.close(create(to))
    try:
        with open_alone(to, map_size) as out:
            for name in tx.tables():
                if name in omitting:
                    continue
                if _copy_table(tx.cursor(name), out, name) != tx.count(name):
                    raise StoreDamagedError(f"a copy lacks rows of {name}")
            out.sync(True)
    except BaseException as error:
        to.unlink()
        if isinstance(error, lmdb.Error):
            raise StoreFullError(f"cannot copy to {to}: {error}") from error
        raise


def open_alone(file: Path, map_size: int = 0, *, readonly: bool = False) -> lmdb.Environment:
    """Open a file that nobody else has open; ``map_size`` is of one that is made."""
    return lmdb.open(
        str(file),
        subdir=False,
        lock=False,
        sync=False,
        readonly=readonly,
        map_size=map_size,
        max_dbs=MAX_TABLES,
        mode=0o600,
        lib_version=0,
    )


def _copy_table(cursor: "lmdb.Cursor[bytes]", out: lmdb.Environment, name: str) -> int:
    db = out.open_db(name.encode())
    rows = iter(cursor)
    while batch := list(islice(rows, ROWS)):
        with out.begin(write=True) as txn:
            txn.cursor(db).putmulti(batch, append=True)
    with out.begin() as txn:
        return int(txn.stat(db)["entries"])
