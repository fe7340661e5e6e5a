"""What waits to be saved, in order, with a bound.

The voice path hands its events in here: they are numbered and queued under one short lock, with no
I/O and no encoding. When the queue is full, what can be derived again gives way to what was said.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from slowcat_memory.errors import StoreClosedError, StoreError, StoreFullError
from slowcat_memory.records import Event, Turn
from slowcat_memory.store.disk.transaction import Transaction
from slowcat_memory.store.writer.ack import Ack, running

Stage = Callable[[Transaction], None]
StageEvents = Callable[[tuple[Event, ...]], Stage]


@dataclass(slots=True)
class Write:
    """Something to be saved, possibly together with others in one transaction.

    Attributes:
        stage: Puts its changes into an tx.
        weight: How many events it counts for.
        derived: It can be made again.
        future: Told the outcome.
    """

    stage: Stage
    weight: int = 1
    derived: bool = True
    future: "Future[None]" = field(default_factory=running)


@dataclass(slots=True)
class Task:
    """Something that the writer thread does on its own, between two transactions.

    Attributes:
        run: Does it.
        future: Told what it returns or raises.
    """

    run: Callable[[], Any]
    weight: int = 0
    derived: bool = False
    future: "Future[Any]" = field(default_factory=running)


Item = Write | Task


class WriteQueue:
    """A bounded queue from any thread to the writer thread; it numbers events as they enter."""

    def __init__(self, limit: int, next_id: int) -> None:
        """Start empty.

        Args:
            limit: How many events may wait.
            next_id: Id of the next event.
        """
        self._changed = threading.Condition()
        self._queue: deque[Item] = deque()
        self._limit = limit
        self._next_id = next_id
        self._waiting = 0
        self._derived = 0
        self._closed = False
        self.shed = 0

    # ------------------------------------------------------------------- callers' side

    def add_events(
        self, events: Sequence[Event], stage: StageEvents, *, quiet: bool = False
    ) -> list[Ack]:
        """Number events and queue them as one write.

        Args:
            events: In the order in which they happened. A negative ``reply_to`` counts back from
                the turn within this call.
            stage: Makes the write of the numbered events.
            quiet: Let the writer sleep until ``ring``, or until anything else is queued.

        Returns:
            One receipt per event, all with one future.

        Raises:
            StoreFullError: As many events wait as may, and nothing derived could give way.
            StoreClosedError: The store is closed.
        """
        with self._changed:
            self._admit_event()
            first = self._next_id
            numbered = tuple(_numbered(event, first + i) for i, event in enumerate(events))
            self._next_id += len(numbered)
            write = Write(stage(numbered), weight=len(numbered), derived=False)
            self._push(write, quiet=quiet)
        return [Ack(write.future, event) for event in numbered]

    def add(self, item: Item) -> Ack:
        """Queue anything but events.

        Args:
            item: The write or task.

        Returns:
            Its receipt.

        Raises:
            StoreFullError: As many events wait as may.
            StoreClosedError: The store is closed.
        """
        with self._changed:
            self._check_open()
            if item.derived and self._waiting >= self._limit:
                raise _full(self._waiting)
            self._push(item)
        return Ack(item.future)

    def wait_saved(self, timeout: float | None) -> bool:
        """Wait until everything that was queued before is on disk.

        Args:
            timeout: Seconds; None waits as long as it takes.

        Returns:
            False when it is not on disk in time.
        """
        try:
            self.add(Write(_nothing, weight=0, derived=False)).wait(timeout)
        except (TimeoutError, StoreError):
            return False
        return True

    def _admit_event(self) -> None:
        self._check_open()
        while self._waiting >= self._limit and self._derived:
            self._shed_one()
        if self._waiting >= self._limit:
            raise _full(self._waiting)

    def _check_open(self) -> None:
        if self._closed:
            raise StoreClosedError("the store is closed")

    def _shed_one(self) -> None:
        """Drop the oldest derived write. Its future's callbacks run with the lock held."""
        at = next(i for i, item in enumerate(self._queue) if item.derived)
        item = self._queue[at]
        del self._queue[at]
        self._forget_weight(item)
        self.shed += 1
        item.future.set_exception(_full(self._waiting))

    def _push(self, item: Item, *, quiet: bool = False) -> None:
        self._queue.append(item)
        self._waiting += item.weight
        self._derived += item.derived
        if not quiet:
            self._changed.notify_all()

    def wake_writer(self) -> None:
        """Wake the writer, if anything waits."""
        if self._queue:
            with self._changed:
                self._changed.notify_all()

    def unsaved(self) -> int:
        """Return how many events and derived writes are not on disk yet.

        Returns:
            Their number.
        """
        return self._waiting

    # ------------------------------------------------------------------- writer's side

    def take(self, limit: int, timeout: float | None) -> list[Item] | None:
        """Take the next items: one task alone, or writes up to a transaction's worth.

        Args:
            limit: Events in one transaction.
            timeout: Seconds to wait for the first.

        Returns:
            At least one item; an empty list when none came; None when closed and empty.
        """
        with self._changed:
            if not self._queue and not self._closed:
                self._changed.wait(timeout)
            if not self._queue:
                return None if self._closed else []
            return self._next_batch(limit)

    def _next_batch(self, limit: int) -> list[Item]:
        batch = [self._pop()]
        weight = batch[0].weight
        if isinstance(batch[0], Task):
            return batch
        while self._queue and isinstance(self._queue[0], Write) and weight < limit:
            batch.append(self._pop())
            weight += batch[-1].weight
        return batch

    def _pop(self) -> Item:
        item = self._queue.popleft()
        self._derived -= item.derived
        return item

    def put_back(self, items: Sequence[Item]) -> None:
        """Return items that could not be saved to the head of the queue.

        Args:
            items: In the order in which they were taken.
        """
        with self._changed:
            self._queue.extendleft(reversed(items))
            self._derived += sum(item.derived for item in items)

    def settled(self, item: Item) -> None:
        """Count an item as no longer unsaved: it is on disk, or its caller was told.

        Args:
            item: Taken before.
        """
        with self._changed:
            self._waiting -= item.weight

    def _forget_weight(self, item: Item) -> None:
        self._waiting -= item.weight
        self._derived -= item.derived

    def pause(self, seconds: float) -> bool:
        """Wait before trying again; a close or a task ends the wait.

        Args:
            seconds: How long.

        Returns:
            True when the store is being closed.
        """
        deadline = time.monotonic() + seconds
        with self._changed:
            while not self._closed and not self._has_task():
                left = deadline - time.monotonic()
                if left <= 0:
                    break
                self._changed.wait(left)
            return self._closed

    def _has_task(self) -> bool:
        return any(isinstance(item, Task) for item in self._queue)

    def remove_tasks(self) -> list[Task]:
        """Take every task out of the queue, wherever it stands.

        Returns:
            The tasks.
        """
        with self._changed:
            tasks = [item for item in self._queue if isinstance(item, Task)]
            self._queue = deque(item for item in self._queue if isinstance(item, Write))
            return tasks

    def close(self) -> None:
        """Take nothing more in; what waits may still be taken out."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def abandon(self, error: StoreError) -> int:
        """Give up what waits.

        Args:
            error: Told to every caller.

        Returns:
            How many events were lost.
        """
        with self._changed:
            items, self._queue = list(self._queue), deque()
            self._waiting = self._derived = 0
        for item in items:
            item.future.set_exception(error)
        return sum(item.weight for item in items if not item.derived)


def _nothing(tx: Transaction) -> None:
    """Change nothing: a write that is done when those before it are."""


def _numbered(event: Event, position: int) -> Event:
    if isinstance(event, Turn) and event.reply_to < 0:
        return replace(event, id=position, reply_to=position + event.reply_to)
    return replace(event, id=position)


def _full(waiting: int) -> StoreFullError:
    return StoreFullError(
        f"{waiting} events wait to be saved", hint="Is the disk full, or very slow?"
    )
