"""What was said before the memory could be opened: bounded, in order, and the ids it has until then.

Until it is logged an event has a *provisional* id, negative and far from zero: it sorts before all
logged ones, and is never taken for a relative ``reply_to``.
"""

import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from msgspec.structs import replace

from slowcat_memory.core.memory import CHUNK, chunk_id
from slowcat_memory.errors import StoreError, StoreFullError
from slowcat_memory.records import Cursor, Event, Turn
from slowcat_memory.runtime.recall.query import Query
from slowcat_memory.store import Ack, new_future

FIRST_ID = -(1 << 40)
_LAST_ID = FIRST_ID // 2  # ids below are provisional
AnyEvent = TypeVar("AnyEvent", Turn, Event)
KEPT = 20_000  # ids remembered: what a conversation still refers to


def is_provisional(id_: int) -> bool:
    return id_ < _LAST_ID


def provisional_turn(memory_id: str) -> int:
    """Return the provisional id of the turn that a memory is; 0 for every other memory."""
    number = memory_id.removeprefix(f"{CHUNK}/-")
    return 0 if number == memory_id or not number.isdecimal() else -int(number)


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

    def logged_id(self, id_: int, *, missing: int | None = None) -> int:
        """Return an event's id in the log.

        Args:
            id_: An id; one that is not provisional is returned unchanged.
            missing: Returned if it is not numbered yet, or was dropped; None for ``id_``.
        """
        if not is_provisional(id_):
            return id_
        return self._logged.get(id_, id_ if missing is None else missing)

    def logged_event(self, event: Event) -> Event:
        """Return a new event that refers to others by their ids in the log.

        References to events that are not numbered are left out: those were dropped.
        """
        event = replace(self.with_logged_references(event), id=0)
        if not isinstance(event, Turn):
            return event
        return replace(
            event,
            reply_to=0 if is_provisional(event.reply_to) else event.reply_to,
            part_of=0 if is_provisional(event.part_of) else event.part_of,
            derived_from=tuple(one for one in event.derived_from if not provisional_turn(one[1])),
        )

    def with_logged_references(self, event: AnyEvent) -> AnyEvent:
        """Return an event that refers to others by their ids in the log, as far as known."""
        if not isinstance(event, Turn):
            return event
        return replace(
            event,
            reply_to=self.logged_id(event.reply_to),
            part_of=self.logged_id(event.part_of),
            derived_from=tuple(
                (scope, self.logged_memory(memory)) for scope, memory in event.derived_from
            ),
        )

    def logged_query(self, query: Query) -> Query:
        """Return a query that names turns by their ids in the log, as far as known."""
        known = {"exclude": query.exclude, "dialogue": query.dialogue}
        return replace(query, **self.logged_known(known))

    def logged_known(self, known: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of a recall or search; see ``logged_query``."""
        known = dict(known)
        if "exclude" in known:
            known["exclude"] = frozenset(map(self.logged_memory, known["exclude"]))
        if "dialogue" in known:
            known["dialogue"] = tuple(
                replace(one, memory=self.logged_memory(one.memory)) for one in known["dialogue"]
            )
        return known

    def logged_memory(self, memory_id: str) -> str:
        """Return a memory's id; for the chunk of a turn that waited, by the log's id if known."""
        turn = provisional_turn(memory_id)
        return chunk_id(self.logged_id(turn)) if turn else memory_id


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvisionalAck(Ack):
    """The receipt of an event that is numbered later."""

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
    """One append: its events with provisional ids, and the future of its receipts."""

    events: tuple[Event, ...]
    cursor: Cursor | None
    future: "Future[None]"


class Waiting:
    """A bounded queue of appends; when it is full, the oldest is dropped. Any thread.

    Attributes:
        numbers: The ids that its events got.
        dropped: How many events were dropped because the queue was full.
        closed: Why nothing is queued any more; None while it is.
    """

    def __init__(self, limit: int) -> None:
        self.numbers, self.dropped = Numbers(), 0
        self.closed: StoreError | None = None
        self._limit, self._lock = limit, threading.Lock()
        self._entries: dict[int, Entry] = {}  # by the id of the first event, in order
        self._events = 0
        self._next_id = FIRST_ID

    def __len__(self) -> int:
        return self._events

    def __bool__(self) -> bool:
        """Return whether any event has waited since the beginning."""
        return self._next_id != FIRST_ID

    def add(
        self, events: Sequence[Event], cursor: Cursor | None = None, *, bulk: bool = False
    ) -> list[Ack]:
        """Queue events; their receipt is resolved when they are durable, or were dropped.

        Raises:
            StoreError: The memory is closed.
            StoreFullError: So much waits that a bulk append must wait too.
        """
        dropped = list[Entry]()
        with self._lock:
            if self.closed:
                raise self.closed.again()
            if bulk and self._events and self._events + len(events) > self._limit:
                raise StoreFullError(f"{self._events} events wait to be saved")
            while self._entries and self._events + len(events) > self._limit:
                dropped.append(self._remove(next(iter(self._entries))))
                self.dropped += len(dropped[-1].events)
            first = self._next_id
            self._next_id += len(events)
            numbered = tuple(replace(one, id=first + n) for n, one in enumerate(events))
            entry = self._entries[first] = Entry(numbered, cursor, new_future())
            self._events += len(events)
        for one in dropped:
            one.future.set_exception(StoreFullError("too many events wait to be saved"))
        return [ProvisionalAck(entry.future, one, numbers=self.numbers) for one in entry.events]

    def pending(self) -> list[Entry]:
        """Return what waits, oldest first."""
        with self._lock:
            return list(self._entries.values())

    def hand_over(self, entry: Entry, ack: Ack) -> None:
        """Drop an entry that the store has accepted, whose receipt it resolves."""
        self.numbers.record(entry.events, ack.id)
        if self._take(entry):
            ack.future.add_done_callback(partial(_pass_on, entry.future))

    def fail(self, entry: Entry, error: Exception) -> None:
        """Drop an entry that can never be saved."""
        if self._take(entry):
            entry.future.set_exception(error)

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
        """Wait until everything queued before is durable; return whether it is."""
        futures = [entry.future for entry in self.pending()]
        return not wait(futures, timeout_s).not_done

    def abandon(self, error: StoreError) -> int:
        """Fail what still waits; return how many events are lost, those dropped before included."""
        with self._lock:
            self.closed = error
            abandoned, self._entries = list(self._entries.values()), {}
            self._events = 0
        for entry in abandoned:
            entry.future.set_exception(error.again())
        return sum(len(entry.events) for entry in abandoned) + self.dropped

    def close_after_fork(self, error: StoreError) -> None:
        """Queue nothing in a forked child; what waits is the parent's."""
        self._lock = threading.Lock()  # another thread of the parent may have held it
        self._entries, self._events, self.closed = {}, 0, error

    def _take(self, entry: Entry) -> bool:
        with self._lock:
            if entry.events[0].id not in self._entries:
                return False
            self._remove(entry.events[0].id)
            return True

    def _remove(self, first: int) -> Entry:
        entry = self._entries.pop(first)
        self._events -= len(entry.events)
        return entry


def _pass_on(waiting: "Future[None]", saved: "Future[None]") -> None:
    if error := saved.exception():
        waiting.set_exception(error)
    else:
        waiting.set_result(None)
