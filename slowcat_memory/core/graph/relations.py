"""Bitemporal relations between people, things and values: they change, and no history is lost.

A relation has two times (Snodgrass, "Developing Time-Oriented Database Applications in SQL", 1999,
chapter 10): it is true in the world from ``valid_from`` until ``valid_to``, and believed from
``recorded_at`` until ``retired_at``. A relation that ended or was wrong is retired, and the new
knowledge is stored beside it: so "where did she live in May?" and "what did we think in May?" both
have an answer. Intervals include their start and exclude their end.
"""

import hashlib
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from msgspec.structs import asdict, replace

from slowcat_memory.core.extraction.predicates import statement_of
from slowcat_memory.core.extraction.slots import exclude, slot_of
from slowcat_memory.core.text.normalize import fold
from slowcat_memory.records import Made, Memory, Statement

RELATION = "relation"
ALWAYS = datetime(1, 1, 1, tzinfo=UTC)  # start, where it is unknown


class Relation(Statement, frozen=True, kw_only=True):
    """A triple of entities or values, with both times.

    Attributes:
        text: The triple as a sentence.
        valid_from: Since when it is true; ``ALWAYS`` if unknown.
        valid_to: Until when; None while true.
        recorded_at: Since when it is believed.
        retired_at: Until when; None while believed.
        sources: Log ids of the turns that state it.
        speaker: The user who said it.
        made: The job that made it.
    """

    scope: str
    text: str
    valid_from: datetime
    recorded_at: datetime
    valid_to: datetime | None = None
    retired_at: datetime | None = None
    sources: tuple[int, ...] = ()
    speaker: str = ""
    made: Made | None = None

    @property
    def id(self) -> str:
        """The memory id: one per statement, interval and start of belief."""
        until = self.valid_to.isoformat() if self.valid_to else ""
        times = (self.valid_from.isoformat(), until, self.recorded_at.isoformat())
        parts = (self.subject, self.predicate, fold(self.object), *times)
        digest = hashlib.blake2b("\0".join(parts).encode(), digest_size=8).hexdigest()
        return f"{RELATION}/{digest}"

    def memory(self) -> Memory:
        return Memory(
            id=self.id,
            kind=f"{RELATION}/{self.predicate}",
            scope=self.scope,
            speaker=self.speaker,
            text=self.text,
            valid_from=self.valid_from,
            valid_to=self.valid_to,
            recorded_at=self.recorded_at,
            retired_at=self.retired_at,
            sources=self.sources,
            statement=statement_of(self),
            made=self.made,
        )

    @classmethod
    def of(cls, memory: Memory) -> "Relation":
        """Return the relation stored in a memory of kind "relation/…"."""
        return cls(
            **asdict(memory.statement),
            scope=memory.scope,
            text=memory.text,
            valid_from=memory.valid_from,
            valid_to=memory.valid_to,
            recorded_at=memory.recorded_at or memory.valid_from,
            retired_at=memory.retired_at,
            sources=memory.sources,
            speaker=memory.speaker,
            made=memory.made,
        )


def believed(relations: Iterable[Relation], known: datetime | None = None) -> list[Relation]:
    """Return the relations that are believed now, or were at ``known``, in order."""
    if known is None:
        return [one for one in relations if one.retired_at is None]
    return [
        one
        for one in relations
        if one.recorded_at <= known and (one.retired_at is None or one.retired_at > known)
    ]


def as_of(
    relations: Iterable[Relation], true: datetime, known: datetime | None = None
) -> list[Relation]:
    """Return the relations true at a moment, as believed at ``known`` (None: now)."""
    return [
        one
        for one in believed(relations, known)
        if one.valid_from <= true and (one.valid_to is None or one.valid_to > true)
    ]


def history(relations: Iterable[Relation], subject: str, predicate: str = "") -> list[Relation]:
    """Return the believed relations of a subject, former ones included, earliest first."""
    wanted = (
        one
        for one in believed(relations)
        if one.subject == subject and predicate in ("", one.predicate)
    )
    return sorted(wanted, key=lambda one: (one.valid_from, one.recorded_at, one.id))


def assert_relation(known: Iterable[Relation], new: Relation) -> list[Relation]:
    """Assert a statement; its ``valid_to`` is set if it is said to be over.

    Args:
        known: The relations so far; other subjects and slots are ignored.

    Returns:
        The relations to write, including retired ones; empty if it is already known.
    """
    slot = slot_of(new)
    own = [
        one
        for one in history(known, new.subject)
        if one.scope == new.scope and slot_of(one) == slot
    ]
    same = [one for one in own if _states_same(one, new)]
    if new.valid_to is not None and (open_relation := _open_at(same, new.valid_to)):
        # Its open-ended statement is wrong from now on.
        return end_relation(open_relation, new.valid_to, new.recorded_at, new.sources)
    return _merge_interval(same, [one for one in own if exclude(new, one)], new)


def _states_same(one: Relation, other: Relation) -> bool:
    return one.predicate == other.predicate and fold(one.object) == fold(other.object)


def end_relation(
    one: Relation, until: datetime, at: datetime, sources: tuple[int, ...]
) -> list[Relation]:
    """Return an open relation as it was believed, and as ended; retired alone if it never held.

    Args:
        until: The end; a relation that began later never held.
        at: When the end became known.
        sources: The turns that state it.
    """
    wrong = retired(one, at)
    if until <= one.valid_from:
        return [wrong]
    said = _all_sources(one.sources, sources)
    return [wrong, replace(one, valid_to=until, recorded_at=at, sources=said)]


def _open_at(relations: Sequence[Relation], at: datetime) -> Relation | None:
    """Return the relation that had begun by ``at`` and is open-ended."""
    found = [one for one in relations if one.valid_to is None and one.valid_from <= at]
    return found[-1] if found else None


def _merge_interval(
    same: Sequence[Relation], others: Sequence[Relation], new: Relation
) -> list[Relation]:
    """Assert an interval: merge it with equal statements, split those that it excludes.

    An open interval extends to the next conflicting one, so that it leaves the present unchanged.
    """
    start, end = new.valid_from, new.valid_to
    if end is None:
        end = min((one.valid_from for one in others if one.valid_from > start), default=None)
    joined = [one for one in same if _touches(one, start, end)]
    if any(one.valid_from <= start and _reaches(one, end) for one in joined):
        return []
    changes = [retired(one, new.recorded_at) for one in joined]
    for one in others:
        changes += _split_interval(one, start, end, new.recorded_at)
    sources = new.sources
    for one in joined:
        start, sources = min(start, one.valid_from), _all_sources(sources, one.sources)
        end = None if end is None or one.valid_to is None else max(end, one.valid_to)
    return [*changes, replace(new, valid_from=start, valid_to=end, sources=sources)]


def _touches(one: Relation, start: datetime, end: datetime | None) -> bool:
    return (end is None or one.valid_from <= end) and (
        one.valid_to is None or one.valid_to >= start
    )


def _reaches(one: Relation, end: datetime | None) -> bool:
    return one.valid_to is None or (end is not None and one.valid_to >= end)


def _split_interval(
    one: Relation, start: datetime, end: datetime | None, at: datetime
) -> list[Relation]:
    """Remove an interval from a relation; return the parts before and after it."""
    if (end is not None and one.valid_from >= end) or (
        one.valid_to is not None and one.valid_to <= start
    ):
        return []
    left = [retired(one, at)]
    if one.valid_from < start:
        left.append(replace(one, valid_to=start, recorded_at=at))
    if end is not None and _reaches(one, end) and one.valid_to != end:
        left.append(replace(one, valid_from=end, recorded_at=at))
    return left


def retired(relation: Relation, at: datetime) -> Relation:
    return replace(relation, retired_at=at)


def _all_sources(first: tuple[int, ...], second: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(dict.fromkeys((*first, *second)))
