"""Validity of memories: their two times, and how an end or a new interval changes them.

A memory has two times (Snodgrass, "Developing Time-Oriented Database Applications in SQL", 1999,
chapter 10): it is true in the world from ``valid_from`` until ``valid_to``, and believed from
``recorded_at`` until ``retired_at``. Intervals include their start and exclude their end. A row that
ended or was wrong is retired, and the new knowledge is stored beside it: so "where did she live in
May?" and "what did we think in May?" both have an answer. Which statements exclude each other is
decided by ``core.extraction.slots``; a fact keeps its row when it ends, a relation gets a new one.
"""

import hashlib
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from msgspec.structs import replace

from slowcat_memory.core.memory import RELATION
from slowcat_memory.core.text.normalize import fold
from slowcat_memory.core.time.expressions import Interval
from slowcat_memory.records import Memory

M = TypeVar("M", bound=Memory)
ALWAYS = datetime(1, 1, 1, tzinfo=UTC)  # start, where it is unknown
# A start this long before a conflicting statement belongs to the past: "I moved to Rome in 2019".
# One that is nearer is news: the later statement holds from when it was said.
NEWS = timedelta(days=60)


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
    found = (one for one in memories if is_believed(one, known))
    return [one for one in found if true is None or is_true(one, true)]


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


# ------------------------------------------------------------------- facts


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
    found = [one for one in facts if one.facets.get("superseded_by") in gone and one.id not in gone]
    dropped = ("superseded_by", "why")
    return [
        replace(
            one,
            valid_to=None,
            retired_at=None,
            facets={name: value for name, value in one.facets.items() if name not in dropped},
        )
        for one in found
    ]


# ------------------------------------------------------------------- relations


def assert_relation(
    known: Iterable[Memory], new: Memory, excluded: Iterable[Memory]
) -> list[Memory]:
    """Assert a relation; its ``valid_to`` is set if it is said to be over.

    An open interval extends to the next one that it excludes, so that it leaves the present
    unchanged; it is merged with those that say the same, and those that it excludes are split.

    Args:
        known: Those believed so far in its slot.
        excluded: Those of them that cannot hold beside it.

    Returns:
        The relations to write, including retired ones; empty if it is already known.
    """
    at, start, end = new.recorded_at or new.valid_from, new.valid_from, new.valid_to
    same = [one for one in sorted(known, key=order) if _states_same(one, new)]
    others = sorted(excluded, key=order)
    if end is None:
        end = min((one.valid_from for one in others if one.valid_from > start), default=None)
    elif begun := [one for one in same if one.valid_to is None and one.valid_from <= end]:
        # Its open-ended statement is wrong from now on.
        return end_relation(begun[-1], end, at, new.sources)
    joined = [one for one in same if _touches(one, start, end)]
    if any(one.valid_from <= start and _reaches(one, end) for one in joined):
        return []
    changes = [replace(one, retired_at=at) for one in joined]
    for one in others:
        changes += _split_interval(one, start, end, at)
    sources = new.sources
    for one in joined:
        start, sources = min(start, one.valid_from), _all_sources(sources, one.sources)
        end = None if end is None or one.valid_to is None else max(end, one.valid_to)
    return [*changes, revised(new, valid_from=start, valid_to=end, sources=sources)]


def end_relation(
    one: Memory, until: datetime, at: datetime, sources: tuple[int, ...]
) -> list[Memory]:
    """Return an open relation as it was believed, and as ended; retired alone if it never held.

    Args:
        until: The end; a relation that began later never held.
        at: When the end became known.
        sources: The turns that state it.
    """
    wrong = replace(one, retired_at=at)
    if until <= one.valid_from:
        return [wrong]
    said = _all_sources(one.sources, sources)
    return [wrong, revised(one, valid_to=until, recorded_at=at, sources=said)]


def revised(row: Memory, **changes: Any) -> Memory:
    """Return a relation with changes, and its id: one per statement, interval and start of belief."""
    row = replace(row, **changes)
    one = row.statement
    times = (row.valid_from, row.valid_to, row.recorded_at)
    written = (at.isoformat() if at else "" for at in times)
    parts = (one.subject, one.predicate, fold(one.object), *written)
    digest = hashlib.blake2b("\0".join(parts).encode(), digest_size=8).hexdigest()
    return replace(row, id=f"{RELATION}/{digest}")


def _states_same(one: Memory, other: Memory) -> bool:
    mine, theirs = one.statement, other.statement
    return mine.predicate == theirs.predicate and fold(mine.object) == fold(theirs.object)


def _touches(one: Memory, start: datetime, end: datetime | None) -> bool:
    return (end is None or one.valid_from <= end) and (
        one.valid_to is None or one.valid_to >= start
    )


def _reaches(one: Memory, end: datetime | None) -> bool:
    return one.valid_to is None or (end is not None and one.valid_to >= end)


def _split_interval(
    one: Memory, start: datetime, end: datetime | None, at: datetime
) -> list[Memory]:
    """Remove an interval from a relation; return the parts before and after it."""
    if (end is not None and one.valid_from >= end) or (
        one.valid_to is not None and one.valid_to <= start
    ):
        return []
    rest = [replace(one, retired_at=at)]
    if one.valid_from < start:
        rest.append(revised(one, valid_to=start, recorded_at=at))
    if end is not None and _reaches(one, end) and one.valid_to != end:
        rest.append(revised(one, valid_from=end, recorded_at=at))
    return rest


def _all_sources(first: tuple[int, ...], second: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(dict.fromkeys((*first, *second)))
