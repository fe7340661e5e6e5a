"""What was said and is not durable yet, as far as this process knows: bounded, and in order.

It waits for a store that cannot be opened, for an owner that is away, or for an owner's word that
it is saved. Each append has a counter, by which an owner knows what it was sent before; see
``serving.intake``.
"""

import secrets
import threading
from collections.abc import Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass
from functools import partial

from msgspec.structs import replace

from slowcat_memory.errors import StoreError, StoreFullError
from slowcat_memory.owner.numbers import FIRST_ID, Numbers, is_provisional
from slowcat_memory.records import Cursor, Event, Turn
from slowcat_memory.store import Ack, new_future


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvisionalAck(Ack):
    """The receipt of an event that is numbered elsewhere, or later."""

    numbers: Numbers

    @property
    def id(self) -> int:
        """The event's position in the log; provisional until that is known."""
        return self.numbers.logged_id(self.event.id) if self.event else 0

    def logged(self, turn: Turn) -> Turn:
        """Return a turn with its id in the log; unchanged while it still waits."""
        known = self.numbers.with_logged_references(turn)
        return replace(known, id=self.numbers.logged_id(turn.id))


@dataclass(frozen=True, slots=True)
class Entry:
    """One append: its counter, events with provisional ids, and the future of its receipts."""

    counter: int
    events: tuple[Event, ...]
    cursor: Cursor | None
    bulk: bool
    future: "Future[None]"


class Backlog:
    """A bounded queue of appends; when it is full, the oldest is dropped. Any thread.

    Attributes:
        client: The name under which owners know this queue; unique.
        numbers: The ids that its events got.
        dropped: How many events were dropped because the queue was full.
        closed: Why nothing is queued any more; None while it is.
    """

    def __init__(self, limit: int) -> None:
        self.client, self.numbers = secrets.token_hex(8), Numbers()
        self._limit = limit
        self._lock = threading.Lock()
        self._entries: dict[int, Entry] = {}  # by counter, in order
        self._waiting = 0  # events
        self._next_id, self._next_counter = FIRST_ID, 1
        self.closed: StoreError | None = None
        self.dropped = 0

    def __len__(self) -> int:
        return self._waiting

    def __bool__(self) -> bool:
        """Return whether any event has waited since the beginning."""
        return self._next_id != FIRST_ID

    @property
    def next_id(self) -> int:
        """The provisional id of the next event."""
        return self._next_id

    @property
    def floor(self) -> int:
        """The least counter that is not settled."""
        with self._lock:
            return next(iter(self._entries), self._next_counter)

    def add(
        self, events: Sequence[Event], cursor: Cursor | None = None, *, bulk: bool = False
    ) -> Entry:
        """Queue events; their receipt is resolved when they are durable, or were dropped.

        Raises:
            StoreError: The memory is closed.
            StoreFullError: So much waits that a bulk append must wait too.
        """
        dropped = list[Entry]()
        with self._lock:
            if self.closed:
                raise self.closed
            if bulk and self._waiting and self._waiting + len(events) > self._limit:
                raise StoreFullError(f"{self._waiting} events wait to be saved")
            while self._entries and self._waiting + len(events) > self._limit:
                dropped.append(self._remove(next(iter(self._entries))))
                self.dropped += len(dropped[-1].events)
            first = self._next_id
            self._next_id += len(events)
            numbered = tuple(replace(one, id=first + n) for n, one in enumerate(events))
            entry = Entry(self._next_counter, numbered, cursor, bulk, new_future())
            self._next_counter += 1
            self._entries[entry.counter] = entry
            self._waiting += len(events)
        for one in dropped:
            one.future.set_exception(StoreFullError("too many events wait to be saved"))
        return entry

    def acks(self, entry: Entry) -> list[Ack]:
        return [ProvisionalAck(entry.future, event, numbers=self.numbers) for event in entry.events]

    def pending(self) -> list[Entry]:
        """Return what is not settled, oldest first."""
        with self._lock:
            return list(self._entries.values())

    def outgoing(self, entry: Entry) -> tuple[Event, ...]:
        """Return an entry's events for an owner: with provisional ids of their own."""
        return tuple(map(self.numbers.with_logged_references, entry.events))

    # ---------------------------------------------------------------- settling

    def number(self, counter: int, first: int) -> Entry | None:
        """Record the log ids of an entry; it waits until ``settle``. None if it is settled."""
        with self._lock:
            entry = self._entries.get(counter)
        if entry is not None:
            self.numbers.record(entry.events, first)
        return entry

    def settle(self, counter: int, error: BaseException | None = None) -> None:
        """Resolve an entry's receipt: it is durable, or never will be."""
        with self._lock:
            if counter not in self._entries:
                return
            entry = self._remove(counter)
        if error is None:
            entry.future.set_result(None)
        else:
            entry.future.set_exception(error)

    def hand_over(self, counter: int, ack: Ack) -> None:
        """Drop an entry that the store of this process has accepted, whose receipt it resolves."""
        with self._lock:
            entry = self._remove(counter) if counter in self._entries else None
        if entry is not None:
            ack.future.add_done_callback(partial(_pass_on, entry.future))

    def wait_for(self, id_: int, timeout_s: float) -> int:
        """Return an event's id in the log, once it is known. Blocks.

        Raises:
            StoreError: It was not saved.
            TimeoutError: It is not known yet.
        """
        if is_provisional(id_) and self.numbers.logged_id(id_, missing=0) == 0:
            for entry in self.pending():
                if entry.events[0].id <= id_ <= entry.events[-1].id:
                    entry.future.result(timeout_s)
        return self.numbers.logged_id(id_)

    def wait_empty(self, timeout_s: float | None) -> bool:
        """Wait until everything queued before is settled; return whether it is."""
        futures = [entry.future for entry in self.pending()]
        return not wait(futures, timeout_s).not_done

    def abandon(self, error: StoreError) -> int:
        """Fail what still waits; return how many events are lost, those dropped before included."""
        with self._lock:
            self.closed = error
            left, self._entries = list(self._entries.values()), {}
            self._waiting = 0
        for entry in left:
            entry.future.set_exception(error)
        return sum(len(entry.events) for entry in left) + self.dropped

    def close_after_fork(self, error: StoreError) -> None:
        """Queue nothing in a forked child; what waits is the parent's."""
        self._lock = threading.Lock()  # another thread of the parent may have held it
        self._entries, self._waiting, self.closed = {}, 0, error

    def _remove(self, counter: int) -> Entry:
        entry = self._entries.pop(counter)
        self._waiting -= len(entry.events)
        return entry


def _pass_on(waiting: "Future[None]", saved: "Future[None]") -> None:
    if error := saved.exception():
        waiting.set_exception(error)
    else:
        waiting.set_result(None)
