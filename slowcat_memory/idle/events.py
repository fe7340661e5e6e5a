"""What idle work changes, told to whoever listens: ids and kinds, never a text."""

from collections.abc import Callable, Iterable
from typing import Literal

from msgspec import Struct

from slowcat_memory.records import Memory, WriteBatch
from slowcat_memory.store import Snapshot


class MemoryEvent(Struct, frozen=True, kw_only=True):
    """A memory has come, changed, or gone out of use.

    Attributes:
        what: Whether it is new, says or means something else now, or was superseded or taken away.
        scope: Its namespace.
        memory: Its id.
        kind: Its kind, for example "fact/preference"; "" when it is not known any more.
        job: Which job did it.
    """

    what: Literal["created", "updated", "retired"]
    scope: str
    memory: str
    kind: str
    job: str


OnMemory = Callable[[MemoryEvent], None]


def changes(job: str, batch: WriteBatch, before: Snapshot) -> tuple[MemoryEvent, ...]:
    """Tell what a batch changes.

    Args:
        job: Whose batch.
        batch: About to be applied.
        before: The store before it.

    Returns:
        An event for each memory: one that gets a context is updated.
    """
    found = {(m.scope, m.id): _change(job, m, before.memory(m.scope, m.id)) for m in batch.memories}
    for context in batch.contexts:
        at = (context.scope, context.memory)
        if at not in found:
            there = before.memory(*at)
            kind = there.kind if there else "chunk"
            found[at] = _event("updated", job, *at, kind)
    for at in batch.drop:
        there = before.memory(*at)
        found[at] = _event("retired", job, *at, there.kind if there else "")
    return tuple(found.values())


def tell(listeners: Iterable[OnMemory], events: Iterable[MemoryEvent]) -> int:
    """Tell listeners; one that fails does not keep the others from being told.

    Args:
        listeners: The listeners.
        events: What happened.

    Returns:
        How often one failed.
    """
    failures, listening = 0, tuple(listeners)
    for event in events:
        for listener in listening:
            try:
                listener(event)
            except Exception:  # somebody else's code
                failures += 1
    return failures


def _change(job: str, memory: Memory, before: Memory | None) -> MemoryEvent:
    if memory.retired_at is not None:
        return _event("retired", job, memory.scope, memory.id, memory.kind)
    what: Literal["created", "updated"] = "updated" if before else "created"
    return _event(what, job, memory.scope, memory.id, memory.kind)


def _event(
    what: Literal["created", "updated", "retired"], job: str, scope: str, memory: str, kind: str
) -> MemoryEvent:
    return MemoryEvent(what=what, scope=scope, memory=memory, kind=kind, job=job)
