"""The store as it was at a moment, to repeat a recall or to replay the log; and the span that words name.

What was logged or recorded later is missing, and what was retired later is current. Two things are
not stored, and are as they are today: a memory's former text under the same id (pinning changes a
memory so) and its context note. Texts that were forgotten since are missing, too.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory.core.memory import ICEBREAKER, family, turn_of
from slowcat_memory.core.time.expressions import times
from slowcat_memory.records import Event, LedgerEntry, Manifest, Memory, Session, Turn, WriteBatch
from slowcat_memory.store import Ack, Snapshot, Store
from slowcat_memory.store.rows.bookkeeping import fold_session
from slowcat_memory.store.snapshot import BeforeRead

BETWEEN = "/"


class UtcSpan(Struct, frozen=True):
    """A span of time in UTC; ``end`` is the first moment after it."""

    start: datetime
    end: datetime


def read_span(text: str, now: datetime, zone: tzinfo, language: str) -> UtcSpan | None:
    """Return the span that a text names; None if it names none.

    Args:
        text: For example "2024-05-31", "2024-05-01/2024-05-31" or "last week".
        now: The time of the question, aware.
        language: Of the words, as in ``language_of``.
    """
    first, _, last = text.strip().partition(BETWEEN)
    begin, end = _day(first, zone), _day(last or first, zone)
    if begin and end:
        return UtcSpan(begin.start, end.end) if begin.start < end.end else None
    found = times(text, now, zone, language)
    return UtcSpan(found[0].start, found[0].end) if found else None


def _day(text: str, zone: tzinfo) -> UtcSpan | None:
    """Return the day of an ISO date, or of a date and time."""
    try:
        start = datetime.combine(date.fromisoformat(text.strip()[:10]), time(), zone)
        return UtcSpan(start.astimezone(UTC), (start + timedelta(days=1)).astimezone(UTC))
    except (ValueError, OverflowError):
        return None


class StoreThen:
    """Reads like a ``Store`` at a moment, which ``advance`` moves forward.

    Attributes:
        readonly: Always False: ``apply`` writes to the store at once.
        upto: Log id of the last event that exists then.
        sessions: The sessions then, by id, of the events passed to ``advance``.
    """

    readonly = False

    def __init__(self, store: Store, now: datetime, upto: int = 0) -> None:
        self._store, self.path, self.now, self.upto = store, Path(store.path), now, upto
        self.sessions: dict[str, Session] = {}
        self.idle_turn = store.idle_turn

    def advance(self, event: Event) -> None:
        self.upto = event.id
        self.now = max(self.now, event.at)
        self.sessions[event.session] = fold_session(self.sessions.get(event.session), event)

    def apply(self, job: str, batch: WriteBatch) -> Ack:
        return self._store.apply(job, batch)

    @contextmanager
    def snapshot(self, before_read: BeforeRead = lambda: None) -> "Iterator[SnapshotThen]":
        with self._store.snapshot(before_read) as snapshot:
            yield SnapshotThen(snapshot, self)


def store_before(store: Store, turn: Turn) -> StoreThen:
    """Return the store as a namespace reads it before a turn: without sessions."""
    return StoreThen(store, turn.at, turn.id - 1)


class SnapshotThen:
    """A ``Snapshot`` of a moment; tasks, runs, cursors, keys and vectors are today's."""

    def __init__(self, snapshot: Snapshot, then: StoreThen) -> None:
        self._snapshot, self._then = snapshot, then

    def __getattr__(self, name: str) -> Any:
        """Read anything else as it is today."""
        return getattr(self._snapshot, name)

    def manifest(self, scope: str) -> Manifest | None:
        """Return None: a sealed index holds what came later."""
        return None

    def turn(self, id: int) -> Turn | None:
        return self._snapshot.turn(id) if id <= self._then.upto else None

    def events(self, scope: str = "", after: int = 0, upto: int | None = None) -> Iterator[Event]:
        last = self._then.upto if upto is None else min(upto, self._then.upto)
        return self._snapshot.events(scope, after, last)

    def turns(self, scope: str = "", after: int = 0, upto: int | None = None) -> Iterator[Turn]:
        return (event for event in self.events(scope, after, upto) if isinstance(event, Turn))

    def latest_turns(self, scope: str, before: int = 0) -> Iterator[Turn]:
        found = self._snapshot.latest_turns(scope, before)
        return (turn for turn in found if turn.id <= self._then.upto)

    def last_id(self) -> int:
        return self._then.upto

    def session(self, id: str) -> Session | None:
        return self._then.sessions.get(id)

    def sessions(self, scope: str = "") -> list[Session]:
        rows = [row for row in self._then.sessions.values() if scope in ("", row.scope)]
        return sorted(rows, key=lambda row: (row.started, row.id))

    def unended(self) -> list[Session]:
        return [row for row in self.sessions() if row.ended is None]

    def memory(self, scope: str, id: str) -> Memory | None:
        return self._as_was(self._snapshot.memory(scope, id))

    def read(self, scope: str, id: str) -> Memory | None:
        return self._as_was(self._snapshot.read(scope, id))

    def memories(self, scope: str, beginning: str = "", after: str = "") -> Iterator[Memory]:
        stored = self._snapshot.memories(scope, beginning, after)
        found = (self._as_was(memory) for memory in stored)
        return (memory for memory in found if memory is not None)

    def ledger(self, turn: int) -> LedgerEntry | None:
        return self._snapshot.ledger(turn) if turn <= self._then.upto else None

    def ledger_tail(self, n: int, before: int = 0) -> list[LedgerEntry]:
        found = self._snapshot.ledger_tail(n, before)
        return [row for row in found if row.turn <= self._then.upto]

    def _as_was(self, memory: Memory | None) -> Memory | None:
        # A used icebreaker stays used at any time: replaying the log must not queue it again.
        if memory is None or (family(memory.kind) == ICEBREAKER and memory.retired_at):
            return memory
        recorded = memory.recorded_at or memory.valid_from
        if turn_of(memory.id) > self._then.upto or recorded > self._then.now:
            return None
        later = memory.retired_at is not None and memory.retired_at > self._then.now
        return replace(memory, retired_at=None) if later else memory
