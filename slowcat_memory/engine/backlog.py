"""Events that wait until a store can be opened, and their numbers before and after.

An event is numbered when it enters the log. Until then it has a *provisional* id, negative and far
from zero: it sorts before all logged ones, and is never taken for a relative ``reply_to``.
"""

import threading
from collections import deque
from collections.abc import Collection, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial

from msgspec.structs import replace

from slowcat_memory.core.memory import CHUNK, chunk_id
from slowcat_memory.errors import StoreError, StoreFullError
from slowcat_memory.records import Event, Turn
from slowcat_memory.store import Ack, new_future

FIRST_ID = -(1 << 40)
_LAST_ID = FIRST_ID // 2  # ids below are provisional


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvisionalAck(Ack):
    """The receipt of an event that waits, or that may answer one that waited."""

    backlog: "Backlog"

    def logged(self, turn: Turn) -> Turn:
        """Return a turn with its id in the log; unchanged while it still waits."""
        id_ = self.backlog.logged_id(turn.id)
        return replace(turn, id=id_, reply_to=self.backlog.logged_id(turn.reply_to))


@dataclass(frozen=True, slots=True)
class Waiting:
    """An event with a provisional id, and the future of its receipt."""

    event: Event
    future: "Future[None]"


class Backlog:
    """A bounded queue of events; when it is full, the oldest are dropped. Any thread.

    Attributes:
        dropped: How many events were dropped because the queue was full.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._queue: deque[Waiting] = deque()
        self._next_id = FIRST_ID
        self._logged: dict[int, int] = {}  # log ids by provisional id
        self._closed: StoreError | None = None
        self.dropped = 0

    def __len__(self) -> int:
        return len(self._queue)

    def __bool__(self) -> bool:
        """Return whether any event has waited since the beginning."""
        return self._next_id != FIRST_ID

    # ---------------------------------------------------------------- waiting

    def add(self, event: Event) -> Ack:
        """Queue an event; its receipt is resolved when it is durable, or was dropped.

        Raises:
            StoreError: The memory is closed.
        """
        dropped = None
        with self._lock:
            if self._closed:
                raise self._closed
            if len(self._queue) >= self._limit:
                dropped = self._queue.popleft()
                self.dropped += 1
            event = replace(event, id=self._next_id)
            self._next_id += 1
            waiting = Waiting(event, new_future())
            self._queue.append(waiting)
        if dropped:
            dropped.future.set_exception(StoreFullError("too many events wait to be saved"))
        return ProvisionalAck(waiting.future, event, backlog=self)

    def abandon(self, error: StoreError) -> int:
        """Fail what still waits; return how many events are lost, those dropped before included."""
        with self._lock:
            self._closed = error
            left, self._queue = list(self._queue), deque()
        for waiting in left:
            waiting.future.set_exception(error)
        return len(left) + self.dropped

    # ---------------------------------------------------------------- saving

    def take(self, count: int) -> list[Waiting]:
        """Return and remove the oldest events."""
        with self._lock:
            return [self._queue.popleft() for _ in range(min(count, len(self._queue)))]

    def put_back(self, batch: Sequence[Waiting]) -> None:
        with self._lock:
            self._queue.extendleft(reversed(batch))

    def to_log(self, batch: Sequence[Waiting]) -> list[Event]:
        """Return a batch's events as ``append_all`` takes them: replies within it are relative."""
        places = {waiting.event.id: place for place, waiting in enumerate(batch)}
        return [self._numbered(waiting.event, places, place) for place, waiting in enumerate(batch)]

    def _numbered(self, event: Event, places: dict[int, int], place: int) -> Event:
        event = replace(event, id=0)
        if not isinstance(event, Turn):
            return event
        if event.reply_to in places:
            return replace(event, reply_to=places[event.reply_to] - place)
        return replace(event, reply_to=self.logged_id(event.reply_to, missing=0))

    def record(self, batch: Sequence[Waiting], acks: Sequence[Ack]) -> None:
        """Record the log ids of a batch, and resolve its receipts with those of the log."""
        for waiting, ack in zip(batch, acks, strict=True):
            self._logged[waiting.event.id] = ack.id
            ack.future.add_done_callback(partial(_pass_on, waiting.future))

    # ---------------------------------------------------------------- numbers

    def logged_id(self, id_: int, *, missing: int | None = None) -> int:
        """Return a turn's id in the log.

        Args:
            id_: An id; one that is not provisional is returned unchanged.
            missing: Returned if it still waits or was dropped; None for ``id_``.
        """
        if id_ > _LAST_ID:
            return id_
        return self._logged.get(id_, id_ if missing is None else missing)

    def logged_event(self, event: Event) -> Event:
        """Return a new event that refers to others by their ids in the log."""
        if isinstance(event, Turn) and event.reply_to < _LAST_ID:
            return replace(event, reply_to=self.logged_id(event.reply_to, missing=0))
        return event

    def logged_memories(self, ids: Collection[str]) -> frozenset[str]:
        """Return ids of memories, with the log's ids for chunks of turns that waited."""
        return frozenset(map(self._logged_memory, ids))

    def _logged_memory(self, memory_id: str) -> str:
        number = memory_id.removeprefix(f"{CHUNK}/-")
        return memory_id if number == memory_id else chunk_id(self.logged_id(-int(number)))


def _pass_on(waiting: "Future[None]", saved: "Future[None]") -> None:
    if error := saved.exception():
        waiting.set_exception(error)
    else:
        waiting.set_result(None)
