"""Icebreakers: something the agent may bring up by itself, and when it may.

An icebreaker is a memory: its importance is its priority, ``valid_from`` when it may be used,
``valid_to`` its expiry, and it is retired once it is used or dropped.
"""

from collections.abc import Iterable
from datetime import datetime, time, timedelta, tzinfo
from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import replace

from slowcat_memory.core.memory.kinds import ICEBREAKER, family
from slowcat_memory.records import Memory

ANY_HOUR = f"{ICEBREAKER}/any-hour"  # the kind of those that do not keep the quiet hours
USED, PASSED = "used", "passed over"  # what became of one that a session has retired
_BECAME = "became"
_HOUR = r"([01]\d|2[0-3]):[0-5]\d"


class IcebreakerOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When an agent may bring something up by itself.

    Attributes:
        quiet_hours: From when to when it may not, in the user's time zone, "" for never. The
            default is the night.
        min_absence_h: Hours since the last conversation, before which it may not: who comes back
            after lunch has not been away.
        most: How many may wait; the least important make room. More of them nag.
        expire_days: Days after which one is dropped, where who pushed it did not say.
    """

    quiet_hours: Annotated[str, Meta(pattern=rf"^({_HOUR}-{_HOUR})?$")] = "22:00-08:00"
    min_absence_h: float = 4.0
    most: int = 3
    expire_days: float = 14.0


def waiting(memories: Iterable[Memory], now: datetime) -> list[Memory]:
    """Choose the icebreakers that wait.

    Args:
        memories: Any memories.
        now: The time.

    Returns:
        Those that are neither used, dropped nor expired: what matters most first, then what
        expires first.
    """
    found = [
        memory
        for memory in memories
        if family(memory.kind) == ICEBREAKER and not memory.retired_at and not expired(memory, now)
    ]
    return sorted(found, key=lambda m: (-m.importance, m.valid_to or now, m.id))


def expired(memory: Memory, now: datetime) -> bool:
    """Tell whether an icebreaker's time has passed.

    Args:
        memory: The icebreaker.
        now: The time.

    Returns:
        Whether it has.
    """
    return memory.valid_to is not None and memory.valid_to <= now


def choose(
    memories: Iterable[Memory],
    now: datetime,
    zone: tzinfo,
    last: datetime | None,
    options: IcebreakerOptions,
) -> Memory | None:
    """Choose what the agent may bring up in a session that begins now.

    Args:
        memories: Any memories.
        now: The time.
        zone: The user's time zone.
        last: When somebody last spoke, None when nobody ever did.
        options: When it may.

    Returns:
        The icebreaker, None for none.
    """
    if last is not None and now - last < timedelta(hours=options.min_absence_h):
        return None
    quiet = is_quiet(now, zone, options.quiet_hours)
    found = (m for m in due(memories, now) if not quiet or m.kind == ANY_HOUR)
    return next(found, None)


def due(memories: Iterable[Memory], now: datetime) -> list[Memory]:
    """Choose the icebreakers whose time has come: how something went is asked after it.

    Args:
        memories: Any memories.
        now: The time.

    Returns:
        As ``waiting``, without those that begin later.
    """
    return [memory for memory in waiting(memories, now) if memory.valid_from <= now]


def marked(memory: Memory, became: str) -> Memory:
    """Note what became of an icebreaker.

    Args:
        memory: The icebreaker.
        became: ``USED``, or ``PASSED``: another was used, and this one dropped.

    Returns:
        The same, with the note.
    """
    return replace(memory, facets={**memory.facets, _BECAME: became})


def became(memory: Memory) -> str:
    """Tell what became of an icebreaker.

    Args:
        memory: The icebreaker.

    Returns:
        ``USED``; ``PASSED``: it may be pushed again; "" while it waits, or when a person dropped it.
    """
    return memory.facets.get(_BECAME, "")


def is_quiet(now: datetime, zone: tzinfo, hours: str) -> bool:
    """Tell whether it is a quiet hour by the clock on the user's wall.

    Args:
        now: The time.
        zone: The user's time zone.
        hours: For example "22:00-08:00"; "" for none. The first minute is quiet, the last is not.

    Returns:
        Whether it is.
    """
    if not hours:
        return False
    begin, end = (time.fromisoformat(part) for part in hours.split("-"))
    wall = now.astimezone(zone).time()
    return begin <= wall < end if begin <= end else wall >= begin or wall < end
