"""Which events a batch makes, and how they reach listeners."""

from collections.abc import Callable, Iterable
from datetime import datetime

from msgspec.structs import replace

from slowcat_memory.records import EventKind, Memory, MemoryEvent, WriteBatch
from slowcat_memory.store import Snapshot

OnMemory = Callable[[MemoryEvent], None]


def events_of(
    job: str, batch: WriteBatch, before: Snapshot, at: datetime
) -> tuple[MemoryEvent, ...]:
    """Return an event for each memory that a batch, not yet applied, changes.

    A memory that gets a context counts as updated. ``at`` is when it is applied.
    """
    found = {
        (m.scope, m.id): _event(_change(m, before), job, m.scope, m.id, m.kind)
        for m in batch.memories
    }
    for context in batch.contexts:
        place = (context.scope, context.memory)
        if place not in found:
            there = before.memory(*place)
            kind = there.kind if there else "chunk"
            found[place] = _event("updated", job, *place, kind)
    for place in batch.drop:
        there = before.memory(*place)
        kind = there.kind if there else ""
        found[place] = _event("retired", job, *place, kind)
    return tuple(replace(event, at=at) for event in found.values())


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


def _change(memory: Memory, before: Snapshot) -> EventKind:
    if memory.retired_at is not None:
        return "retired"
    return "updated" if before.memory(memory.scope, memory.id) else "created"


def _event(what: EventKind, job: str, scope: str, id: str, kind: str) -> MemoryEvent:
    return MemoryEvent(what=what, scope=scope, ids=(id,), kind=kind, job=job)
