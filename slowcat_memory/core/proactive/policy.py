"""Icebreakers: what the agent may bring up by itself, and when.

An icebreaker is a memory: its importance is its priority, it may be used from ``valid_from`` until
``valid_to``, and it is retired once it is used or dropped.
"""

from collections.abc import Iterable
from datetime import datetime, time, timedelta, tzinfo
from typing import Annotated, TypeVar

from msgspec import Meta, Struct
from msgspec.structs import replace

from slowcat_memory.core.memory import ICEBREAKER, family
from slowcat_memory.records import Memory

M = TypeVar("M", bound=Memory)

ANY_HOUR = f"{ICEBREAKER}/any-hour"  # kind that ignores the quiet hours
USED, PASSED = "used", "passed over"  # outcomes of an icebreaker that a session has retired
_OUTCOME = "became"  # facet
_HOUR = r"([01]\d|2[0-3]):[0-5]\d"


class IcebreakerOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When the agent may bring something up by itself.

    Attributes:
        quiet_hours: Hours without icebreakers, e.g. "22:00-08:00" in the user's time zone; "" for
            none.
        min_absence_h: Hours after a conversation without icebreakers: a user who returns after
            lunch has not been away.
        most: Most waiting icebreakers; the least important are dropped.
        expire_days: Days after which one is dropped, unless it was pushed with its own expiry.
        drop_others: Whether those that could be used too are dropped once one is used.
    """

    quiet_hours: Annotated[str, Meta(pattern=rf"^({_HOUR}-{_HOUR})?$")] = "22:00-08:00"
    min_absence_h: Annotated[float, Meta(ge=0, le=8760)] = 4.0
    most: Annotated[int, Meta(ge=0, le=100)] = 3
    expire_days: Annotated[float, Meta(ge=0, le=3650)] = 14.0
    drop_others: bool = True


class BringUpOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Open threads that the agent finds by itself; [icebreakers] sets when it may ask.

    Attributes:
        most: Most open threads waiting at once, not counting those pushed by an application.
        rest_h: Hours between a statement and asking about it, or between the end of a dated event
            and asking how it went.
        expire_days: Days after which an open thread is dropped.
    """

    most: Annotated[int, Meta(ge=0, le=100)] = 3
    rest_h: Annotated[float, Meta(ge=0, le=8760)] = 12.0
    expire_days: Annotated[float, Meta(ge=0, le=3650)] = 14.0


def waiting(memories: Iterable[M], now: datetime) -> list[M]:
    """Return icebreakers neither used, dropped nor expired, by importance, then expiry."""
    rows = [
        memory
        for memory in memories
        if family(memory.kind) == ICEBREAKER and not memory.retired_at and not expired(memory, now)
    ]
    return sorted(rows, key=lambda m: (-m.importance, m.valid_to or now, m.id))


def expired(memory: Memory, now: datetime) -> bool:
    return memory.valid_to is not None and memory.valid_to <= now


def choose(
    memories: Iterable[M],
    now: datetime,
    zone: tzinfo,
    last: datetime | None,
    options: IcebreakerOptions,
) -> M | None:
    """Choose a new session's icebreaker; ``last`` is the end of the last conversation."""
    if last is not None and now - last < timedelta(hours=options.min_absence_h):
        return None
    quiet = is_quiet(now, zone, options.quiet_hours)
    rows = (m for m in due(memories, now) if not quiet or m.kind == ANY_HOUR)
    return next(rows, None)


def due(memories: Iterable[M], now: datetime) -> list[M]:
    """Return the waiting icebreakers that may be used already, in the order of ``waiting``."""
    return [memory for memory in waiting(memories, now) if memory.valid_from <= now]


def with_outcome(memory: Memory, outcome: str) -> Memory:
    """Return an icebreaker marked as ``USED``, or ``PASSED`` because another was used."""
    return replace(memory, facets={**memory.facets, _OUTCOME: outcome})


def outcome_of(memory: Memory) -> str:
    """Return ``USED``; ``PASSED`` (may be pushed again); "" if waiting or dropped by a user."""
    return memory.facets.get(_OUTCOME, "")


def is_quiet(now: datetime, zone: tzinfo, hours: str) -> bool:
    """Return whether ``now`` is within ``hours`` ("22:00-08:00", end exclusive; "" for none)."""
    if not hours:
        return False
    begin, end = (time.fromisoformat(part) for part in hours.split("-"))
    wall = now.astimezone(zone).time()
    return begin <= wall < end if begin <= end else wall >= begin or wall < end
