"""The LMDB environment behind a gate: open it, read, write, let it grow, swap its file.

Theory of operation. Growing the map and swapping the data file both invalidate every open read
transaction, and LMDB requires the caller to ensure that there is none. So each read enters the
gate, and the two operations close it first. A swap also replaces LMDB's lock file: its reader table
has the number of the last transaction, which a compacted copy restarts, and an old lock file (still
mapped by a reading process) would make readers use the empty meta page.
"""

import fcntl
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

import lmdb

from slowcat_memory.errors import (
    StoreBusyError,
    StoreClosedError,
    StoreDamagedError,
    StoreError,
    StoreFullError,
)
from slowcat_memory.pages import give_back
from slowcat_memory.store.disk.canary import is_file_damage
from slowcat_memory.store.disk.envelope import MAX_TABLES
from slowcat_memory.store.disk.folder import DATA, LOCK, sync_dir
from slowcat_memory.store.disk.locks import folder_lock
from slowcat_memory.store.disk.tables import NAMES

Handles: TypeAlias = "dict[str, lmdb._Database]"
Txn: TypeAlias = "lmdb.Transaction[bytes]"
Changes: TypeAlias = "dict[str, dict[bytes, bytes | None]]"  # by table and key; None for a deletion

MAX_READERS = 510
MAP_BYTES_32_BIT = 512 << 20  # contiguous address space that a 32-bit process can map
GROW_TIMEOUT_S = 10.0  # how long growing the map waits for readers
CLOSE_TIMEOUT_S = 2.0

# The record is at fault, not the disk: a retry changes nothing.
POISON = (lmdb.BadValsizeError, lmdb.TxnFullError, lmdb.KeyExistsError, lmdb.PageFullError)
# The environment is unusable until it is reopened.
BROKEN = (lmdb.CorruptedError, lmdb.PageNotFoundError, lmdb.PanicError, lmdb.InvalidError)


def map_bytes(gib: float) -> int:
    """Return the address space to reserve, in bytes: a multiple of the page size."""
    wanted = int(gib * (1 << 30)) // 65536 * 65536
    return wanted if sys.maxsize > 1 << 32 else min(wanted, MAP_BYTES_32_BIT)


class ReaderGate:
    """Admits many readers, or one thread that has closed it.

    Threads are inside for a read transaction, so for micro- to milliseconds. A thread that is
    inside may enter again while the gate closes, or it would wait for itself.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._inside = 0
        self._closed = False
        self._mine = threading.local()

    def is_inside(self) -> bool:
        return bool(getattr(self._mine, "depth", 0))

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Enter the gate; waits while it is closed."""
        depth = getattr(self._mine, "depth", 0)
        with self._changed:
            while self._closed and not depth:
                self._changed.wait()
            self._inside += 1
        self._mine.depth = depth + 1
        try:
            yield
        finally:
            self._mine.depth = depth
            with self._changed:
                self._inside -= 1
                self._changed.notify_all()

    @contextmanager
    def closed(self, timeout: float) -> Iterator[bool]:
        """Block new readers and wait until those inside have left; yield False on timeout."""
        deadline = time.monotonic() + timeout
        with self._changed:
            while self._closed:
                self._changed.wait()
            self._closed = True
            while self._inside and (left := deadline - time.monotonic()) > 0:
                self._changed.wait(left)
            empty = not self._inside
        try:
            yield empty
        finally:
            with self._changed:
                self._closed = False
                self._changed.notify_all()


class Environment:
    """One LMDB environment and the handles of its tables."""

    def __init__(
        self, path: Path, *, map_size: int, readonly: bool = False, metasync: bool = True
    ) -> None:
        """Open it, and create it if missing; ``metasync`` flushes the meta page per commit.

        Raises:
            StoreBusyError: This process has it open already.
            StoreDamagedError: The file is not a store.
            StoreError: LMDB cannot open it, for another reason.
        """
        self.path = path
        self.readonly = readonly
        self._map_size = map_size
        self._metasync = metasync
        self._gate = ReaderGate()
        self._shut = False
        self._env: lmdb.Environment | None = None
        self._files: tuple[int, int] = (0, 0)
        self.handles: Handles = {}
        self._records: list[list[Changes]] = []
        with folder_lock(path, fcntl.LOCK_SH):
            self._open()

    def _open(self) -> None:
        self._files = self._inodes()
        try:
            self._env = lmdb.open(
                str(self.path),
                map_size=self._map_size,
                readonly=self.readonly,
                create=not self.readonly,
                lock=not self.readonly or (self.path / LOCK).exists(),
                metasync=self._metasync,
                max_dbs=MAX_TABLES,
                max_readers=MAX_READERS,
                mode=0o600,
                lib_version=0,
            )
            self.handles = self._open_tables(self._env)
        except lmdb.Error as error:
            raise _open_error(self.path, error) from error
        if not self.readonly:
            self._files = self._inodes()
            self._env.reader_check()

    def _open_tables(self, env: lmdb.Environment) -> Handles:
        if self.readonly:
            with env.begin() as txn:
                present = [key for key, _ in txn.cursor()]
            return {name.decode(): env.open_db(name, create=False) for name in present}
        # In one transaction, so that a new store has all of them or none.
        with env.begin(write=True) as txn:
            return {name: env.open_db(name.encode(), txn=txn) for name in NAMES}

    def _inodes(self) -> tuple[int, int]:
        return _inode(self.path / DATA), _inode(self.path / LOCK)

    @property
    def env(self) -> lmdb.Environment:
        """The open LMDB environment; raises ``StoreClosedError`` when it is closed."""
        if self._env is None:
            raise StoreClosedError("the store is closed")
        return self._env

    @contextmanager
    def reading(self) -> Iterator[tuple[Txn, Handles]]:
        """Open a read transaction; it and the tables' handles are valid until the block ends.

        Raises:
            StoreError: LMDB refused twice.
        """
        if self.readonly and self._files != self._inodes() and not self._gate.is_inside():
            self.reopen()
        with self._gate.reading():
            txn = self._begin_read()
            try:
                yield txn, self.handles
            finally:
                txn.abort()

    def _begin_read(self) -> Txn:
        try:
            return self.env.begin()
        except lmdb.MapResizedError:
            self.env.set_mapsize(0)
        except lmdb.Error:
            self.env.reader_check()
        try:
            return self.env.begin()
        except lmdb.Error as error:
            raise StoreError(f"cannot read {self.path}: {error}") from error

    def begin_write(self) -> Txn:
        """Begin the one write transaction; from the writer thread only."""
        if self._env is None and not self._shut:
            self._open()  # an earlier swap could not open it
        return self.env.begin(write=True)

    @contextmanager
    def recording(self) -> Iterator[list[Changes]]:
        """Record the changes of every transaction that is committed in the block, in order."""
        record: list[Changes] = []
        self._records.append(record)
        try:
            yield record
        finally:
            self._records = [other for other in self._records if other is not record]

    def record(self, changes: Changes) -> None:
        for record in self._records:
            record.append(changes)

    def release_pages(self) -> None:
        """Let the system drop the file's pages from memory; they are loaded again when read."""
        with self.reading():  # so that the map stays at its address
            give_back(self.path / DATA)

    def grow(self) -> None:
        """Double the map; from the writer thread, outside a transaction.

        A reader that stays inside for longer than ``GROW_TIMEOUT_S`` loses its transaction: the
        turns that wait to be saved come first.
        """
        with self._gate.closed(GROW_TIMEOUT_S):
            self._map_size = 2 * int(self.env.info()["map_size"])
            self.env.set_mapsize(self._map_size)

    def swap(self, fresh: Path, timeout: float) -> bool:
        """Replace the data file by ``fresh``, a flushed file in its folder; from the writer thread.

        Returns:
            False when a reader stayed inside: nothing has changed.
        """
        with self._gate.closed(timeout) as empty:
            if not empty:
                return False
            with folder_lock(self.path, fcntl.LOCK_EX):
                self._close()
                try:
                    os.replace(fresh, self.path / DATA)
                    (self.path / LOCK).unlink(missing_ok=True)
                    sync_dir(self.path)
                finally:
                    self._open()
        return True

    def reopen(self) -> None:
        """Reopen the folder's file: another process swapped it, or LMDB reported a fatal error."""
        with self._gate.closed(GROW_TIMEOUT_S), folder_lock(self.path, fcntl.LOCK_SH):
            self._close()
            self._open()

    def _close(self) -> None:
        if self._env is not None:
            self._env.close()
            self._env, self.handles = None, {}

    def close(self) -> None:
        """Close it; idempotent. Readers that are inside lose their transaction."""
        self._shut = True
        with self._gate.closed(CLOSE_TIMEOUT_S):
            self._close()


def _inode(path: Path) -> int:
    try:
        return path.stat().st_ino
    except FileNotFoundError:
        return 0


def _open_error(path: Path, error: lmdb.Error) -> StoreError:
    message = f"cannot open {path}: {error}"
    if "already open" in str(error):
        return StoreBusyError(message, hint="Share the open store.", pid=os.getpid())
    return StoreDamagedError(message) if is_file_damage(error) else StoreError(message)


def as_store_error(error: Exception) -> StoreError:
    """Return the matching ``StoreError``: the record, the file or the disk is at fault."""
    if isinstance(error, StoreError):
        return error
    if isinstance(error, BROKEN):
        return StoreDamagedError(f"the store fails: {error}", hint="Start the agent again.")
    if isinstance(error, lmdb.Error):
        return StoreFullError(f"the disk refuses: {error}", hint="Make room on the disk.")
    return StoreError(f"this cannot be saved: {error}")
