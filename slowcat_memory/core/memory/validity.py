"""Which memories count at a time: bitemporal validity, of the world and of the memory.

A memory is true in the world from ``valid_from`` until ``valid_to``, and held to be true from
``recorded_at`` until ``retired_at``. Each interval includes its beginning and excludes its end.
"""

from collections.abc import Sequence
from datetime import datetime

from slowcat_memory.core.time.expressions import Interval
from slowcat_memory.records import Memory


def holds(memory: Memory, now: datetime, asked: Sequence[Interval] = ()) -> bool:
    """Return whether a memory may be offered as true.

    Args:
        memory: Any memory.
        now: The time of the query.
        asked: The times that the query mentions.

    Returns:
        False for what was retired, and for what is no longer true, unless the query mentions a time
        at which it was.
    """
    if memory.retired_at is not None:
        return False
    until = memory.valid_to
    if until is None or until > now:
        return True
    return any(time.start < until and time.end > memory.valid_from for time in asked)


def believed(memory: Memory, at: datetime) -> bool:
    """Return whether a memory had been recorded, was not retired, and was true at a moment."""
    recorded = memory.recorded_at or memory.valid_from
    return (
        recorded <= at
        and memory.valid_from <= at
        and (memory.valid_to is None or memory.valid_to > at)
        and (memory.retired_at is None or memory.retired_at > at)
    )
