"""Validity of memories: their two times, and how a later fact changes them.

A memory has two times (Snodgrass, "Developing Time-Oriented Database Applications in SQL", 1999,
chapter 10): it is true in the world from ``valid_from`` until ``valid_to``, and believed from
``recorded_at`` until ``retired_at``. Intervals include their start and exclude their end. A row that
ended or was wrong is retired, and the new knowledge is stored beside it: so "where did she live in
May?" and "what did we think in May?" both have an answer. Which statements exclude each other is
decided by ``core.extraction.slots``, which of them hold by ``core.facts.holding``.
"""

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory.core.time.expressions import Interval
from slowcat_memory.core.time.written_dates import WrittenDate
from slowcat_memory.records import Memory

M = TypeVar("M", bound=Memory)
ALWAYS = datetime(1, 1, 1, tzinfo=UTC)  # start, where it is unknown
# A start this long before a conflicting statement belongs to the past: "I moved to Rome in 2019".
# One that is nearer is news: the later statement holds from when it was said.
NEWS = timedelta(days=60)
_DAY = re.compile(r"(\d{4})(?:-(\d\d))?(?:-(\d\d))?(?!\d)")


class Written(Struct, frozen=True):
    """A day, month or year in digits: "2026-05-12", "2026-05", "2026"; its first and last day."""

    text: str
    first: date
    last: date


def written_day(text: str) -> Written | None:
    """Return the day, month or year that a text begins with; None for none in the calendar."""
    match = _DAY.match(text.strip())
    if match is None:
        return None
    span = WrittenDate(match[0], *(int(part or 0) for part in match.groups())).span()
    return Written(match[0], *span) if span else None


def is_believed(memory: Memory, at: datetime | None = None) -> bool:
    """Return whether a memory is believed now, or was at a moment."""
    if at is None:
        return memory.retired_at is None
    recorded = memory.recorded_at or memory.valid_from
    return recorded <= at and (memory.retired_at is None or memory.retired_at > at)


def is_true(memory: Memory, at: datetime) -> bool:
    """Return whether a memory is true at a moment, believed or not."""
    return memory.valid_from <= at and (memory.valid_to is None or memory.valid_to > at)


def held_at(memory: Memory, at: datetime) -> bool:
    """Return whether a memory was believed and true at a moment."""
    return is_believed(memory, at) and is_true(memory, at)


def as_of(memories: Iterable[M], true: datetime | None, known: datetime | None = None) -> list[M]:
    """Return the memories that were true at a moment, as believed at ``known``.

    Args:
        true: None for any moment.
        known: None for now.
    """
    rows = (memory for memory in memories if is_believed(memory, known))
    return [memory for memory in rows if true is None or is_true(memory, true)]


def holds(memory: Memory, now: datetime, asked: Sequence[Interval] = ()) -> bool:
    """Return whether a memory may be presented as true.

    False if retired, or no longer true, unless the query mentions a time at which it was.
    """
    if memory.retired_at is not None:
        return False
    until = memory.valid_to
    if until is None or until > now:
        return True
    return any(time.start < until and time.end > memory.valid_from for time in asked)


def order(memory: Memory) -> tuple[datetime, datetime, str]:
    """Return the place of a memory among others: earliest first."""
    return memory.valid_from, memory.recorded_at or memory.valid_from, memory.id


def supersede(fact: Memory, by: Memory, now: datetime, *, same: bool = False) -> Memory:
    """Return a fact as retired by another; it stays in the store.

    One that is true until a day that lies ahead is only given its end: until then it holds.

    Args:
        same: Whether they are equal; else this one was true until the other began to be.
    """
    facets = fact.facets | {"superseded_by": by.id} | ({"why": "same"} if same else {})
    if same:
        return replace(fact, retired_at=now, facets=facets)
    over = max(fact.valid_from, by.valid_from)
    ahead = over > now and bool(by.statement.date)
    return replace(fact, valid_to=over, retired_at=None if ahead else now, facets=facets)


def revive(facts: Iterable[Memory], gone: frozenset[str]) -> list[Memory]:
    """Return the facts that are valid again because ``gone``, which superseded them, is deleted."""
    dropped = ("superseded_by", "why")
    return [
        replace(
            fact,
            valid_to=None,
            retired_at=None,
            facets={name: value for name, value in fact.facets.items() if name not in dropped},
        )
        for fact in facts
        if fact.facets.get("superseded_by") in gone and fact.id not in gone
    ]
