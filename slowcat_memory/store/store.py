"""The store: append, apply, forget, snapshot.

Theory of operation. Every process writes, on one thread (see ``sharing``). Callers on any thread put
their writes into the ``WriteQueue``; the ``Writer`` saves them in order, many per transaction, and
resolves their receipts once they are on disk. Readers take snapshots: LMDB read transactions, which
wait for nobody. With ``durability="full"`` a write whose receipt is done survives a kill and a
power loss.
"""

import atexit
import os
import shutil
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from datetime import datetime
from functools import lru_cache, partial
from pathlib import Path
from typing import TypeVar

from loguru import logger
from msgspec.structs import replace

from slowcat_memory.core.retention import HOT, TierOptions
from slowcat_memory.core.text_caches import forget_texts
from slowcat_memory.errors import StoreClosedError, StoreError, StoreFullError
from slowcat_memory.metrics import Metrics
from slowcat_memory.records import (
    Cursor,
    Event,
    Forget,
    Forgotten,
    LedgerEntry,
    Manifest,
    TrustedTime,
    WriteBatch,
)
from slowcat_memory.store import bookkeeping, forget
from slowcat_memory.store.apply import append_events, apply_batch
from slowcat_memory.store.blocks import KEPT_BLOCKS, read_block
from slowcat_memory.store.care import copies, health
from slowcat_memory.store.care import open as opening
from slowcat_memory.store.care.backups import back_up
from slowcat_memory.store.care.copies import backups_of
from slowcat_memory.store.care.health import Health
from slowcat_memory.store.disk import folder, transaction
from slowcat_memory.store.disk.folder import COMMANDS, ERASING, IDLE, damaged_folders
from slowcat_memory.store.disk.outbox import Outbox
from slowcat_memory.store.disk.tables import CLOCK
from slowcat_memory.store.options import OpenReport, StoreOptions, utc_now
from slowcat_memory.store.replica import Replica
from slowcat_memory.store.sharing import alone, if_free
from slowcat_memory.store.snapshot import BeforeRead, Snapshot
from slowcat_memory.store.tier_mover import TierMover
from slowcat_memory.store.writer import Ack, Change, Write, WriteQueue, Writer

CLOSE_TIMEOUT_S = 2.0
ERASING_S = 60.0  # how long an erasure waits for another one
MAX_QUARANTINED = 1000  # keys remembered; more are only counted

T = TypeVar("T")
OnTrouble = Callable[[StoreError], None]


class Store:
    """The log of all turns, and every record derived from it.

    Safe to use from any thread. Once it is closed, and in a forked child, every method that reads
    or writes raises ``StoreClosedError``. A write raises ``StoreFullError`` at once when too many
    events wait to be saved; a derived write also when the disk is nearly full.

    Attributes:
        opened: The report of opening it.
        quarantined: (table, key) of records that did not read back as written.
        replica: What sends its changes elsewhere; None unless it was opened as a copy.
    """

    def __init__(
        self,
        opened: "opening.Opened",
        options: StoreOptions,
        on_trouble: OnTrouble,
        on_back: Callable[[], None],
        now: Callable[[], datetime],
        metrics: Metrics,
    ) -> None:
        self.readonly = opened.env.readonly
        self.opened: OpenReport = opened.report
        self.quarantined: set[tuple[str, bytes]] = set()
        self._env, self._resources = opened.env, opened
        self._options = options
        self._now = now
        self._metrics = metrics
        self._scarce, self._look_at_disk = False, 0.0
        self.closed = False
        take = opened.ids.take if opened.ids else lambda count: 0
        self._queue = WriteQueue(options.queue_limit, take)
        self._read_block = lru_cache(KEPT_BLOCKS)(read_block)
        self._tier_mover = TierMover(self._env, self._commit_beside, self._read_block)
        self.on_others: Callable[[], None] = self._let_go
        self._seen = "", -1
        self._writer: Writer | None = None
        if not self.readonly:
            self._let_go()
            self._writer = Writer(
                self._env, self._queue, options, on_trouble, on_back, metrics, self._look_around
            )
            self._env.run = self._writer.call
        self.replica: Replica | None = None
        if self._env.outbox is not None and self._writer is not None:
            self.replica = Replica(self._env, self._env.outbox)
        _open.add(self)

    @property
    def path(self) -> Path:
        """Where its folder is now: it may be moved while the store is open.

        Raises:
            StoreGoneError: It was deleted, or cannot be found.
        """
        return self._env.path

    @property
    def folder_id(self) -> tuple[int, int]:
        """Device and inode of its folder."""
        return self._env.folder.id

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        readonly: bool = False,
        options: StoreOptions = StoreOptions(),
        on_trouble: OnTrouble = lambda error: None,
        on_back: Callable[[], None] = lambda: None,
        now: Callable[[], datetime] = utc_now,
        metrics: Metrics | None = None,
        outbox: Outbox | None = None,
    ) -> "Store":
        """Open a store, or create it if there is none. May take seconds after a crash.

        A damaged store is moved aside and replaced by its readable records; see ``opened``.

        Args:
            readonly: Creates nothing.
            on_trouble: Called on the writer thread, once each time that the disk begins to refuse.
            on_back: Called on it, once the disk accepts again.
            outbox: For a copy of a memory in a database: numbers and keeps what is to be sent.

        Raises:
            StoreBusyError: Another process is opening it, and has not ended after a while.
            StoreUnsafeError: The folder cannot hold a store safely.
            StoreFormatError: It has the format of another version.
            StoreError: There is none to read.
        """
        path = Path(path).absolute()
        if readonly:
            opened = opening.to_read(path, options)
        else:
            opened = opening.to_write(path, options, now, outbox)
        return cls(opened, options, on_trouble, on_back, now, metrics or Metrics())

    # ------------------------------------------------------------------- write

    def append(self, event: Event, *, cursor: Cursor | None = None) -> Ack:
        """Append an event to the log. Never waits: numbered now, saved by the writer thread.

        The receipt has the numbered event. ``cursor`` is written in the same transaction.
        """
        return self.append_all((event,), cursor)[0]

    def wake_writer(self) -> None:
        """Wake the writer to save events that were appended quietly."""
        self._queue.wake_writer()

    def append_all(
        self, events: Sequence[Event], cursor: Cursor | None = None, *, quiet: bool = False
    ) -> list[Ack]:
        """Append events, at least one and in order, in one transaction: all of them or none.

        A negative ``reply_to`` counts back from its turn: -1 is the event before it in this call.
        Returns one receipt per event; they share one future. With ``quiet`` the writer sleeps until
        ``wake_writer``: waking a thread costs more than the rest.
        """
        self._checked_writer()
        return self._queue.add_events(
            events, lambda numbered: partial(append_events, numbered, cursor), quiet=quiet
        )

    def apply(self, job: str, batch: WriteBatch) -> Ack:
        """Write all results of one step in one transaction: drops, puts, the cursor.

        Records derived from something deleted meanwhile are skipped, as is a vector whose memory or
        index key does not exist. ``job`` names the counter.
        """
        self._metrics.count(f"store_apply_{job}")
        return self._write_derived(partial(apply_batch, batch))

    def write_ledger(self, entry: LedgerEntry) -> Ack:
        return self._write_derived(partial(bookkeeping.write_ledger, entry))

    def publish(self, manifest: Manifest) -> Ack:
        """Write the manifest of a sealed index; fails if rows were deleted since the build."""
        return self._write(partial(bookkeeping.publish, manifest))

    def write_trusted_time(self, time: TrustedTime) -> Ack:
        """Write what is known of the clock; it does not count as unsaved."""
        self._checked_writer()
        return self._queue.add(Write(lambda tx: tx.set_meta(CLOCK, time), weight=0, derived=False))

    def _write_derived(self, change: Change) -> Ack:
        """Queue a write that can wait until the disk has room."""
        self._check_room()
        return self._write(change)

    def _commit_beside(self, change: Callable[[transaction.Transaction], T]) -> T:
        """Make and commit a change that can wait until the disk has room. Blocks."""
        self._check_room()
        return transaction.change_beside(self._env, change)

    def _check_room(self) -> None:
        self._checked_writer()
        if (now := time.monotonic()) >= self._look_at_disk:
            self._look_at_disk = now + folder.CHECK_FREE_EVERY_S
            with suppress(OSError):  # its disk is gone
                free = shutil.disk_usage(self._env.folder.fd).free
                self._scarce = free < self._options.min_free_mb * folder.MB
        if self._scarce:
            raise StoreFullError("the disk is nearly full", hint="Make room on the disk.")

    def _write(self, change: Change) -> Ack:
        self._checked_writer()
        return self._queue.add(Write(change))

    # ------------------------------------------------------------------- forget

    def forget(
        self,
        what: Forget | Sequence[Forget],
        *,
        erase: bool = True,
        on_hidden: Callable[[Forgotten], object] = lambda gone: None,
    ) -> Forgotten:
        """Delete everything that the requests cover, with everything derived from it. Blocks.

        One transaction deletes the rows: from then on no snapshot shows them. It is made beside
        the other writers, who wait only while it is written. Then ``erase`` removes the bytes, at
        about 3 s per million rows; a kill only puts that off. Everything appended before is saved
        first, so it is covered. Several requests cost one pass over the store, as one does.

        Args:
            erase: Erase at once; else call ``erase`` soon.
            on_hidden: Called with the result once nothing of it is shown any more.

        Raises:
            ValueError: A request has no condition, or there is none.
            StoreError: It could not be deleted; nothing is deleted.
        """
        requests = forget.checked(what)
        self._checked_writer().call(lambda: None)  # everything appended before is saved
        with self._erasing():
            gone = forget.forget(self._env, requests)
            self._read_block.cache_clear()  # a reader may have unpacked a block until now
            if gone.turns or gone.memories:
                on_hidden(gone)
            if erase:
                done = copies.erase(self._env)
                return replace(done, turns=gone.turns, memories=gone.memories)
            return replace(gone, erased=not copies.is_due(self._env))

    def covered(self, what: Forget | Sequence[Forget]) -> Forgotten:
        """Return what ``forget`` would delete from the saved rows; changes nothing."""
        requests = forget.checked(what)
        self._check_open()
        with transaction.reading(self._env) as tx:
            gone = forget.select(requests, tx).result()
        remains = tuple(map(str, sorted(damaged_folders(self.path))))
        return replace(gone, backups_deleted=len(backups_of(self.path)), remains=remains)

    def erase(self) -> bool:
        """Remove the bytes of all deleted rows from the disk. Blocks.

        Rewrites the file, and removes every older copy in the store's folder: sealed indexes,
        backups, files that a restored backup replaced. Backups elsewhere are the caller's, and
        files of damaged stores stay. Does nothing when nothing is due. Returns False when something
        prevented it; it is then tried by upkeep, at the next forget and at the next open.
        """
        self._checked_writer().call(lambda: None)  # not from the writer's thread
        with self._erasing():
            return not copies.erase(self._env).problems

    def is_erasing(self) -> bool:
        """Return whether bytes of deleted rows are still to be removed."""
        return copies.is_due(self._env)

    def _erasing(self) -> AbstractContextManager[None]:
        """One erasure, rewrite or backup at a time, of all processes and threads."""
        return nullcontext() if self.readonly else alone(self.path / ERASING, ERASING_S)

    # ------------------------------------------------------------------- other processes

    def _look_around(self) -> None:
        """See what other processes did; on the writer's thread, some times a second and after a write."""
        self._env.follow()
        self.on_others()

    def _let_go(self) -> None:
        seen, self._seen = self._seen, self.last_transaction()
        if self._seen == seen or (
            self._seen[0] == seen[0] and self._env.own(seen[1], self._seen[1]) is not None
        ):
            return
        with self.snapshot() as snapshot:
            epoch, last = snapshot.forget_epoch(), snapshot.last_id()
        self._queue.pass_own(last)
        self.let_go(epoch)

    def let_go(self, epoch: int) -> None:
        """Confirm that this process holds nothing of what was forgotten, up to an epoch."""
        presence, generation = self._resources.presence, self._env.holding.name
        if presence is not None and presence.needs(epoch, generation):
            self._read_block.cache_clear()
            forget_texts()
            self._env.wait_for_readers(0.0)
            presence.confirm(epoch, generation)

    def pass_own(self, upto: int) -> set[int]:
        """Return, and forget, the ids up to one that this process gave to events."""
        return self._queue.pass_own(upto)

    def commanding(self) -> AbstractContextManager[None]:
        """One change of the commands' rows at a time, of all processes: their ids rise."""
        return alone(self.path / COMMANDS, ERASING_S)

    def idle_turn(self) -> AbstractContextManager[bool]:
        """Whether this process may do a step of idle work in the block: one at a time may."""
        return nullcontext(True) if self.readonly else if_free(self.path / IDLE)

    def own(self, after: int, upto: int) -> tuple[int, int] | None:
        """Return the next event and last change if all transactions between two are ours."""
        return self._env.own(after, upto)

    def last_transaction(self) -> tuple[str, int]:
        """Return the generation, and the number of its last transaction; some microseconds."""
        if self.readonly:
            self._env.follow()
        return self._env.holding.name, self._env.last_transaction()

    # ------------------------------------------------------------------- read

    @contextmanager
    def snapshot(self, before_read: BeforeRead = lambda: None) -> Iterator[Snapshot]:
        """Open a consistent view of the committed rows. Never hold it across an ``await``.

        Args:
            before_read: Called before each read of a row; what it raises ends the reading. For
                background work that gives way.

        Raises:
            StoreError: It cannot be read.
        """
        self._check_open()
        with self._env.reading() as (txn, handles):
            rows = transaction.Rows(txn, handles, before_read, self._quarantine)
            yield Snapshot(rows, self._read_block)

    def _quarantine(self, table: str, key: bytes) -> None:
        self._metrics.count("store_quarantined")
        if len(self.quarantined) < MAX_QUARANTINED:
            self.quarantined.add((table, key))

    # ------------------------------------------------------------------- care

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until everything written before is on disk; return False on timeout.

        Not on the event loop. ``timeout`` is in seconds; None has no limit.
        """
        if self.readonly or self.closed:
            return not self.unsaved()
        return self._queue.wait_saved(timeout)

    def last_id(self) -> int:
        """Return the id of the last event that was accepted, on disk or not; 0 if readonly."""
        return self._queue.last_id

    def unsaved(self) -> int:
        """Return how many events and derived writes are accepted but not on disk."""
        return self._queue.unsaved

    def age(
        self,
        scope: str,
        *,
        hot: int = HOT,
        options: TierOptions = TierOptions(),
        now: datetime | None = None,
        stop: Callable[[], bool] = lambda: False,
    ) -> bool:
        """Move a namespace's old events into compressed blocks. Blocks.

        Works in small transactions, so that other reads and writes continue between them. Results
        of reads do not change. Returns whether nothing more is to be moved.

        Args:
            hot: How many of its latest turns stay as they are.
            stop: Called between transactions; True ends the round.

        Raises:
            StoreError: The store is closed, readonly, or the disk is full; blocks written until
                then remain.
        """
        self._checked_writer()
        return self._tier_mover.run(scope, hot, options, now or self._now(), stop)

    def shrink(self) -> bool:
        """Return the space of deleted rows to the disk. Blocks.

        LMDB's file never shrinks by itself. It is rewritten, as by ``erase``, when that frees more
        than a fifth of it. Returns False when too little would be freed, or a reader prevented it.
        """
        self._checked_writer()
        with self._erasing():
            return copies.shrink(self._env)

    def backup(self, to: Path | None = None) -> Path:
        """Write a copy, 0600, and verify it in another process before it gets its name.

        Args:
            to: The file; it must not exist. None makes one in the store's ``backups`` folder and
                removes the oldest beyond ``backups_keep``.

        Raises:
            StoreError: It exists, the disk refuses, or the copy does not read back.
        """
        self._check_open()
        with self._erasing():  # else it could have what is being deleted
            keep = self._options.backups_keep
            return back_up(self._env, self.snapshot, to, self._now(), keep)

    def copy(self, to: Path) -> None:
        """Write a copy of the saved rows to a new file, 0600, that is no backup.

        Raises:
            StoreError: The disk refuses.
        """
        self._check_open()
        with self._erasing():
            copies.copy_out(self._env, to)

    def health(self) -> Health:
        """Return the state of the store. Reads every row: takes seconds for a large one."""
        self._check_open()
        return health.look(self._env, self._options.min_free_mb)

    def repair(self) -> dict[str, int]:
        """Delete derived rows that do not read back. Blocks.

        Returns how many were deleted, by table.
        """
        return self._checked_writer().call(partial(transaction.transact, self._env, health.repair))

    def close(self, timeout: float = CLOSE_TIMEOUT_S) -> None:
        """Save queued writes, mark the store as cleanly closed, and leave it; idempotent.

        Args:
            timeout: Seconds to save queued writes. Writes not saved by then are lost, and their
                receipts fail with ``StoreClosedError``.
        """
        if self.closed:
            return
        self.closed = True
        _open.discard(self)
        self._queue.close()
        ended = self._writer is None or self._writer.join(timeout)
        lost = self._queue.abandon()
        if lost:
            logger.error("{} events were not saved before the store was closed", lost)
        if ended:  # else the writer still hangs in a flush: it keeps file and lock
            if self.replica is not None:
                self.replica.on_closing()
            self._resources.close()

    def close_after_fork(self) -> None:
        """Close the store in a forked child, which may then open it anew; the parent's stays open."""
        self.closed = True
        self._env.close_after_fork()
        if self._resources.presence is not None:
            self._resources.presence.close()

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _check_open(self) -> None:
        if self.closed:
            message = (
                f"the store at {self._env.folder.last_path} is closed, or was opened before a fork"
            )
            raise StoreClosedError(message, hint="Open it in this process.")

    def _checked_writer(self) -> Writer:
        self._check_open()
        if self._writer is None:
            raise StoreError(f"{self._env.folder.last_path} is open for reading only")
        return self._writer


_open: "weakref.WeakSet[Store]" = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for store in list(_open):
        store.close()


def _close_all_after_fork() -> None:
    """Close a child's copies: it could still write, because the parent's locks do not bind it."""
    for store in list(_open):
        store.close_after_fork()
    _open.clear()


os.register_at_fork(after_in_child=_close_all_after_fork)
