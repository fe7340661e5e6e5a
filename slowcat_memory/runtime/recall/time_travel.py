"""The store as it was at a moment, to repeat a recall or to replay the log; and the span that words name.

What was logged or recorded later is missing, and what was retired later is current. Two things are
not stored, and are as they are today: a memory's former text under the same id (pinning changes a
memory so) and its context note. Texts that were forgotten since are missing, too.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta, tzinfo
from heapq import nlargest
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import replace

from slowcat_memory.core.disclosure import disclose
from slowcat_memory.core.memory import (
    ICEBREAKER,
    SESSION_SUMMARY,
    SUMMARY,
    chunk,
    chunk_id,
    family,
    findable,
    held_at,
    indexed_text,
    searchable,
    turn_of,
)
from slowcat_memory.core.ranking.score import probability
from slowcat_memory.core.summaries.summary import items, without_repeats
from slowcat_memory.core.text.normalize import Tokenizer, fingerprint
from slowcat_memory.core.time.expressions import Interval, periods_of, times
from slowcat_memory.records import (
    Disclosed,
    Event,
    Hit,
    LedgerEntry,
    Manifest,
    Memory,
    Session,
    Turn,
    WriteBatch,
)
from slowcat_memory.runtime.recall.choosing import Recall
from slowcat_memory.store import Ack, Snapshot, Store
from slowcat_memory.store.bookkeeping import fold_session
from slowcat_memory.store.snapshot import BeforeRead

BETWEEN = "/"


def read_span(text: str, now: datetime, zone: tzinfo, language: str) -> Interval | None:
    """Return the span that a text names; None if it names none.

    Args:
        text: For example "2024-05-31", "2024-05-01/2024-05-31" or "last week".
        now: The time of the question, aware.
        language: Of the words, as in ``language_of``.
    """
    spans = times(text, now, zone, language)
    if BETWEEN in text and spans and spans[0].start < spans[-1].end:
        return Interval(spans[0].start, spans[-1].end, text)
    return spans[0] if spans and BETWEEN not in text else None


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
        turns = self._snapshot.latest_turns(scope, before)
        return (turn for turn in turns if turn.id <= self._then.upto)

    def last_id(self) -> int:
        return self._then.upto

    def session(self, id: str) -> Session | None:
        return self._then.sessions.get(id)

    def sessions(self, scope: str = "") -> list[Session]:
        rows = [row for row in self._then.sessions.values() if scope in ("", row.scope)]
        return sorted(rows, key=lambda row: (row.started, row.id))

    def memory(self, scope: str, id: str) -> Memory | None:
        return self._as_was(self._snapshot.memory(scope, id))

    def read(self, scope: str, id: str) -> Memory | None:
        return self._as_was(self._snapshot.read(scope, id))

    def memories(self, scope: str, beginning: str = "", after: str = "") -> Iterator[Memory]:
        stored = self._snapshot.memories(scope, beginning, after)
        memories = (self._as_was(memory) for memory in stored)
        return (memory for memory in memories if memory is not None)

    def ledger(self, turn: int) -> LedgerEntry | None:
        return self._snapshot.ledger(turn) if turn <= self._then.upto else None

    def ledger_tail(self, n: int, before: int = 0) -> list[LedgerEntry]:
        return [row for row in self._snapshot.ledger_tail(n, before) if row.turn <= self._then.upto]

    def _as_was(self, memory: Memory | None) -> Memory | None:
        # A used icebreaker stays used at any time: replaying the log must not queue it again.
        if memory is None or (family(memory.kind) == ICEBREAKER and memory.retired_at):
            return memory
        recorded = memory.recorded_at or memory.valid_from
        if turn_of(memory.id) > self._then.upto or recorded > self._then.now:
            return None
        later = memory.retired_at is not None and memory.retired_at > self._then.now
        return replace(memory, retired_at=None) if later else memory


# ------------------------------------------------------------------- what no index holds
# A search that reads memories one by one, for what no index holds or can filter by: retired memories
# are in no index, and an index proposes the best of all times, not of one week. It reads texts, for
# up to a fifth of a second: never on the frame path.


MOST = 5000  # turns that are read
Keep = Callable[[Memory], bool]


def scan(
    memories: Iterable[Disclosed], words: Mapping[str, float], tokenizer: Tokenizer, k: int
) -> list[Hit]:
    """Return the memories that match a query best, best first.

    The score, above 0, is the share of the query's weight (``words``, by token) in a memory.
    """
    total = sum(words.values())
    if not total:
        return [Hit(memory=memory, score=0.0) for memory in islice(memories, k)]

    def share_of(memory: Memory) -> float:
        return sum(words.get(token, 0.0) for token in {*tokenizer(indexed_text(memory))}) / total

    scored = ((share_of(memory), memory) for memory in memories)
    best = nlargest(k, (pair for pair in scored if pair[0] > 0), key=lambda pair: pair[0])
    likely = probability(np.array([share for share, _ in best]))
    return [
        Hit(memory=memory, score=round(share, 4), coverage=round(share, 4), probability=float(p))
        for (share, memory), p in zip(best, likely, strict=True)
    ]


def merged(hits: Sequence[Hit], read: Sequence[Hit], k: int) -> list[Hit]:
    """Return the best ``k`` distinct hits of an index and of a scan, best first."""
    known = {hit.memory.id for hit in hits}
    every = [*hits, *(hit for hit in read if hit.memory.id not in known)]
    return sorted(every, key=lambda hit: -hit.score)[:k]


def said_between(
    snapshot: Snapshot, scope: str, since: datetime | None, until: datetime | None
) -> Iterator[Memory]:
    """Yield notes, then the chunks of a time span, the latest session first.

    Only memories that are not retired, and the chunks of about ``MOST`` turns. ``since`` is
    included, ``until`` excluded.
    """
    notes = (m for m in snapshot.memories(scope) if not turn_of(m.id) and findable(m))
    yield from (m for m in notes if not m.retired_at)
    read = 0
    for session in sorted(snapshot.sessions(scope), key=lambda session: session.last, reverse=True):
        if until and session.started >= until or since and session.last < since:
            continue
        for turn in snapshot.turns(scope, after=session.first_turn - 1, upto=session.last_turn):
            if turn.session == session.id and not turn.aside:
                memory = snapshot.memory(scope, chunk_id(turn.id)) or chunk(turn)
                if not memory.retired_at:
                    yield snapshot.in_context(memory)
                read += 1
        if read >= MOST:
            return


def retired(snapshot: Snapshot, scope: str, at: datetime) -> Iterator[Memory]:
    """Yield memories that were valid at a moment and are retired since.

    Excludes those forgotten by a voice command and waiting to be erased.
    """
    forgotten = waiting_to_be_erased(snapshot, scope)
    for memory in filter(searchable, snapshot.memories(scope)):
        if memory.retired_at is not None and memory.id not in forgotten and held_at(memory, at):
            yield memory


def waiting_to_be_erased(snapshot: Snapshot, scope: str) -> frozenset[str]:
    """Return the ids of memories forgotten by a voice command that can still be undone."""
    pending = (entry for entry in snapshot.commands() if entry.state == "done" and entry.due)
    return frozenset(id_ for entry in pending for where, id_ in entry.all_hidden if where == scope)


def within(speaker: str, since: datetime | None, until: datetime | None) -> Keep:
    """Return a filter by speaker and time.

    ``speaker`` is a name, or a word of it, in any case; ``since`` is included, ``until`` excluded.
    """
    name = speaker.casefold().strip()

    def keep(memory: Memory) -> bool:
        whose = memory.speaker.casefold()
        return (
            (not name or name == whose or name in whose.split())
            and (since is None or memory.valid_from >= since)
            and (until is None or memory.valid_from < until)
        )

    return keep


# ------------------------------------------------------------------- overviews
# Summaries are found by the name of their period. They are in no index, so that they cannot displace
# turns or change word statistics. A period's summary needs no search: its id is its name. For the
# latest time, or a day that is not over, the summaries of its sessions are used.

MOST_SUMMARIES = 4  # per question
SESSIONS = 3  # of them from the latest sessions, if the question names no time
LOOKED_AT = 12  # sessions of a time span that are read


def overview(recall: Recall, snapshot: Snapshot) -> list[Hit] | None:
    """Return the hits of an overview question with summaries before them; None without any."""
    query = recall.query
    asked = times(query.text, query.now, recall.zone, recall.options.language)
    past = [interval for interval in asked if interval.start < query.now]
    rows = list(islice(_summaries(snapshot, recall, past), MOST_SUMMARIES))
    if not rows:
        return None
    texts = without_repeats([row.text for row in rows])
    rows = [replace(row, text=text) for row, text in zip(rows, texts, strict=True) if text]
    told = [f" {fingerprint(text)} " for text in texts]
    hits = [
        hit
        for hit in recall.hits
        if not any(f" {fingerprint(hit.memory.text)} " in text for text in told)
    ]
    best = max((hit.score for hit in hits), default=1.0)
    first = [
        Hit(memory=memory, score=round(best + 0.01 * (len(rows) - n), 4), probability=1.0)
        for n, memory in enumerate(rows)
    ]
    return [*first, *hits][: recall.limit]


def _summaries(snapshot: Snapshot, recall: Recall, past: Sequence[Interval]) -> Iterator[Disclosed]:
    """Yield the summaries of a time span, longest period first; else of the latest sessions."""
    query, seen = recall.query, set[str]()
    for memory in _candidates(snapshot, recall, past):
        if memory.id in seen or memory.id in query.exclude or memory.retired_at:
            continue
        if shown := disclose(memory, recall.reader):
            seen.add(memory.id)
            yield shown


def _candidates(snapshot: Snapshot, recall: Recall, past: Sequence[Interval]) -> Iterator[Memory]:
    scope, days = recall.namespace.scope, list[Memory]()
    if not past:
        yield from _of_sessions(snapshot, scope, None)
    for name in periods_of(past, recall.query.now, recall.zone):
        if memory := snapshot.memory(scope, f"{SUMMARY}/{name}"):
            days.append(memory)
            yield memory
    parts = (snapshot.memory(scope, id_) for memory in days for id_ in items(memory, "covers"))
    yield from filter(None, parts)
    for interval in past if not days else ():
        yield from _of_sessions(snapshot, scope, interval)


def _of_sessions(snapshot: Snapshot, scope: str, span: Interval | None) -> Iterator[Memory]:
    """Yield the summaries of the latest sessions, or of those of a time span."""
    every = snapshot.sessions(scope)  # 2.5 us each
    sessions = sorted(every, key=lambda session: (session.last, session.started), reverse=True)
    if span is not None:
        over = span.end + timedelta(hours=4)  # a day ends in the small hours
        sessions = [s for s in sessions if s.last >= span.start and s.started < over]
    read = (snapshot.memory(scope, f"{SESSION_SUMMARY}/{s.id}") for s in sessions[:LOOKED_AT])
    yield from islice(filter(None, read), SESSIONS if span is None else LOOKED_AT)
