"""Which events a batch or a turn makes, and how they reach listeners."""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from slowcat_memory.core.memory import CHUNK, chunk_id
from slowcat_memory.metrics import Metrics
from slowcat_memory.records import EventKind, MemoryEvent, Turn, WriteBatch
from slowcat_memory.store import Ack, Store

OnMemory = Callable[[MemoryEvent], None]
LISTENER_FAILURES = "listener_failures"  # a counter


@dataclass
class MemoryEvents:
    """Writes batches and passes on what happened. Safe to use from several threads.

    ``listeners`` run on the thread on which it happened: the caller's, the store's or a worker's.
    """

    store: Store
    clock: Callable[[], datetime]
    metrics: Metrics
    listeners: list[OnMemory]

    def of(self, job: str, batch: WriteBatch) -> tuple[MemoryEvent, ...]:
        """Return an event for each memory that a batch, not yet applied, changes.

        A memory that gets a context counts as updated. None where nobody listens.
        """
        if not self.listeners:
            return ()
        changes = dict[tuple[str, str], tuple[EventKind, str]]()
        with self.store.snapshot() as before:
            for memory in batch.memories:
                place = memory.scope, memory.id
                known: EventKind = "updated" if before.memory(*place) else "created"
                changes[place] = "retired" if memory.retired_at else known, memory.kind
            for context in batch.contexts:
                place = context.scope, context.memory
                described = before.memory(*place)
                changes.setdefault(place, ("updated", described.kind if described else "chunk"))
            for place in batch.drop:
                dropped = before.memory(*place)
                changes[place] = "retired", dropped.kind if dropped else ""
        return tuple(
            MemoryEvent(what=what, scope=scope, ids=(id,), kind=kind, job=job, at=self.clock())
            for (scope, id), (what, kind) in changes.items()
        )

    def send(self, events: Iterable[MemoryEvent]) -> None:
        """Call each listener with each event; one that fails is counted, and disturbs nobody."""
        listeners = tuple(self.listeners)
        for event in events:
            for listener in listeners:
                try:
                    listener(event)
                except Exception:  # a listener is foreign code
                    self.metrics.count(LISTENER_FAILURES)

    def write(self, job: str, batch: WriteBatch) -> None:
        """Write a batch, wait until it is durable, and pass on what it changed.

        Raises:
            StoreError: It could not be saved.
        """
        events = self.of(job, batch)
        self.store.apply(job, batch).wait(None)
        self.send(events)

    def tell(self, what: EventKind, scope: str, ids: Sequence[str], **more: Any) -> None:
        """Pass on what happened to memories, if there are any and somebody listens."""
        if self.listeners and ids:
            self.send((MemoryEvent(what=what, scope=scope, ids=tuple(ids), **more),))

    def stored(self, ack: Ack) -> None:
        """Pass on, once it is on disk, that a turn was stored; voice commands are no memories.

        Called on event loops: the event is made on the store's thread.
        """
        turn = ack.event
        if self.listeners and isinstance(turn, Turn) and not turn.aside:
            ack.future.add_done_callback(partial(self._on_stored, turn))

    def _on_stored(self, turn: Turn, future: Future[None]) -> None:
        if future.exception() is None:
            more: dict[str, Any] = {"session": turn.session, "turn": turn.id, "at": turn.at}
            self.tell("stored", turn.scope, (chunk_id(turn.id),), kind=CHUNK, **more)
