"""Summaries for a question that asks for an overview: found by the name of their period.

They are in no index, so that none of them can push a turn aside, or change what a word weighs. A
period's summary needs no search: its id is its name. What is asked of lately, or of a day that is
not over, is told by its sessions.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta, tzinfo

from msgspec.structs import replace

from slowcat_memory.core.memory.kinds import SESSION_SUMMARY, SUMMARY
from slowcat_memory.core.query.overview import asks_overview, names
from slowcat_memory.core.summaries.summary import items
from slowcat_memory.core.time.expressions import Interval, WhenOptions, times
from slowcat_memory.records import Hit, Memory
from slowcat_memory.runtime.recall.query import Query, Recollection
from slowcat_memory.store import Snapshot, Store

MOST = 4  # summaries that come with a question
SESSIONS = 3  # of them, of the latest sessions, where nothing else is told
LOOKED_AT = 12  # sessions of a time that are read


class Overviews:
    """Puts summaries before what was said, where a question asks for them."""

    def __init__(self, store: Store, zone: tzinfo, language: str) -> None:
        """Wire the parts.

        Args:
            store: Holds the summaries.
            zone: The user's time zone.
            language: Whose words for time are known.
        """
        self._store, self._zone, self._language = store, zone, language

    def add(self, query: Query, found: Recollection) -> Recollection:
        """Add what there is to a recall; reads a few rows, and only for such a question.

        Args:
            query: What was asked, in one scope.
            found: What came to mind.

        Returns:
            The same, with summaries first where the question asks for an overview.
        """
        if not asks_overview(query.text):
            return found
        asked = times(query.text, query.now, self._zone, WhenOptions(language=self._language))
        past = [one for one in asked if one.start < query.now]
        with self._store.snapshot() as snapshot:
            told = list(self._told(snapshot, query, past))
        if not told:
            return found
        best = max((hit.score for hit in found.hits), default=1.0)
        first = [
            Hit(memory=memory, score=round(best + 0.01 * (len(told) - n), 4), probability=1.0)
            for n, memory in enumerate(told)
        ]
        # Something answers, whatever the words say.
        return replace(found, hits=[*first, *found.hits][: query.k], signs=None)

    def _told(self, snapshot: Snapshot, query: Query, past: Sequence[Interval]) -> Iterator[Memory]:
        seen, given = set[str](), 0
        for memory in self._each(snapshot, query, past):
            withheld = memory.local_only and not query.local
            if memory.id in seen or memory.id in query.exclude or memory.retired_at or withheld:
                continue
            seen.add(memory.id)
            yield memory
            given += 1
            if given == MOST:
                return

    def _each(self, snapshot: Snapshot, query: Query, past: Sequence[Interval]) -> Iterator[Memory]:
        """Walk the summaries of a time, the widest first; of lately, the latest sessions first."""
        if not past:
            yield from _sessions(snapshot, query.scope, None)
        days = list[Memory]()
        for name in names(past, query.now, self._zone):
            if memory := snapshot.memory(query.scope, f"{SUMMARY}/{name}"):
                days.append(memory)
                yield memory
        for memory in days:
            for id in items(memory, "covers"):
                if part := snapshot.memory(query.scope, id):
                    yield part
        for one in past if not days else ():
            yield from _sessions(snapshot, query.scope, (one.start, one.end))


def _sessions(
    snapshot: Snapshot, scope: str, span: tuple[datetime, datetime] | None
) -> Iterator[Memory]:
    """Read the summaries of the latest sessions, or of those in a time."""
    sessions = sorted(snapshot.sessions(scope), key=lambda one: one.last, reverse=True)
    if span is not None:
        begun, over = span[0], span[1] + timedelta(hours=4)  # a day ends in the small hours
        sessions = [one for one in sessions if one.last >= begun and one.started < over]
    read = (snapshot.memory(scope, f"{SESSION_SUMMARY}/{s.id}") for s in sessions[:LOOKED_AT])
    yield from [memory for memory in read if memory][: SESSIONS if span is None else LOOKED_AT]
