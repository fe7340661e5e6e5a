"""The store as it was before a turn: to repeat a recall of then.

What was logged at that turn or later, and what was recorded later, is missing; what was superseded
since counts. The store does not keep three things, which are as they are today: a memory's former
text under the same id (pinning changes a memory so), its context note, and a draft vector that an
exact one replaced. What was forgotten since is missing, too.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from msgspec.structs import replace

from slowcat_memory.core.memory.chunk import turn_of
from slowcat_memory.core.memory.kinds import ICEBREAKER, family
from slowcat_memory.records import Manifest, Memory, Turn
from slowcat_memory.store import Snapshot, Store


class AsOf:
    """Reads like a ``Store`` that nothing was written to since: as much as a namespace needs."""

    def __init__(self, store: Store, turn: Turn) -> None:
        """Set the first turn that is missing."""
        self._store, self._turn = store, turn
        self.path: Path = store.path

    @contextmanager
    def snapshot(self) -> "Iterator[SnapshotAsOf]":
        """Open a consistent view, valid until the block ends."""
        with self._store.snapshot() as snapshot:
            yield SnapshotThen(snapshot, self)


def store_before(store: Store, turn: Turn) -> StoreThen:
    """Return the store as it was before a turn, as far as a namespace reads it: no sessions."""
    return StoreThen(store, turn.at, turn.id - 1)

class SnapshotAsOf:
    """A ``Snapshot`` from before a turn: as much as a namespace reads."""

    def __init__(self, snapshot: Snapshot, before: int, at: datetime) -> None:
        """Hide what came later.

        Args:
            snapshot: Of today.
            before: Log id of the first turn that is missing.
            at: When it was said.
        """
        self._snapshot, self._before, self._at = snapshot, before, at
        self.forget_epoch = snapshot.forget_epoch
        self.tokens = snapshot.tokens
        self.turn_before = snapshot.turn_before
        self.in_context = snapshot.in_context
        self.cursor = snapshot.cursor
        self.keys = snapshot.keys

    def manifest(self, scope: str) -> Manifest | None:
        """Return None: a sealed index holds what came later."""
        return None

    def turns(self, scope: str, after: int = 0) -> Iterator[Turn]:
        """Yield the turns of then, in order; see ``Snapshot``."""
        return self._snapshot.turns(scope, after=after, upto=self._before - 1)

    def turn(self, id: int) -> Turn | None:
        """Return a turn of then; see ``Snapshot``."""
        return self._snapshot.turn(id) if id < self._before else None

    def memory(self, scope: str, id: str) -> Memory | None:
        memory = self._snapshot.memory(scope, id)
        return None if memory is None else self._as_was(memory)

    def read(self, scope: str, id: str) -> Memory | None:
        """Return a memory as it was, with its context; see ``Snapshot``."""
        memory = self._snapshot.read(scope, id)
        return None if memory is None else self._as_was(memory)

    def memories(self, scope: str) -> Iterator[Memory]:
        """Yield the memories of then; see ``Snapshot``."""
        found = (self._as_was(memory) for memory in self._snapshot.memories(scope))
        return (memory for memory in found if memory is not None)

    def vectors(self, embedder: str, scope: str) -> Iterator[Vector]:
        """Yield the vectors; those of missing memories are passed over by the index."""
        return self._snapshot.vectors(embedder, scope)

    def _as_was(self, memory: Memory) -> Memory | None:
        # A used icebreaker stays used at any time, so that working through the log again does not
        # queue it again.
        if family(memory.kind) == ICEBREAKER and memory.retired_at:
            return memory
        recorded = memory.recorded_at or memory.valid_from
        if turn_of(memory.id) > self._then.upto or recorded > self._then.now:
            return None
        later = memory.retired_at is not None and memory.retired_at > self._then.now
        return replace(memory, retired_at=None) if later else memory
