"""What was said before the memory could be opened: bounded, in order, and the ids it has until then.

Until it is logged an event has a *provisional* id, negative and far from zero: it sorts before all
logged ones, and is never taken for a relative ``reply_to``.
"""

import threading
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory.core.memory import CHUNK, chunk_id
from slowcat_memory.engine.availability import fresh
from slowcat_memory.errors import StoreError, StoreFullError
from slowcat_memory.records import Cursor, Event, Turn
from slowcat_memory.store import Ack, new_future

FIRST_ID = -(1 << 40)
KEPT = 20_000  # ids remembered: what a conversation still refers to
T = TypeVar("T")


def is_provisional(id_: int) -> bool:
    return id_ < FIRST_ID // 2


class Numbers:
    """Ids in the log by provisional id; the latest ``KEPT`` of them. Any thread."""

    def __init__(self) -> None:
        self._logged: dict[int, int] = {}
        self._lock = threading.Lock()

    def record(self, events: Sequence[Event], first: int) -> None:
        """Record the ids of events that were logged one after the other."""
        with self._lock:
            for place, event in enumerate(events):
                self._logged[event.id] = first + place
            while len(self._logged) > KEPT:
                del self._logged[next(iter(self._logged))]

    def logged(self, value: T) -> T:
        """Return a value with the log's ids of turns and of their memories, as far as known.

        It may be an id, or anything that contains some: an event, a query, an order to forget.
        """
        return self._logged_value(value)

    def _logged_value(self, value: Any) -> Any:
        if isinstance(value, int):
            return self._logged.get(value, value)
        if isinstance(value, str):
            number = value.removeprefix(f"{CHUNK}/-")
            known = self._logged.get(-int(number)) if number != value and number.isdecimal() else 0
            return chunk_id(known) if known else value
        if type(value) in (tuple, list, frozenset):
            return type(value)(map(self._logged_value, value))
        if isinstance(value, dict):
            return {key: self._logged_value(one) for key, one in value.items()}
        if isinstance(value, Struct):
            fields = {name: getattr(value, name) for name in value.__struct_fields__}
            return replace(value, **self._logged_value(fields))
        return value

    def logged_event(self, event: Event) -> Event:
        """Return a new event that refers to others by their ids in the log.

        References to events that are not numbered are left out: those were dropped.
        """
        event = replace(self.logged(event), id=0)
        if not isinstance(event, Turn):
            return event
        sources = (one for one in event.derived_from if not one[1].startswith(f"{CHUNK}/-"))
        return replace(
            event,
            reply_to=0 if is_provisional(event.reply_to) else event.reply_to,
            part_of=0 if is_provisional(event.part_of) else event.part_of,
            derived_from=tuple(sources),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvisionalAck(Ack):
    """The receipt of an event that is numbered later."""

    numbers: Numbers

    @property
    def id(self) -> int:
        """The event's position in the log; provisional until that is known."""
        return self.numbers.logged(self.event.id) if self.event else 0

    def logged(self, turn: Turn) -> Turn:
        """Return a turn with its id in the log; unchanged while it still waits."""
        return self.numbers.logged(turn)


@dataclass(frozen=True, slots=True)
class Entry:
    """One append: its events with provisional ids, and the future of its receipts."""

    events: tuple[Event, ...]
    cursor: Cursor | None
    future: "Future[None]"


class Waiting:
    """A bounded queue of appends; when it is full, the oldest is dropped. Any thread.

    Attributes:
        numbers: The ids that its events got.
        used: Whether any event has waited since the beginning.
        dropped: How many events were dropped because the queue was full.
        closed: Why nothing is queued any more; None while it is.
    """

    def __init__(self, limit: int) -> None:
        self.numbers, self.used, self.dropped = Numbers(), False, 0
        self.closed: StoreError | None = None
        self._limit, self._lock = limit, threading.Lock()
        self._entries = deque[Entry]()
        self._events = 0
        self._next_id = FIRST_ID

    def __len__(self) -> int:
        return self._events

    def add(self, events: Sequence[Event], cursor: Cursor | None) -> list[Ack]:
        """Queue events; their receipt is resolved when they are durable, or were dropped.

        Raises:
            StoreError: The memory is closed.
            StoreFullError: So much waits that more than one event must wait too.
        """
        dropped = list[Entry]()
        with self._lock:
            if self.closed:
                raise fresh(self.closed)
            bulk = cursor is not None or len(events) > 1
            if bulk and self._events and self._events + len(events) > self._limit:
                raise StoreFullError(f"{self._events} events wait to be saved")
            while self._entries and self._events + len(events) > self._limit:
                dropped.append(self._pop())
                self.dropped += len(dropped[-1].events)
            self.used, first = True, self._next_id
            self._next_id += len(events)
            numbered = tuple(replace(one, id=first + n) for n, one in enumerate(events))
            entry = Entry(numbered, cursor, new_future())
            self._entries.append(entry)
            self._events += len(events)
        for one in dropped:
            one.future.set_exception(StoreFullError("too many events wait to be saved"))
        return [ProvisionalAck(entry.future, one, numbers=self.numbers) for one in numbered]

    def first(self) -> Entry | None:
        with self._lock:
            return self._entries[0] if self._entries else None

    def hand_over(self, entry: Entry, ack: Ack) -> None:
        """Drop the first entry, which the store has accepted, and whose receipt it resolves."""
        self.numbers.record(entry.events, ack.id - len(entry.events) + 1)
        if self._take(entry):
            ack.future.add_done_callback(partial(_pass_on, entry.future))

    def fail(self, entry: Entry, error: Exception) -> None:
        """Drop the first entry, which can never be saved."""
        if self._take(entry):
            entry.future.set_exception(error)

    def wait_empty(self, timeout_s: float | None) -> bool:
        """Wait until everything queued before is durable; return whether it is."""
        with self._lock:
            futures = [entry.future for entry in self._entries]
        return not wait(futures, timeout_s).not_done

    def abandon(self, error: StoreError) -> int:
        """Fail what still waits; return how many events are lost, those dropped before included."""
        with self._lock:
            self.closed = error
            abandoned, self._entries = self._entries, deque()
            self._events = 0
        for entry in abandoned:
            entry.future.set_exception(fresh(error))
        return sum(len(entry.events) for entry in abandoned) + self.dropped

    def _take(self, entry: Entry) -> bool:
        with self._lock:
            there = bool(self._entries) and self._entries[0] is entry
            if there:
                self._pop()
            return there

    def _pop(self) -> Entry:
        entry = self._entries.popleft()
        self._events -= len(entry.events)
        return entry


def _pass_on(waiting: "Future[None]", saved: "Future[None]") -> None:
    if error := saved.exception():
        waiting.set_exception(error)
    else:
        waiting.set_result(None)
