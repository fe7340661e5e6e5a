"""What a caller holds while the writer works."""

from concurrent.futures import Future
from dataclasses import dataclass
from typing import TypeVar

from slowcat_memory.records import Event

T = TypeVar("T")


def running() -> "Future[None]":
    """Make a future that its holder cannot cancel.

    A cancelled task that awaits it through ``asyncio.wrap_future`` leaves it alone, so the write
    goes on and whoever else waits for it is told.

    Returns:
        A future in the running state.
    """
    future: Future[None] = Future()
    future.set_running_or_notify_cancel()
    return future


@dataclass(frozen=True, slots=True)
class Ack:
    """A receipt: the write is accepted, and ``future`` tells when it is on disk.

    Attributes:
        future: Done once the transaction is committed; raises the ``StoreError`` when it never
            will be. For asyncio: ``await asyncio.wrap_future(ack.future)``.
        event: The event with its id, None for other writes.
    """

    future: "Future[None]"
    event: Event | None = None

    @property
    def id(self) -> int:
        """Return the event's position in the log, 0 for other writes."""
        return self.event.id if self.event else 0

    def done(self) -> bool:
        """Tell whether the outcome is known.

        Returns:
            True once it is on disk or has failed.
        """
        return self.future.done()

    def wait(self, timeout: float | None = None) -> None:
        """Wait until it is on disk. Not on the event loop.

        Args:
            timeout: Seconds; None waits as long as it takes.

        Raises:
            StoreError: It could not be saved.
            TimeoutError: It is not saved yet.
        """
        self.future.result(timeout)
