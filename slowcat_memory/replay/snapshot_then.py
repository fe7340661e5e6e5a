"""A copy of a store, read as of a moment and written at once: for jobs to work through the log anew.

What was logged later is not there, nor what was recorded later; what was superseded later holds. So
a job that looks at "all that was said" sees what it saw at the time.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from slowcat_memory.core.memory.chunk import turn_of
from slowcat_memory.core.memory.kinds import ICEBREAKER, family
from slowcat_memory.records import Event, LedgerEntry, Memory, Session, Turn, WriteBatch
from slowcat_memory.store import Ack, Snapshot, Store
from slowcat_memory.store.rows.bookkeeping import fold_session


class Then:
    """Reads like a ``Store`` of a moment, which moves on event by event.

    Attributes:
        path: The copy's folder.
        readonly: Never.
        upto: Log id of the last event that is there.
        now: The time there.
        sessions: The sessions as of then, by id.
    """

    readonly = False

    def __init__(self, store: Store, now: datetime) -> None:
        """Begin before the first event.

        Args:
            store: The copy.
            now: A time before all that was recorded.
        """
        self._store, self.path, self.now, self.upto = store, Path(store.path), now, 0
        self.sessions: dict[str, Session] = {}

    def take(self, event: Event) -> None:
        """Move on by one event of the log."""
        self.upto = event.id
        self.now = max(self.now, event.at)
        self.sessions[event.session] = fold_session(self.sessions.get(event.session), event)

    def apply(self, job: str, batch: WriteBatch) -> Ack:
        """Write to the copy; see ``Store``."""
        return self._store.apply(job, batch)

    @contextmanager
    def snapshot(self) -> "Iterator[SnapshotThen]":
        """Take a consistent view as of then; see ``Store``."""
        with self._store.snapshot() as snapshot:
            yield SnapshotThen(snapshot, self)


class SnapshotThen:
    """What a ``Snapshot`` would have shown then; tasks, runs, cursors and vectors are the copy's."""

    def __init__(self, snapshot: Snapshot, then: Then) -> None:
        """Choose the moment.

        Args:
            snapshot: Of the copy.
            then: The moment.
        """
        self._snapshot, self._then = snapshot, then

    def __getattr__(self, name: str) -> Any:
        """Read anything else from the copy."""
        return getattr(self._snapshot, name)

    def turn(self, id: int) -> Turn | None:
        """Return a turn that had been said; see ``Snapshot``."""
        return self._snapshot.turn(id) if id <= self._then.upto else None

    def events(self, scope: str = "", after: int = 0, upto: int | None = None) -> Iterator[Event]:
        """Walk what had been logged; see ``Snapshot``."""
        last = self._then.upto if upto is None else min(upto, self._then.upto)
        return self._snapshot.events(scope, after, last)

    def turns(self, scope: str = "", after: int = 0, upto: int | None = None) -> Iterator[Turn]:
        """Walk what had been said; see ``Snapshot``."""
        return (event for event in self.events(scope, after, upto) if isinstance(event, Turn))

    def last_id(self) -> int:
        """Return the id of the last event that was there; see ``Snapshot``."""
        return self._then.upto

    def session(self, id: str) -> Session | None:
        """Return a session as it was; see ``Snapshot``."""
        return self._then.sessions.get(id)

    def sessions(self, scope: str = "") -> list[Session]:
        """Return sessions as they were; see ``Snapshot``."""
        rows = [row for row in self._then.sessions.values() if scope in ("", row.scope)]
        return sorted(rows, key=lambda row: (row.started, row.id))

    def unended(self) -> list[Session]:
        """Return the sessions that went on; see ``Snapshot``."""
        return [row for row in self.sessions() if row.ended is None]

    def memory(self, scope: str, id: str) -> Memory | None:
        """Return a memory as it was; see ``Snapshot``."""
        memory = self._snapshot.memory(scope, id)
        return None if memory is None else self._as_was(memory)

    def read(self, scope: str, id: str) -> Memory | None:
        """Return a memory as it was, its context included; see ``Snapshot``."""
        memory = self._snapshot.read(scope, id)
        return None if memory is None else self._as_was(memory)

    def memories(self, scope: str, beginning: str = "") -> Iterator[Memory]:
        """Walk the memories that were there; see ``Snapshot``."""
        found = (self._as_was(memory) for memory in self._snapshot.memories(scope, beginning))
        return (memory for memory in found if memory is not None)

    def ledger(self, turn: int) -> LedgerEntry | None:
        """Return what recall had done for a turn; see ``Snapshot``."""
        return self._snapshot.ledger(turn) if turn <= self._then.upto else None

    def ledger_tail(self, n: int) -> list[LedgerEntry]:
        """Return what recall had done lately; see ``Snapshot``."""
        return [row for row in self._snapshot.ledger_tail(n) if row.turn <= self._then.upto]

    def _as_was(self, memory: Memory) -> Memory | None:
        """An icebreaker that was used is known to be used at any time: it is not found again."""
        if family(memory.kind) == ICEBREAKER and memory.retired_at:
            return memory
        recorded = memory.recorded_at or memory.valid_from
        if turn_of(memory.id) > self._then.upto or recorded > self._then.now:
            return None
        later = memory.retired_at is not None and memory.retired_at > self._then.now
        return replace(memory, retired_at=None) if later else memory
