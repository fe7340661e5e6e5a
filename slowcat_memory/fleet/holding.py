"""What a worker holds of one person: the lease, a copy that is up to date, and what sends it."""

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from loguru import logger
from msgspec import Struct

from slowcat_memory.errors import FleetError, StoreError
from slowcat_memory.fleet import leases
from slowcat_memory.fleet.copies import Copies, copy_name
from slowcat_memory.fleet.database import Database
from slowcat_memory.fleet.hydration import hydrate
from slowcat_memory.fleet.leases import Lease, Purpose
from slowcat_memory.fleet.shipper import Shipper
from slowcat_memory.metrics import Metrics
from slowcat_memory.store import Store
from slowcat_memory.store.disk.outbox import Outbox

FLUSH_S = 3.0  # how long the end of a conversation waits for the database


class Worker(Struct, frozen=True, kw_only=True):
    """What all holdings of one process have in common.

    Attributes:
        host: Names this machine.
        holder: Names this process; no two have the same.
        cache: The folder of its copies.
        map_gib: Address space to reserve for a store, in GiB.
    """

    database: Database
    tenant: str
    host: str
    holder: str
    cache: Path
    lease_s: float
    map_gib: float


class Holding:
    """A person's memory, held by this process from ``__init__`` to ``close``.

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
        on_end: Callable[["Holding"], object] = lambda holding: None,
        on_left: Callable[[str], object] = lambda name: None,
    ) -> None:
        """Take the lease, and bring the copy up to date. Blocks.

        Args:
            lease: Where it was taken already.
            on_lost: Called when the lease is lost, from any thread; see ``Shipper``.
            on_away: Called when the database cannot be reached, and with None when it can again.
            on_end: Called when the lease was released or lost.
            on_left: Called with the name of the copies when one was closed with something to send.

        Raises:
            BusyElsewhereError: Another worker has the lease.
            DatabaseAwayError: The database cannot be reached.
        """
        self._worker, self._on_end, self._on_left = worker, on_end, on_left
        self._is_open = self.is_released = False
        self.database = database = worker.database
        take = partial(
            leases.take,
            tenant=worker.tenant,
            person=person,
            holder=worker.holder,
            lease_s=worker.lease_s,
            purpose=purpose,
        )
        self.lease: Lease = lease or database.run(take)
        self.place = Copies(worker.cache, copy_name(worker.tenant, person))
        self._closed = ExitStack()  # the lock of copies that are not open
        try:
            self._closed.enter_context(self.place.locked())
            self.folder, self.warm = hydrate(database, self.place, self.lease, worker.map_gib)
        except BaseException:
            self._closed.close()
            self._give_up()
            raise
        self.shipper = Shipper(
            database,
            self.lease,
            self.lease.last_seq,
            worker.lease_s,
            metrics,
            on_lost=on_lost,
            on_away=on_away,
        )

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
            self._on_end(self)
            self._give_up()

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

    def after_closing(self) -> None:
        """Send anew what can no longer be sent under this lease, now that the copy is closed. Blocks.

        The copy of a lost lease may also have what others forgot meanwhile.
        """
        if not self.is_released:
            try:
                self._on_left(self.place.folder.name)
            except StoreError as error:
                logger.debug("fleet: turns are sent later: {}", error.message)
        self.database.clear_answers()

    def _on_closing(self) -> None:
        """Send the rest, and release the lease; what could not be sent stays in the copy."""
        try:
            all_sent = self.shipper.wait_sent(FLUSH_S)
        except StoreError:
            all_sent = False
        self.shipper.stop()
        self._on_end(self)
        try:
            if all_sent:
                release = partial(leases.release, lease=self.lease, seq=self._replica.seq)
                self.is_released = self._worker.database.run(release)
            else:
                self._give_up()
        except StoreError as error:
            logger.debug("fleet: a lease runs out by itself: {}", error.message)

    def _give_up(self) -> None:
        try:
            self._worker.database.run(partial(leases.give_up, lease=self.lease))
        except StoreError as error:
            logger.debug("fleet: a lease runs out by itself: {}", error.message)
