"""What a worker holds of one person: the lease, a copy that is up to date, and what sends it."""

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from loguru import logger

from slowcat_memory.errors import FleetError, StoreError
from slowcat_memory.fleet import leases
from slowcat_memory.fleet.copies import Copies, copy_name
from slowcat_memory.fleet.hydration import hydrate
from slowcat_memory.fleet.leases import Lease, Purpose, Worker
from slowcat_memory.fleet.shipper import Shipper
from slowcat_memory.metrics import Metrics
from slowcat_memory.store import Store
from slowcat_memory.store.disk.outbox import Outbox

FLUSH_S = 3.0  # how long the end of a conversation waits for the database


class Holding:
    """A person's memory, held by this process from ``__init__`` to the end of the store.

    Attributes:
        folder: The copy.
        warm: Whether it was here before.
        is_released: Whether everything was sent, and the lease given back.
    """

    def __init__(
        self,
        worker: Worker,
        person: str,
        metrics: Metrics,
        *,
        purpose: Purpose = "conversation",
        lease: Lease | None = None,
        on_lost: Callable[[StoreError], object] = lambda error: None,
        on_away: Callable[[StoreError | None], object] = lambda error: None,
    ) -> None:
        """Take the lease, and bring the copy up to date. Blocks.

        Args:
            lease: The lease, where it was taken already.
            on_lost: Called once, when another worker has taken over.
            on_away: Called when the database cannot be reached, and with None when it can again.

        Raises:
            BusyElsewhereError: Another worker has the lease.
            DatabaseAwayError: The database cannot be reached.
        """
        self.worker, self._is_open, self.is_released = worker, False, False
        self.lease = lease or worker.database.run(leases.take, worker, person, purpose)
        self.shipper = Shipper(
            worker.database, self.lease, metrics, on_lost=on_lost, on_away=on_away
        )
        worker.holdings[self] = None
        self.place = Copies(worker.cache, copy_name(worker.tenant, person))
        self._closed = ExitStack()  # the lock of copies that are not open
        try:
            self._closed.enter_context(self.place.locked())
            self.folder, self.warm = hydrate(worker, self.place, self.lease)
        except BaseException:
            self.abandon()
            raise

    def open_store(self, path: Path, **how: Any) -> Store:
        """Open the copy; takes the arguments of ``Store.open``."""
        try:
            outbox = Outbox(self.lease.epoch, self.shipper.wake)
            store = Store.open(path, outbox=outbox, **how)
            if store.replica is None:
                raise FleetError(f"{path} is open for reading: nothing of it can be sent")
        except BaseException:
            self.abandon()
            raise
        self._is_open = True
        self._closed.close()
        self._replica = store.replica
        self._replica.on_closing = self._on_closing
        self.shipper.start(self._replica)
        return store

    def abandon(self) -> None:
        """Let go of a copy that is not open, or the lease would be renewed; idempotent."""
        if not self._is_open:
            self._closed.close()
            self._let_go()

    def lose(self) -> None:
        """Send nothing any more: a renewal showed that another worker has taken over."""
        self.shipper.end(leases.lost(self.lease))

    def before_closing(self) -> None:
        """Send what is to be sent, while the store can still be written. Blocks."""
        try:
            if self.shipper.wait_sent(FLUSH_S):
                self.shipper.wait_purged(FLUSH_S)
                self.shipper.snapshot_if_due()
                self._replica.trim()
        except StoreError as error:
            logger.debug("fleet: not everything was sent: {}", error.message)

    def _on_closing(self) -> None:
        """Send the rest, and release the lease; what could not be sent stays in the copy."""
        try:
            all_sent = self.shipper.wait_sent(FLUSH_S)
        except StoreError:
            all_sent = False
        self.shipper.stop()
        self._let_go(self._replica.seq if all_sent else None)

    def _let_go(self, seq: int | None = None) -> None:
        self.worker.holdings.pop(self, None)
        try:
            self.is_released = self.worker.database.run(leases.release, self.lease, seq)
        except StoreError as error:
            logger.debug("fleet: a lease runs out by itself: {}", error.message)
