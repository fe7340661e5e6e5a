"""Which events a batch makes, and how they reach listeners."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime

from slowcat_memory.metrics import Metrics
from slowcat_memory.records import EventKind, MemoryEvent, WriteBatch
from slowcat_memory.store import Store

OnMemory = Callable[[MemoryEvent], None]
LISTENER_FAILURES = "listener_failures"  # a counter


@dataclass
class EventSender:
    """Passes on what batches change. ``listeners`` run on the thread on which it happened."""

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
