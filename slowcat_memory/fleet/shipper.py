"""Sends a copy's change sets to the database, in order, as they are committed here.

While the database is away they wait in the copy's outbox. Once something was forgotten and erased
here, the shipper also replaces what the database has of it.
"""

import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial

from loguru import logger

from slowcat_memory.engine.availability import fresh
from slowcat_memory.errors import (
    DatabaseAwayError,
    FleetError,
    LeaseLostError,
    StoreError,
    describe_error,
)
from slowcat_memory.fleet import person_log, snapshots
from slowcat_memory.fleet.database import Database
from slowcat_memory.fleet.leases import Lease
from slowcat_memory.fleet.person_log import Also
from slowcat_memory.metrics import Metrics
from slowcat_memory.store.replica.parts import Replica

BATCH_BYTES = 1 << 20  # of change sets in one statement
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.05, 3.0  # between tries while the database is away
ERASE_POLL_S = 0.2  # between looks whether an erasure under way is done here
YIELD_S, YIELD_STEP_S = 0.012, 0.003  # how long a recall that runs may hold up sending
SNAPSHOT_AFTER = 2000  # change sets: a copy reads that many beside a snapshot in 50 ms


class Shipper:
    """Sends what one open copy has to send, on a thread of its own.

    Attributes:
        recalls: Returns whether a recall runs, which sending lets end first.
    """

    def __init__(
        self,
        database: Database,
        lease: Lease,
        sent: int,
        lease_s: float,
        metrics: Metrics,
        *,
        on_lost: Callable[[StoreError], object],
        on_away: Callable[[StoreError | None], object],
    ) -> None:
        """Prepare; nothing is sent before ``start``.

        Args:
            sent: Number of the last change set that the log has.
            on_lost: Called once, when another worker has taken over; nothing is sent any more.
            on_away: Called when the database cannot be reached, and with None when it can again.
        """
        self.recalls: Callable[[], bool] = lambda: False
        self._database, self._lease, self._lease_s = database, lease, lease_s
        self._metrics, self._on_lost, self._on_away = metrics, on_lost, on_away
        self._sent, self._first = sent, sent
        self._purged, self._snapshot_upto = lease.forget_epoch, lease.snapshot_upto
        self._generations: tuple[str, ...] | None = None
        self.replica: Replica | None = None
        self._away: StoreError | None = None
        self._ended: StoreError | None = None
        self._changed = threading.Condition()
        self._receipts = deque[tuple[int, Future[None]]]()  # by number of a change set, in order
        self._stopping = False
        self._held: int | None = None  # number of a change set behind which nothing is sent yet
        # Statements of the transaction of one change set, which ends a batch.
        self._last: tuple[int, Also] | None = None
        self._whole_lock = threading.Lock()  # no snapshot is made of what is held
        self._thread = threading.Thread(target=self._run, name="slowcat-ship", daemon=True)

    def start(self, replica: Replica) -> None:
        self.replica = replica
        self.replica.note_sent(self._sent)
        self._generations = self.replica.generations()
        self._thread.start()

    @property
    def _copy(self) -> Replica:
        if self.replica is None:
            raise FleetError("the copy is not open: nothing of it can be sent")
        return self.replica

    def wake(self, seq: int = 0) -> None:
        """Send what was committed. On the store's writer thread: returns at once."""
        with self._changed:
            self._changed.notify_all()

    @property
    def waiting(self) -> int:
        """How many change sets are committed here and not known to be in the database."""
        return self.replica.seq - self._sent if self.replica else 0

    def settle_when_sent(self, future: "Future[None]") -> None:
        """Resolve a future once everything that is committed here now is in the database."""
        with self._changed:
            seq, error = self._copy.seq, self._ended
            if seq > self._sent and error is None:
                self._receipts.append((seq, future))
                return
        if seq > self._sent and error is not None:
            future.set_exception(fresh(error))
        else:
            future.set_result(None)

    @property
    def is_away(self) -> bool:
        return self._away is not None

    def wait_sent(self, timeout_s: float | None) -> bool:
        """Wait until everything that is committed here now is in the database. Blocks.

        Returns:
            False when it is not, after ``timeout_s`` seconds.

        Raises:
            StoreError: It never will be sent from here.
        """
        target = self.replica.seq if self.replica else 0
        with self._changed:
            self._changed.wait_for(
                lambda: self._sent >= target or self._ended is not None, timeout_s
            )
            if self._sent >= target:
                return True
            if self._ended is not None:
                raise fresh(self._ended)
        return False

    def send_last(self, write: Callable[[], object], also: Also, timeout_s: float) -> bool:
        """Write something here, and send it in one transaction with statements of the caller's. Blocks.

        Args:
            write: Returns once it is committed here.
            also: See ``person_log.append``.

        Returns:
            False when it is not sent yet, after ``timeout_s`` seconds.

        Raises:
            StoreError: It could not be written, or never will be sent from here.
        """
        replica = self._copy
        with self._whole_lock:
            with self._changed:
                self._held = before = replica.seq
            try:
                write()
            finally:
                with self._changed:
                    if replica.seq > before:
                        self._last = replica.seq, also
                    self._held = None
                    self._changed.notify_all()
        return self.wait_sent(timeout_s)

    def wait_purged(self, timeout_s: float) -> bool:
        """Wait until what was forgotten here is nowhere in the database; False if it may be."""
        replica = self._copy

        def done() -> bool:
            found = replica.erased()
            return self._ended is not None or (found.epoch <= self._purged and not found.under_way)

        with self._changed:
            return self._changed.wait_for(done, timeout_s)

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
                while self._most() > self._sent:
                    self._let_recalls_end()
                    if not self._send():
                        break
                self._purge()
                self._is_back()
                pause = FIRST_PAUSE_S
                self._wait()
            except DatabaseAwayError as error:
                self._is_gone(error)
                with self._changed:
                    self._changed.wait_for(lambda: self._stopping, pause)
                pause = min(2 * pause, LONGEST_PAUSE_S)
            except StoreError as error:
                return self.end(error)
            except Exception as error:
                why = describe_error(error)
                logger.error("fleet: sending failed: {}", why)
                return self.end(FleetError(f"sending failed: {why}"))

    def _wait(self) -> None:
        """Wait for a commit; look again soon while an erasure is under way here."""
        replica = self._copy
        found = replica.erased()
        poll = ERASE_POLL_S if found.under_way or found.epoch > self._purged else None
        with self._changed:
            self._changed.wait_for(lambda: self._stopping or self._most() > self._sent, poll)

    def _let_recalls_end(self) -> None:
        """Wait a moment while a turn waits for its recall, which needs the interpreter's lock too."""
        until = time.monotonic() + YIELD_S
        while self.recalls() and not self._stopping and time.monotonic() < until:
            time.sleep(YIELD_STEP_S)

    def _most(self) -> int:
        """Return the number of the last change set that may be sent in the next batch."""
        if self._held is not None:
            return self._held
        return self._copy.seq if self._last is None else self._last[0]

    def _send(self) -> bool:
        """Send some change sets; return whether there were any."""
        with self._changed:
            most, last = self._most(), self._last
        found = self._copy.unsent(self._sent, BATCH_BYTES)
        sets = [one for one in found if one.seq <= most]
        if not sets:
            return False
        also = last[1] if last is not None and sets[-1].seq == last[0] else None
        append = partial(
            person_log.append, lease=self._lease, sets=sets, lease_s=self._lease_s, also=also
        )
        began = time.perf_counter()
        upto = self._database.run(append)
        self._metrics.observe("fleet_append", (time.perf_counter() - began) * 1e3)
        self._copy.note_sent(upto)
        with self._changed:
            self._sent = upto
            if also is not None and upto == sets[-1].seq:
                self._last = None
            done = list[Future[None]]()
            while self._receipts and self._receipts[0][0] <= upto:
                done.append(self._receipts.popleft()[1])
            self._changed.notify_all()
        for future in done:
            future.set_result(None)
        return True

    def _purge(self) -> bool:
        """Replace what the database has of something forgotten, once it is erased here."""
        found = self._copy.erased()
        if found.under_way or found.epoch <= self._purged or not self._copy.scrub():
            return False
        self._write_snapshot(forgets=found.epoch)
        with self._changed:
            self._purged = found.epoch
            self._changed.notify_all()
        return True

    def snapshot_if_due(self) -> None:
        """Write a snapshot if the log has become long, or an index was built. Blocks.

        Raises:
            StoreError: It could not be written; the log has everything.
        """
        built = self._copy.generations() != self._generations
        if built or self._copy.seq - self._snapshot_upto >= SNAPSHOT_AFTER:
            self._write_snapshot(forgets=None)

    def _write_snapshot(self, *, forgets: int | None) -> None:
        with self._whole_lock:
            whole = self._copy.whole()
        self.wait_sent_to(whole.seq)
        work = partial(snapshots.write, lease=self._lease, whole=whole, forgets=forgets)
        self._database.run(work, 120.0)
        self._snapshot_upto, self._generations = whole.seq, whole.generations

    def wait_sent_to(self, seq: int) -> None:
        """Send everything up to a change set."""
        if threading.current_thread() is self._thread:
            while self._sent < seq and self._send():
                pass
        else:
            self.wait_sent(30.0)

    # ---------------------------------------------------------------- trouble

    def _is_gone(self, error: DatabaseAwayError) -> None:
        if self._away is None:
            self._away = error
            self._metrics.count("fleet_away")
            self._on_away(error)

    def _is_back(self) -> None:
        if self._away is not None:
            self._away = None
            self._on_away(None)

    def end(self, error: StoreError) -> None:
        """Send nothing any more, and fail all receipts. Once; any thread."""
        with self._changed:
            if self._ended is not None:
                return
            self._ended, self._stopping = error, True
            failed, self._receipts = self._receipts, deque()
            self._changed.notify_all()
        for _, future in failed:
            future.set_exception(fresh(error))
        if isinstance(error, LeaseLostError):
            self._metrics.count("fleet_leases_lost")
        self._on_lost(error)
