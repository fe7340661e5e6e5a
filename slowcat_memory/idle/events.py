"""Which events a batch makes, and how they reach listeners."""

from collections.abc import Callable, Iterable
from datetime import datetime

from slowcat_memory.records import EventKind, MemoryEvent, WriteBatch
from slowcat_memory.store import Snapshot

OnMemory = Callable[[MemoryEvent], None]


def events_of(
    job: str, batch: WriteBatch, before: Snapshot, at: datetime
) -> tuple[MemoryEvent, ...]:
    """Return an event for each memory that a batch, not yet applied, changes.

    A memory that gets a context counts as updated. ``at`` is when it is applied.
    """
    found = dict[tuple[str, str], tuple[EventKind, str]]()
    for memory in batch.memories:
        there = before.memory(memory.scope, memory.id)
        change: EventKind = "updated" if there else "created"
        found[memory.scope, memory.id] = "retired" if memory.retired_at else change, memory.kind
    for context in batch.contexts:
        place = (context.scope, context.memory)
        if place not in found:
            there = before.memory(*place)
            found[place] = "updated", there.kind if there else "chunk"
    for place in batch.drop:
        there = before.memory(*place)
        found[place] = "retired", there.kind if there else ""
    return tuple(
        MemoryEvent(what=what, scope=scope, ids=(id,), kind=kind, job=job, at=at)
        for (scope, id), (what, kind) in found.items()
    )


def notify(listeners: Iterable[OnMemory], events: Iterable[MemoryEvent]) -> int:
    """Call each listener with each event; return how many calls failed."""
    failures, called = 0, tuple(listeners)
    for event in events:
        for listener in called:
            try:
                listener(event)
            except Exception:  # a listener is foreign code
                failures += 1
    return failures
