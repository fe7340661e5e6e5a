"""The LMDB environment of a store: open it, read, write, replace it by another generation.

Theory of operation. A generation is a folder with LMDB's data and lock file; ``CURRENT`` in the
store's folder names the one that holds. Its map has one size for its life. Every process may write:
LMDB lets one transaction at a time, and frees its lock when a process dies. Whoever replaces the
generation holds the write lock of the old one and of the new one, and whoever has waited for a lock
looks at ``CURRENT`` again. Who reads while it is replaced goes on reading the former one, which is
closed when its last reader has left.
"""

import errno
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, TypeAlias

import lmdb
from loguru import logger

from slowcat_memory.errors import (
    StoreBusyError,
    StoreClosedError,
    StoreDamagedError,
    StoreError,
    StoreFormatError,
    StoreFullError,
    StoreGoneError,
    StoreUnsafeError,
)
from slowcat_memory.store.disk import folder
from slowcat_memory.store.disk.folder import RENEW_S, KnownFolder, vouch
from slowcat_memory.store.disk.outbox import OUTBOX, Outbox
from slowcat_memory.store.disk.page_reader import FORMAT_KEY, MAX_TABLES, is_of_another_format
from slowcat_memory.store.disk.tables import NAMES

Handles: TypeAlias = "dict[str, lmdb._Database]"
Txn: TypeAlias = "lmdb.Transaction[bytes]"

MAX_READERS = 510
MAP_BYTES_32_BIT = 512 << 20  # contiguous address space that a 32-bit process can map
REOPEN_TIMEOUT_S = 10.0  # how long opening another generation waits for readers
CLOSE_TIMEOUT_S = 2.0
LONGEST_READ_S = 5.0  # of a snapshot: pages that are freed while it is held are not used again

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
READ_ONLY = (errno.EROFS, errno.EACCES, errno.EPERM)
# The machine or its settings are at fault, not the file.
SYSTEM = (*FULL, *READ_ONLY, errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.ENOENT)
# The record is at fault, not the disk: a retry changes nothing.
POISON = (lmdb.BadValsizeError, lmdb.TxnFullError, lmdb.KeyExistsError, lmdb.PageFullError)
# The environment is unusable until it is reopened.
BROKEN = (lmdb.CorruptedError, lmdb.PageNotFoundError, lmdb.PanicError, lmdb.InvalidError)

_open_here: set[tuple[int, int]] = set()  # folders whose lock file LMDB has open in this process


def map_bytes(gib: float) -> int:
    """Return the address space to reserve, in bytes: a multiple of the page size."""
    wanted = int(gib * (1 << 30)) // 65536 * 65536
    return wanted if sys.maxsize > 1 << 32 else min(wanted, MAP_BYTES_32_BIT)


def pages_of(stat: "lmdb._StatDict") -> int:
    """Return how many pages a table has, of its counts by LMDB."""
    return stat["branch_pages"] + stat["leaf_pages"] + stat["overflow_pages"]


class Generation:
    """An open LMDB environment, the handles of its tables, and how many read in it."""

    def __init__(self, env: lmdb.Environment, path: Path, place: Path) -> None:
        """Take an environment that was opened in a store's folder, with its data file at ``place``.

        The folder may be moved; ``place`` in it stays.
        """
        self.env, self.place, file = env, place, path / place
        self.name = "" if place.parent == Path() else place.parent.name
        self.handles: Handles = {}
        self.readers = 0
        self.current = self.files = (0, 0)  # of CURRENT, and of its own files, when it was opened
        self.data_fd = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
        self.least_size = os.fstat(self.data_fd).st_size

    def check_size(self) -> None:
        """Check that the file was not cut: reading what is missing would kill the process."""
        if os.fstat(self.data_fd).st_size < self.least_size:
            raise StoreDamagedError(
                f"{self.place} was cut while it was open",
                hint="Start the agent again: that recovers what can be read.",
            )

    def close(self) -> None:
        """Close it; idempotent. Readers that are inside lose their transaction."""
        if self.data_fd >= 0:
            os.close(self.data_fd)
            self.data_fd = -1
            self.env.close()


class Environment:
    """The generation that holds, and former ones that are still read."""

    def __init__(
        self,
        path: Path,
        *,
        map_size: int = 0,
        readonly: bool = False,
        metasync: bool = True,
        outbox: Outbox | None = None,
        is_copy: bool = False,
    ) -> None:
        """Open it, and create it if missing.

        Args:
            map_size: Of a generation made here; one that exists keeps its own.
            metasync: Flush the meta page at each commit.
            outbox: Gets the change set of each transaction, where the store is a copy.
            is_copy: Have a table of change sets in a store made here.

        Raises:
            StoreBusyError: This process has it open already.
            StoreDamagedError: The file is not a store.
            StoreFormatError: Another version wrote it; it is left as it is.
            StoreError: LMDB cannot open it, for another reason.
        """
        with our_errors(path):
            self.folder = KnownFolder(path)
        self.readonly = readonly
        self._map_size = map_size
        self._metasync = metasync
        self.outbox, self._is_copy = outbox, is_copy or outbox is not None
        # Runs a function on the thread that owns this process's writes, between two transactions.
        self.run: Callable[[Callable[[], Any]], Any] = lambda change: change()
        self._changed = threading.Condition()
        self._shut = False
        self._holding: Generation | None = None
        self._former: list[Generation] = []
        # By number of each transaction of this process, up to where the log and ``changes`` went.
        self._written: dict[int, tuple[int, int]] = {}
        self._renew_at = 0.0  # the time of STATE
        with folder.or_undo(self.folder.close):
            if self.folder.id in _open_here:
                raise StoreBusyError(
                    f"{path} is already open in this process", hint="Share the open store."
                )
            self._holding = self._open()
        _open_here.add(self.folder.id)

    @property
    def path(self) -> Path:
        """Where its folder is now.

        Raises:
            StoreGoneError: The folder was deleted, or cannot be found.
        """
        return self.folder.path

    def _open(self) -> Generation:
        while True:
            current = self.folder.stamp_of(folder.CURRENT)
            path = folder.generation(self.path)
            try:
                opened = self._open_generation(path)
            except StoreError:
                if folder.generation(self.path) == path:
                    raise
            else:
                opened.current = current
                if self.folder.stamp_of(folder.CURRENT) == current:
                    return opened
                opened.close()  # another process replaced it meanwhile

    def _open_generation(self, path: Path) -> Generation:
        is_there = (path / folder.DATA).exists()
        with our_errors(path), ExitStack() as undo:
            locked = self._prepare_lock(path)
            env = lmdb.open(
                str(path),
                map_size=0 if is_there else self._map_size,
                readonly=self.readonly,
                create=not (self.readonly or is_there),
                lock=locked,
                metasync=self._metasync,
                max_dbs=MAX_TABLES,
                max_readers=MAX_READERS,
                mode=0o600,
                lib_version=0,
            )
            generation = Generation(env, self.path, path.relative_to(self.path) / folder.DATA)
            undo.callback(generation.close)
            generation.handles = self._open_tables(env)
            if not self.readonly:
                env.reader_check()
            generation.files = self._inodes(generation)
            undo.pop_all()
        return generation

    def _prepare_lock(self, path: Path) -> bool:
        """Make sure that LMDB's lock file can be mapped safely; return whether to use one."""
        if self.readonly and not (path / folder.LOCK).exists():
            return False
        try:
            if not (self.readonly and folder.is_allocated(path / folder.LOCK)):
                folder.allocate_lock(path)
        except OSError as error:  # LMDB reads without it where the disk is read-only
            if not (self.readonly and error.errno in READ_ONLY):
                raise
        return True

    def _open_tables(self, env: lmdb.Environment) -> Handles:
        with env.begin() as txn:
            present = {key for key, _ in txn.cursor()}
            meta = env.open_db(b"meta", txn=txn, create=False) if b"meta" in present else None
            if meta is not None and is_of_another_format(txn.get(FORMAT_KEY, db=meta)):
                raise StoreFormatError(
                    f"{self.path} has the format of another version of slowcat-memory"
                )
        names = (*NAMES, OUTBOX) if self._is_copy or OUTBOX.encode() in present else NAMES
        if self.readonly:
            if not present:
                raise StoreError(f"no memory at {self.path} yet", hint="Start the agent once.")
            return {name: env.open_db(name.encode(), create=False) for name in names}
        # In one transaction, so that a new store has all of them or none.
        with env.begin(write=True) as txn:
            return {name: env.open_db(name.encode(), txn=txn) for name in names}

    def _inodes(self, held: Generation) -> tuple[int, int]:
        lock = held.place.with_name(folder.LOCK)
        return self.folder.stamp_of(str(held.place))[0], self.folder.stamp_of(str(lock))[0]

    def is_current(self) -> bool:
        """Return whether no other process replaced the open generation; 1.4 us."""
        held = self._holding
        return held is not None and held.current == self.folder.stamp_of(folder.CURRENT)

    def check_in_place(self) -> None:
        """Check that the open file is still the one in the folder: else a write would be lost.

        Raises:
            StoreGoneError: It, or the folder, was deleted, or replaced by somebody else's.
        """
        held = self.holding
        if self._inodes(held) != held.files and self.is_current():
            raise StoreGoneError(
                f"{self.folder.last_path / held.place} was deleted or replaced while it was open",
                hint="Put it back, or start the agent again.",
            )
        held.check_size()

    @property
    def holding(self) -> Generation:
        """The open generation; raises ``StoreClosedError`` when it is closed."""
        if self._holding is None:
            raise StoreClosedError("the store is closed")
        return self._holding

    @property
    def env(self) -> lmdb.Environment:
        """The open LMDB environment; raises ``StoreClosedError`` when it is closed."""
        return self.holding.env

    @contextmanager
    def reading(self) -> Iterator[tuple[Txn, Handles]]:
        """Open a read transaction; it and the tables' handles are valid until the block ends.

        Raises:
            StoreError: LMDB refused twice.
        """
        with self._changed:
            if self.readonly and not self._shut and not self.is_current():
                self.reopen()
            held = self.holding
            held.readers += 1
        try:
            held.check_size()
            try:
                txn = held.env.begin()
            except lmdb.Error:
                held.env.reader_check()
                txn = held.env.begin()
            began = time.monotonic()
            try:
                yield txn, held.handles
            finally:
                txn.abort()
                if (took := time.monotonic() - began) > LONGEST_READ_S:
                    logger.warning("a snapshot was held for {:.0f} s: the file grows faster", took)
        except lmdb.Error as error:
            message = f"cannot read {self.folder.last_path}: {error}"
            if isinstance(error, BROKEN):
                hint = "`slowcat-memory doctor --repair` recovers it."
                raise StoreDamagedError(message, hint=hint) from error
            raise StoreError(message) from error
        finally:
            with self._changed:
                held.readers -= 1
                self._close_former()

    def begin_write(self) -> Txn:
        """Begin the one write transaction of all processes; from the writer thread only."""
        while True:
            self.follow()
            self.check_in_place()
            if (now := time.monotonic()) >= self._renew_at:
                self._renew_at = now + RENEW_S
                with suppress(OSError):
                    os.utime(folder.STATE, dir_fd=self.folder.fd)
            txn = self.env.begin(write=True)  # waits for other processes
            if self.is_current():
                return txn
            txn.abort()

    def committed(self, number: int, next_event: int, last_change: int) -> None:
        """Record that a transaction of this process was committed, and how far the rows go now."""
        self._written[number] = next_event, last_change

    def own(self, after: int, upto: int) -> tuple[int, int] | None:
        """Return how far the rows go if all transactions behind one, up to another, are ours.

        Those up to ``after`` are not asked for again.
        """
        for number in [number for number in self._written if number <= after]:
            del self._written[number]
        ours = all(number in self._written for number in range(after + 1, upto + 1))
        return self._written[upto] if ours else None

    @property
    def map_size(self) -> int:
        """Bytes of address space that the generation reserves."""
        return int(self.env.info()["map_size"])

    def last_transaction(self) -> int:
        """Return the number of the last transaction of the generation; 0.4 us."""
        return int(self.env.info()["last_txnid"])

    def swap(self, fresh: Path) -> None:
        """Replace the generation by ``fresh``, a folder in the store's with a data file.

        From the writer thread, inside a write transaction of the present one.
        """
        place = folder.name_generation(self.path, fresh)
        opened = None
        try:
            opened = self._open_generation(place)
            with opened.env.begin(write=True):  # nobody commits there what a power loss takes back
                folder.point_to(self.path, place)
        finally:
            if opened is not None and folder.generation(self.path) == place:
                opened.current = self.folder.stamp_of(folder.CURRENT)
                self._take(opened)
            else:
                if opened is not None:
                    opened.close()
                folder.remove(place)
        vouch(self.path)
        if not folder.remove_former(self.path):
            raise StoreError(f"former files in {self.path} cannot be deleted")

    def follow(self) -> None:
        """Open the generation that holds, if another process made it. Waits for its writer."""
        if not (self._shut or self.is_current()):
            self.reopen()

    def _take(self, generation: Generation) -> None:
        with self._changed:
            self._leave()
            self._holding, self._written = generation, {}
            self._close_former()

    def reopen(self) -> None:
        """Open the generation that holds: it is another, or LMDB reported a fatal error."""
        held = self._holding
        if held is not None and folder.data_file(self.path) != self.path / held.place:
            return self._take(self._open())
        with self._changed:
            self._retire(REOPEN_TIMEOUT_S)  # LMDB does not open a file twice
            self._take(self._open())

    def _retire(self, timeout: float) -> None:
        """Close all; readers that stay inside for longer lose their transaction."""
        self._leave()
        self.wait_for_readers(timeout)
        for former in self._former:
            former.close()
        self._former.clear()

    def _leave(self) -> None:
        if self._holding is not None:
            self._former.append(self._holding)
            self._holding = None

    def _close_former(self) -> None:
        for former in self._former:
            if not former.readers:
                former.close()
        self._former = [former for former in self._former if former.readers]
        self._changed.notify_all()

    def wait_for_readers(self, timeout: float) -> bool:
        """Wait until nobody reads a former generation; return whether that is so."""
        with self._changed:
            self._close_former()
            return self._changed.wait_for(lambda: not self._former, timeout)

    def close(self, timeout: float = CLOSE_TIMEOUT_S) -> None:
        """Close it; idempotent. Readers that are inside lose their transaction after a time."""
        self._shut = True
        with self._changed:
            self._retire(timeout)
        _open_here.discard(self.folder.id)
        self.folder.close()

    def close_after_fork(self) -> None:
        """Close it in a forked child, which may then open it anew; the parent's stays open."""
        self._changed = threading.Condition()  # a thread of the parent may hold the former one
        self.close(0.0)


@contextmanager
def our_errors(path: Path) -> Iterator[None]:
    """Raise every error of LMDB and of the disk as the matching ``StoreError``."""
    try:
        yield
    except OSError as error:
        raise disk_error(path, error) from error
    except lmdb.Error as error:
        message = f"cannot open {path}: {error}"
        if "already open" in str(error):
            raise StoreBusyError(message, hint="Share the open store.") from error
        if error.code in FULL:
            raise disk_error(path, OSError(error.code, os.strerror(error.code))) from error
        if error.code in SYSTEM or isinstance(error, lmdb.MemoryError | lmdb.VersionMismatchError):
            raise StoreError(message) from error
        raise StoreDamagedError(message) from error


def disk_error(path: Path, error: OSError) -> StoreError:
    """Return the ``StoreError`` for what the disk or the system refused."""
    reason = os.strerror(error.errno) if error.errno else error.strerror or str(error)
    message = f"{error.filename or path}: {reason}"
    if error.errno in FULL:
        return StoreFullError(f"the disk is full at {message}", hint="Make room on the disk.")
    if error.errno in READ_ONLY:
        return StoreUnsafeError(f"cannot write {message}", hint="Make it writable.")
    if error.errno == errno.EIO:
        return StoreError(f"the disk fails at {message}", hint="Replace it; restore a backup.")
    return StoreError(f"the disk refuses {message}", hint="See the system's log for its reason.")


def as_store_error(error: Exception) -> StoreError:
    """Return the matching ``StoreError``: the record, the file or the disk is at fault."""
    if isinstance(error, StoreError):
        return error
    if isinstance(error, BROKEN):
        return StoreDamagedError(f"the store fails: {error}", hint="Start the agent again.")
    if isinstance(error, lmdb.Error):
        return StoreFullError(f"the disk refuses: {error}", hint="Make room on the disk.")
    if isinstance(error, OSError):
        return disk_error(Path(), error)
    return StoreError(f"this cannot be saved: {error}")
