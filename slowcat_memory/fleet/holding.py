"""What a worker holds of one person: the lease, a copy that is up to date, and what sends it.

It sends a copy's change sets to the database, in order, as they are committed here. While
the database is away they wait in the copy's outbox. Once something was forgotten and erased here, it
also replaces what the database has of it.
"""

import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from loguru import logger

from slowcat_memory.engine.availability import fresh
from slowcat_memory.errors import (
    DatabaseAwayError,
    FleetError,
    LeaseLostError,
    StoreError,
    describe_error,
)
from slowcat_memory.fleet import leases, person_log
from slowcat_memory.fleet.copies import Copies, copy_name
from slowcat_memory.fleet.hydration import hydrate
from slowcat_memory.fleet.leases import Lease, Purpose, Worker
from slowcat_memory.fleet.person_log import Also
from slowcat_memory.metrics import Metrics
from slowcat_memory.store import Store
from slowcat_memory.store.disk.folder import or_undo
from slowcat_memory.store.disk.outbox import Outbox
from slowcat_memory.store.replica import Replica

FLUSH_S = 3.0  # how long the end of a conversation waits for the database
BATCH_BYTES = 1 << 20  # of change sets in one statement
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.05, 3.0  # between tries while the database is away
ERASE_POLL_S = 0.2  # between looks whether an erasure under way is done here
YIELD_S, YIELD_STEP_S = 0.012, 0.003  # how long a recall that runs may hold up sending
SNAPSHOT_AFTER = 2000  # change sets: a copy reads that many beside a snapshot in 50 ms
SNAPSHOT_S = 120.0


class Holding:
    """A person's memory, held by this process from ``__init__`` to the end of the store.

    What the open copy has to send is sent on a thread of its own.

    Attributes:
        folder: The copy.
        warm: Whether it was here before.
        replica: What is sent; from ``open_store`` on.
        is_released: Whether everything was sent, and the lease given back.
        recalls: Returns whether a recall runs, which sending lets end first.
        trouble: Why nothing is sent now; None while it is.
    """

    replica: Replica

    def __init__(
        self,
        worker: Worker,
        person: str,
        metrics: Metrics,
        *,
        purpose: Purpose = "conversation",
        lease: Lease | None = None,
        on_trouble: Callable[[StoreError | None], object] = lambda error: None,
    ) -> None:
        """Take the lease, and bring the copy up to date. Blocks.

        Args:
            lease: The lease, where it was taken already.
            on_trouble: Called with ``DatabaseAwayError`` when the database cannot be reached, and
                with None when it can again; with another error, such as ``LeaseLostError``, once,
                when nothing is sent any more.

        Raises:
            BusyElsewhereError: Another worker has the lease.
            DatabaseAwayError: The database cannot be reached.
        """
        self.worker, self.database = worker, worker.database
        self._metrics, self._on_trouble = metrics, on_trouble
        self._is_open = self.is_released = False
        self.lease = lease or self.database.run(leases.take, worker, person, purpose)
        worker.holdings[self] = None
        self.place = Copies(worker.cache, copy_name(worker.tenant, person))
        self._closed = ExitStack()  # the lock of copies that are not open
        self.recalls: Callable[[], bool] = lambda: False
        self._sent, self._snapshot_upto = self.lease.last_seq, self.lease.snapshot_upto
        self._purged = self.lease.forget_epoch
        self._generations: tuple[str, ...] | None = None
        self.trouble: StoreError | None = None
        self._ended = self._stopping = False
        self._changed = threading.Condition()
        self._receipts = deque[tuple[int, Future[None]]]()  # by number of a change set, in order
        self._sending = threading.RLock()
        self._thread = threading.Thread(target=self._run, name="slowcat-ship", daemon=True)
        with or_undo(self.abandon):
            self._closed.enter_context(self.place.locked())
            self.folder, self.warm = hydrate(worker, self.place, self.lease)

    def open_store(self, path: Path, **how: Any) -> Store:
        """Open the copy; takes the arguments of ``Store.open``."""
        with or_undo(self.abandon):
            store = Store.open(path, outbox=Outbox(self.lease.epoch), **how)
            if store.replica is None:
                raise FleetError(f"{path} is open for reading: nothing of it can be sent")
        self._closed.close()
        self.replica, self._is_open = store.replica, True
        self.replica.outbox.on_commit, self.replica.on_closing = self.wake, self._on_closing
        self.replica.outbox.note_sent(self._sent)
        self._generations = self.replica.generations()
        self._thread.start()
        return store

    def abandon(self) -> None:
        """Let go of a copy that is not open, or the lease would be renewed; idempotent."""
        if not self._is_open:
            self._closed.close()
            self._let_go()

    def lose(self) -> None:
        """Send nothing any more: a renewal showed that another worker has taken over."""
        if self._is_open:  # else the next renewal shows it again
            self.end(leases.lost(self.lease))

    def before_closing(self) -> None:
        """Send what is to be sent, while the store can still be written. Blocks."""
        try:
            if self.wait_sent(FLUSH_S):
                self.wait_purged(FLUSH_S)
                self.snapshot_if_due()
                self.replica.trim()
        except StoreError as error:
            logger.debug("fleet: not everything was sent: {}", error.message)

    def _on_closing(self) -> None:
        """Send the rest, and release the lease; what could not be sent stays in the copy."""
        try:
            all_sent = self.wait_sent(FLUSH_S)
        except StoreError:
            all_sent = False
        self.stop()
        self._let_go(self.replica.outbox.seq if all_sent else None)

    def _let_go(self, seq: int | None = None) -> None:
        self.worker.holdings.pop(self, None)
        try:
            self.is_released = self.database.run(leases.release, self.lease, seq)
        except StoreError as error:
            logger.debug("fleet: a lease runs out by itself: {}", error.message)

    # ---------------------------------------------------------------- sending

    def wake(self) -> None:
        """Send what was committed. On the store's writer thread: returns at once."""
        with self._changed:
            self._changed.notify_all()

    @property
    def waiting(self) -> int:
        """How many change sets are committed here and not known to be in the database."""
        return self.replica.outbox.seq - self._sent

    def settle_when_sent(self, future: "Future[None]") -> None:
        """Resolve a future once everything that is committed here now is in the database."""
        with self._changed:
            waits, trouble = self.waiting, self.trouble
            if waits and not self._ended:
                return self._receipts.append((self.replica.outbox.seq, future))
        if waits and trouble is not None:
            future.set_exception(fresh(trouble))
        else:
            future.set_result(None)

    def wait_sent(self, timeout_s: float) -> bool:
        """Wait until everything that is committed here now is in the database. Blocks.

        Returns:
            False when it is not, after ``timeout_s`` seconds.

        Raises:
            StoreError: It never will be sent from here.
        """
        sent = Future[None]()
        self.settle_when_sent(sent)
        try:
            sent.result(timeout_s)
        except TimeoutError:
            return False
        return True

    def send_last(self, write: Callable[[], object], also: Also) -> None:
        """Write something here, and send it in one transaction with statements of the caller's. Blocks.

        Args:
            write: Returns once it is committed here.
            also: See ``person_log.append``.

        Raises:
            StoreError: It could not be written; or it may not have been sent, and nothing is sent
                from here any more.
        """
        with self._sending:
            write()
            try:
                while self._send(also):
                    pass
            except StoreError as error:
                self.end(error)
                raise

    def wait_purged(self, timeout_s: float) -> bool:
        """Wait until what was forgotten here is nowhere in the database; False if it may be."""
        wait_for = self._changed.wait_for
        with self._changed:
            return wait_for(lambda: self._ended or not self._is_to_purge(), timeout_s)

    def stop(self) -> None:
        """End the thread after the statement that it is at. Blocks."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
        if self._thread.is_alive() and threading.current_thread() is not self._thread:
            self._thread.join(15.0)

    # ---------------------------------------------------------------- the thread

    def _run(self) -> None:
        pause = FIRST_PAUSE_S
        while not self._stopping:
            try:
                self._send_all()
                self._purge()
                self._note_away(None)
                pause = FIRST_PAUSE_S
                # An erasure that is under way here ends without a notice.
                poll = ERASE_POLL_S if self._is_to_purge() else None
                with self._changed:
                    self._changed.wait_for(lambda: self._stopping or self.waiting, poll)
            except DatabaseAwayError as error:
                self._note_away(error)
                with self._changed:
                    self._changed.wait_for(lambda: self._stopping, pause)
                pause = min(2 * pause, LONGEST_PAUSE_S)
            except StoreError as error:
                return self.end(error)
            except Exception as error:
                why = describe_error(error)
                logger.error("fleet: sending failed: {}", why)
                return self.end(FleetError(f"sending failed: {why}"))

    def _send_all(self) -> None:
        while not self._stopping and self.waiting:
            self._let_recalls_end()
            if not self._send():
                return

    def _let_recalls_end(self) -> None:
        """Wait a moment while a turn waits for its recall, which needs the interpreter's lock too."""
        until = time.monotonic() + YIELD_S
        while self.recalls() and not self._stopping and time.monotonic() < until:
            time.sleep(YIELD_STEP_S)

    def _send(self, also: Also | None = None) -> bool:
        """Send some change sets; return whether there were any. The last ones have ``also``."""
        with self._sending:
            sets = self.replica.unsent(self._sent, BATCH_BYTES)
            if not sets:
                return False
            last = also if sets[-1].seq == self.replica.outbox.seq else None
            began = time.perf_counter()
            upto = self.database.run(person_log.append, self.lease, sets, last)
            self._metrics.observe("fleet_append", (time.perf_counter() - began) * 1e3)
            self.replica.outbox.note_sent(upto)
            with self._changed:
                self._sent = upto
                done = list[Future[None]]()
                while self._receipts and self._receipts[0][0] <= upto:
                    done.append(self._receipts.popleft()[1])
                self._changed.notify_all()
        for future in done:
            future.set_result(None)
        return True

    def _is_to_purge(self) -> bool:
        """Return whether something was forgotten here that the database may have."""
        return (epoch := self.replica.erased()) is None or epoch > self._purged

    def _purge(self) -> None:
        """Replace what the database has of something forgotten, once it is erased here."""
        epoch = self.replica.erased()
        if epoch is None or epoch <= self._purged or not self.replica.scrub():
            return
        self._write_snapshot(forgets=epoch)
        with self._changed:
            self._purged = epoch
            self._changed.notify_all()

    def snapshot_if_due(self) -> None:
        """Write a snapshot if the log has become long, or an index was built. Blocks.

        Raises:
            StoreError: It could not be written; the log has everything.
        """
        built = self.replica.generations() != self._generations
        if built or self.replica.outbox.seq - self._snapshot_upto >= SNAPSHOT_AFTER:
            self._write_snapshot()

    def _write_snapshot(self, forgets: int | None = None) -> None:
        with self._sending:  # no snapshot has what `send_last` is about to send
            generations, whole = self.replica.generations(), self.replica.whole()
            while self._sent < whole.seq and self._send():
                pass
            work = person_log.write_snapshot, self.lease, whole, forgets
            self.database.run(*work, timeout_s=SNAPSHOT_S)
            self._snapshot_upto, self._generations = whole.seq, generations

    # ---------------------------------------------------------------- trouble

    def _note_away(self, error: DatabaseAwayError | None) -> None:
        with self._changed:
            if self._ended or (self.trouble is None) == (error is None):
                return
            self.trouble = error
        if error is not None:
            self._metrics.count("fleet_away")
        self._on_trouble(error)

    def end(self, error: StoreError) -> None:
        """Send nothing any more, and fail all receipts. Once; any thread."""
        with self._changed:
            if self._ended:
                return
            self._ended = self._stopping = True
            self.trouble = error
            failed, self._receipts = self._receipts, deque()
            self._changed.notify_all()
        for _, future in failed:
            future.set_exception(fresh(error))
        if isinstance(error, LeaseLostError):
            self._metrics.count("fleet_leases_lost")
        self._on_trouble(error)
