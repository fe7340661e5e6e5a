"""Events of a memory for its subscribers; nothing is computed while there are none."""

from collections.abc import Callable, Iterable
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from typing import TypeVar

from slowcat_memory.clock import Clock
from slowcat_memory.core.memory import CHUNK, chunk_id
from slowcat_memory.idle.events import OnMemory, events_of, notify
from slowcat_memory.metrics import Metrics
from slowcat_memory.records import (
    EventKind,
    Forgotten,
    LedgerEntry,
    Memory,
    MemoryEvent,
    Turn,
    WriteBatch,
)
from slowcat_memory.store import Ack, Store

PERSON = "person"
T = TypeVar("T")


def listen(listeners: list[T], listener: T) -> Callable[[], None]:
    """Add a listener; return what removes it."""
    listeners.append(listener)

    def end() -> None:
        with suppress(ValueError):
            listeners.remove(listener)

    return end


class MemoryEvents:
    """Writes batches and passes on what happened. Safe to use from several threads.

    ``listeners`` run on the thread on which it happened: the caller's, the store's or a worker's.
    """

    def __init__(self, store: Store, clock: Clock, metrics: Metrics) -> None:
        self._store, self._clock, self._metrics = store, clock, metrics
        self.listeners: list[OnMemory] = []

    def write(self, job: str, batch: WriteBatch) -> None:
        """Write a batch, wait until it is durable, and pass on what it changed.

        Raises:
            StoreError: It could not be saved.
        """
        events: tuple[MemoryEvent, ...] = ()
        if self.listeners:
            with self._store.snapshot() as before:
                events = events_of(job, batch, before, self._clock())
        self._store.apply(job, batch).wait(None)
        self.send(events)

    def send(self, events: Iterable[MemoryEvent]) -> None:
        """Pass events on; a listener that fails is counted, and disturbs nobody."""
        if failures := notify(self.listeners, events):
            self._metrics.count("listener_failures", failures)

    def stored(self, ack: Ack) -> None:
        """Pass on, once it is on disk, that a turn was stored; voice commands are no memories.

        Called on event loops: the event is made on the store's thread.
        """
        turn = ack.event
        if not self.listeners or not isinstance(turn, Turn) or turn.aside:
            return
        ack.future.add_done_callback(partial(self._on_stored, turn))

    def _on_stored(self, turn: Turn, future: Future[None]) -> None:
        if future.cancelled() or future.exception() is not None:
            return
        event = MemoryEvent(
            what="stored",
            scope=turn.scope,
            ids=(chunk_id(turn.id),),
            kind=CHUNK,
            session=turn.session,
            turn=turn.id,
            at=turn.at,
        )
        self.send((event,))

    def recalled(self, entry: LedgerEntry) -> None:
        """Pass on what was put before the LLM at a turn."""
        if self.listeners and entry.offers:
            ids = tuple(offer.memory for offer in entry.offers)
            event = MemoryEvent(
                what="recalled",
                scope=entry.scope,
                ids=ids,
                session=entry.session,
                turn=entry.turn,
                at=entry.at,
            )
            self.send((event,))

    def changed(self, what: EventKind, memory: Memory, job: str = PERSON) -> None:
        """Pass on what happened to one memory."""
        event = MemoryEvent(
            what=what,
            scope=memory.scope,
            ids=(memory.id,),
            kind=memory.kind,
            job=job,
            at=self._clock(),
        )
        self.send((event,))

    def forgotten(self, gone: Forgotten) -> None:
        """Pass on, for each namespace, what was deleted for good."""
        for scope in sorted({scope for scope, _ in gone.memories}):
            ids = tuple(id for where, id in gone.memories if where == scope)
            self.send((MemoryEvent(what="forgotten", scope=scope, ids=ids, at=self._clock()),))
