"""Events of memories that idle work creates, changes or retires: ids and kinds, no texts."""

from collections.abc import Callable, Iterable
from typing import Literal

from msgspec import Struct

from slowcat_memory.records import Memory, WriteBatch
from slowcat_memory.store import Snapshot

Change = Literal["created", "updated", "retired"]


class MemoryEvent(Struct, frozen=True, kw_only=True):
    """A memory was created, updated or retired.

    Attributes:
        what: "updated" if its text or meaning changed; "retired" if it was superseded or removed.
        kind: Its kind, for example "fact/preference"; "" if it is no longer known.
    """

    what: Change
    scope: str
    memory: str
    kind: str
    job: str


OnMemory = Callable[[MemoryEvent], None]


def events_of(job: str, batch: WriteBatch, before: Snapshot) -> tuple[MemoryEvent, ...]:
    """Return an event for each memory that a batch, not yet applied, changes.

    A memory that gets a context counts as updated.
    """
    found = {(m.scope, m.id): _event(_change(m, before), job, m) for m in batch.memories}
    for context in batch.contexts:
        at = (context.scope, context.memory)
        if at not in found:
            there = before.memory(*at)
            kind = there.kind if there else "chunk"
            found[at] = MemoryEvent(what="updated", scope=at[0], memory=at[1], kind=kind, job=job)
    for at in batch.drop:
        there = before.memory(*at)
        kind = there.kind if there else ""
        found[at] = MemoryEvent(what="retired", scope=at[0], memory=at[1], kind=kind, job=job)
    return tuple(found.values())


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


def _change(memory: Memory, before: Snapshot) -> Change:
    if memory.retired_at is not None:
        return "retired"
    return "updated" if before.memory(memory.scope, memory.id) else "created"


def _event(what: Change, job: str, memory: Memory) -> MemoryEvent:
    return MemoryEvent(what=what, scope=memory.scope, memory=memory.id, kind=memory.kind, job=job)
