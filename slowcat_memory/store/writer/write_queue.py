"""The bounded, ordered queue of writes to be saved, and their receipts.

The voice path queues its events here: they are numbered and queued under one short lock, with no
I/O and no encoding. When the queue is full, derived writes are shed first; then what is said live
replaces the oldest event, and bulk writes are refused.
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

Change = Callable[[Transaction], None]
ChangeOfEvents = Callable[[tuple[Event, ...]], Change]

# ------------------------------------------------------------------- receipts


def new_future() -> "Future[None]":
    """Return a running future, which callers cannot cancel.

    A cancelled task that awaits it through ``asyncio.wrap_future`` leaves it alone, so the write
    continues and all other waiters are notified.
    """
    future: Future[None] = Future()
    future.set_running_or_notify_cancel()
    return future


@dataclass(frozen=True, slots=True)
class Ack:
    """The receipt of an accepted write.

    Attributes:
        future: Done once the transaction is committed; raises the ``StoreError`` if it never will
            be. For asyncio: ``await asyncio.wrap_future(ack.future)``.
        event: The event with its id, None for other writes.
    """

    future: "Future[None]"
    event: Event | None = None

    @property
    def id(self) -> int:
        """The event's position in the log, 0 for other writes."""
        return self.event.id if self.event else 0

    def done(self) -> bool:
        return self.future.done()

    def wait(self, timeout: float | None = None) -> None:
        """Wait until it is on disk, ``timeout`` seconds or without limit. Not on the event loop.

        Raises:
            StoreError: It could not be saved.
            TimeoutError: It is not saved yet.
        """
        self.future.result(timeout)


# ------------------------------------------------------------------- the queue


@dataclass(slots=True)
class Write:
    """Changes to be saved, possibly together with others in one transaction.

    Attributes:
        weight: How many events it counts for.
        derived: It can be made again.
        future: Receives the outcome.
    """

    change: Change
    weight: int = 1
    derived: bool = True
    future: "Future[None]" = field(default_factory=new_future)


@dataclass(slots=True)
class WriterCall:
    """A function that the writer thread calls between two transactions.

    ``future`` receives its result or its error.
    """

    run: Callable[[], Any]
    weight: int = 0
    derived: bool = False
    future: "Future[Any]" = field(default_factory=new_future)


Item = Write | WriterCall


class WriteQueue:
    """A bounded queue from any thread to the writer thread; it numbers events as they enter."""

    def __init__(self, limit: int, take_ids: Callable[[int], int]) -> None:
        """Start empty; ``take_ids`` returns the first of some ids that follow each other."""
        self._changed = threading.Condition()
        self._queue: deque[Item] = deque()
        self._limit = limit
        self._take_ids, self._last_id = take_ids, 0
        self._own = set[int]()  # ids of events, until ``pass_own``
        self._waiting = 0
        self._derived = 0
        self._closed = False
        self.shed = self.dropped = 0  # derived writes, and events, that made room

    # ------------------------------------------------------------------- callers' side

    def add_events(
        self, events: Sequence[Event], change: ChangeOfEvents, *, quiet: bool = False
    ) -> list[Ack]:
        """Number events, in order, and queue them as one write; the receipts share one future.

        A negative ``reply_to`` counts back from the turn within this call. ``change`` makes the
        write of the numbered events. ``quiet`` is for what is said live: the writer sleeps until
        ``wake_writer``, or until anything else is queued, and when the queue is full the oldest
        event makes room.

        Raises:
            StoreFullError: Too many events wait, and nothing could make room.
            StoreClosedError: The store is closed.
        """
        with self._changed:
            self._admit_event(live=quiet)
            first = self._take_ids(len(events))
            numbered = tuple(_numbered(event, first + i) for i, event in enumerate(events))
            self._last_id = first + len(numbered) - 1
            self._own.update(event.id for event in numbered)
            write = Write(change(numbered), weight=len(numbered), derived=False)
            self._push(write, quiet=quiet)
        return [Ack(write.future, event) for event in numbered]

    def add(self, item: Item) -> Ack:
        """Queue a write other than events, or a call.

        Raises:
            StoreFullError: Too many events wait.
            StoreClosedError: The store is closed.
        """
        with self._changed:
            self._check_open()
            if item.derived and self._waiting >= self._limit:
                raise _full(self._waiting)
            self._push(item)
        return Ack(item.future)

    def wait_saved(self, timeout: float | None) -> bool:
        """Wait until everything queued before is on disk; return False on timeout."""
        try:
            self.add(Write(_nothing, weight=0, derived=False)).wait(timeout)
        except (TimeoutError, StoreError):
            return False
        return True

    def _admit_event(self, *, live: bool) -> None:
        self._check_open()
        while self._waiting >= self._limit and self._derived:
            self.shed += 1
            self._drop(next(item for item in self._queue if item.derived))
        if live and self._waiting >= self._limit:
            if oldest := next(filter(_is_live, self._queue), None):
                self.dropped += 1
                self._drop(oldest)
        if self._waiting >= self._limit:
            raise _full(self._waiting)

    def _check_open(self) -> None:
        if self._closed:
            raise StoreClosedError("the store is closed")

    def _drop(self, item: Item) -> None:
        """Drop a queued item. Its future's callbacks run with the lock held."""
        self._queue.remove(item)
        self._waiting -= item.weight
        self._derived -= item.derived
        item.future.set_exception(_full(self._waiting))

    def _push(self, item: Item, *, quiet: bool = False) -> None:
        self._queue.append(item)
        self._waiting += item.weight
        self._derived += item.derived
        if not quiet:
            self._changed.notify_all()

    def wake_writer(self) -> None:
        if self._queue:
            with self._changed:
                self._changed.notify_all()

    def last_id(self) -> int:
        return self._last_id

    def pass_own(self, upto: int) -> set[int]:
        """Return, and forget, the ids up to one that were given to events here."""
        with self._changed:
            passed = {id for id in self._own if id <= upto}
            self._own -= passed
        return passed

    def unsaved(self) -> int:
        return self._waiting

    # ------------------------------------------------------------------- writer's side

    def take_batch(self, limit: int, timeout: float | None) -> list[Item] | None:
        """Return the next items: one call alone, or writes up to a transaction's worth.

        Returns an empty list after ``timeout`` seconds without any; None when the queue is closed
        and empty.
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
        if isinstance(batch[0], WriterCall):
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
        """Return unsaved items to the front of the queue, in their order."""
        with self._changed:
            self._queue.extendleft(reversed(items))
            self._derived += sum(item.derived for item in items)

    def mark_settled(self, item: Item) -> None:
        """Mark a taken item as saved or failed, so that it no longer counts as unsaved."""
        with self._changed:
            self._waiting -= item.weight

    def pause(self, seconds: float) -> bool:
        """Wait before a retry; return True if the store is being closed.

        A close or a call ends the wait.
        """
        deadline = time.monotonic() + seconds
        with self._changed:
            while not self._closed and not any(
                isinstance(item, WriterCall) for item in self._queue
            ):
                left = deadline - time.monotonic()
                if left <= 0:
                    break
                self._changed.wait(left)
            return self._closed

    def remove_calls(self) -> list[WriterCall]:
        with self._changed:
            calls = [item for item in self._queue if isinstance(item, WriterCall)]
            self._queue = deque(item for item in self._queue if isinstance(item, Write))
            return calls

    def close(self) -> None:
        """Reject new items; queued ones can still be taken."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def abandon(self, error: StoreError) -> int:
        """Fail all queued items; return how many events are lost, those dropped before included."""
        with self._changed:
            items, self._queue = list(self._queue), deque()
            self._waiting = self._derived = 0
        for item in items:
            item.future.set_exception(error)
        return self.dropped + sum(item.weight for item in items if not item.derived)


def _is_live(item: Item) -> bool:
    return isinstance(item, Write) and not item.derived and item.weight == 1


def _nothing(tx: Transaction) -> None:
    """Change nothing. Such a write is done when all before it are."""


def _numbered(event: Event, position: int) -> Event:
    if isinstance(event, Turn) and event.reply_to < 0:
        return replace(event, id=position, reply_to=position + event.reply_to)
    return replace(event, id=position)


def _full(waiting: int) -> StoreFullError:
    return StoreFullError(
        f"{waiting} events wait to be saved", hint="Is the disk full, or very slow?"
    )
