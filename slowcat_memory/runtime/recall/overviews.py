"""Summaries for overview questions, found by the name of their period.

They are in no index, so that they cannot displace turns or change word statistics. A period's
summary needs no search: its id is its name. For the latest time, or a day that is not over, the
summaries of its sessions are used.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta, tzinfo

from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory.core.disclosure import disclose_found
from slowcat_memory.core.memory import SESSION_SUMMARY, SUMMARY
from slowcat_memory.core.summaries.summary import items, without_repeats
from slowcat_memory.core.text.normalize import fingerprint
from slowcat_memory.core.time.expressions import Interval, WhenOptions, times
from slowcat_memory.core.time.periods import periods_of
from slowcat_memory.records import Disclosed, Hit, Memory, Session
from slowcat_memory.runtime.recall.query import Query
from slowcat_memory.store import Snapshot, Store

MOST_NEW = 2000  # log ids since the last look, beyond which reading all sessions is quicker


class SessionTime(Struct, frozen=True):
    """When a session began, and when its last turn was."""

    id: str
    started: datetime
    last: datetime


class _Known(Struct, frozen=True):
    """The sessions as of a log id and a forget epoch."""

    upto: int
    epoch: int
    by_id: dict[str, SessionTime]


class SessionTimes:
    """The sessions of scopes. Safe to use from several threads: what is known is replaced whole."""

    def __init__(self) -> None:
        self._known: dict[str, _Known] = {}

    def latest(self, snapshot: Snapshot, scope: str) -> list[SessionTime]:
        """Return a scope's sessions as of a snapshot, the latest first."""
        upto, epoch = snapshot.last_id(), snapshot.forget_epoch()
        known = self._known.get(scope)
        if known is None or known.epoch != epoch or not 0 <= upto - known.upto <= MOST_NEW:
            by_id = {row.id: _time_of(row) for row in snapshot.sessions(scope)}
        else:
            since = {event.session for event in snapshot.events(scope, known.upto, upto)}
            rows = (snapshot.session(id) for id in since)
            by_id = {**known.by_id, **{row.id: _time_of(row) for row in rows if row is not None}}
        self._known[scope] = _Known(upto, epoch, by_id)
        return sorted(by_id.values(), key=lambda one: (one.last, one.started), reverse=True)


def _time_of(row: Session) -> SessionTime:
    return SessionTime(row.id, row.started, row.last)


MOST = 4  # summaries per question
SESSIONS = 3  # of them from the latest sessions, if the question names no time
LOOKED_AT = 12  # sessions of a time span that are read


class Overviews:
    """Puts summaries before the hits of overview questions."""

    def __init__(self, store: Store, zone: tzinfo, language: str) -> None:
        self._store, self._zone, self._language = store, zone, language
        self._sessions_of = SessionTimes()

    def lead(self, query: Query, scope: str, limit: int, hits: Sequence[Hit]) -> list[Hit] | None:
        """Return the hits of an overview question with summaries before them.

        Args:
            hits: The hits so far, best first.

        Returns:
            None if there is none.
        """
        asked = times(query.text, query.now, self._zone, WhenOptions(language=self._language))
        past = [one for one in asked if one.start < query.now]
        with self._store.snapshot() as snapshot:
            found = list(self._summaries(snapshot, scope, query, past))
        if not found:
            return None
        told = without_repeats([one.text for one in found])
        found = [replace(one, text=text) for one, text in zip(found, told, strict=True) if text]
        hits = [hit for hit in hits if not _is_told(hit.memory.text, told)]
        best = max((hit.score for hit in hits), default=1.0)
        first = [
            Hit(memory=memory, score=round(best + 0.01 * (len(found) - n), 4), probability=1.0)
            for n, memory in enumerate(found)
        ]
        return [*first, *hits][:limit]

    def _summaries(
        self, snapshot: Snapshot, scope: str, query: Query, past: Sequence[Interval]
    ) -> Iterator[Disclosed]:
        seen, reader = set[str](), query.reader
        for memory in self._candidates(snapshot, scope, query.now, past):
            if memory.id in seen or memory.id in query.exclude or memory.retired_at:
                continue
            shown = disclose_found(memory, reader, snapshot.memory)
            if shown is None:
                continue
            seen.add(memory.id)
            yield shown
            if len(seen) == MOST:
                return

    def _candidates(
        self, snapshot: Snapshot, scope: str, now: datetime, past: Sequence[Interval]
    ) -> Iterator[Memory]:
        """Yield the summaries of a time span, longest period first; else of the latest sessions."""
        if not past:
            yield from self._sessions(snapshot, scope, None)
        days = list[Memory]()
        for name in periods_of(past, now, self._zone):
            if memory := snapshot.memory(scope, f"{SUMMARY}/{name}"):
                days.append(memory)
                yield memory
        for memory in days:
            for id in items(memory, "covers"):
                if part := snapshot.memory(scope, id):
                    yield part
        for one in past if not days else ():
            yield from self._sessions(snapshot, scope, (one.start, one.end))

    def _sessions(
        self, snapshot: Snapshot, scope: str, span: tuple[datetime, datetime] | None
    ) -> Iterator[Memory]:
        """Yield the summaries of the latest sessions, or of those of a time span."""
        sessions = self._sessions_of.latest(snapshot, scope)
        if span is not None:
            begun, over = span[0], span[1] + timedelta(hours=4)  # a day ends in the small hours
            sessions = [one for one in sessions if one.last >= begun and one.started < over]
        read = (snapshot.memory(scope, f"{SESSION_SUMMARY}/{s.id}") for s in sessions[:LOOKED_AT])
        yield from [memory for memory in read if memory][: SESSIONS if span is None else LOOKED_AT]


def _is_told(text: str, summaries: Sequence[str]) -> bool:
    """Return whether a summary has a turn's words."""
    words = fingerprint(text)
    return any(f" {words} " in f" {fingerprint(one)} " for one in summaries)
