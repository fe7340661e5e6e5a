"""Which memories may be offered as true: not what was superseded, nor what is over."""

from collections.abc import Sequence
from datetime import datetime

from slowcat_memory.core.time.expressions import Interval
from slowcat_memory.records import Memory


def holds(memory: Memory, now: datetime, asked: Sequence[Interval] = ()) -> bool:
    """Tell whether a memory may be offered.

    Args:
        memory: The memory.
        now: The time of the question.
        asked: The times that the question speaks of.

    Returns:
        False for what was retired, and for what was true until a time that is over, unless the
        question speaks of a time at which it was.
    """
    if memory.retired_at is not None:
        return False
    until = memory.valid_to
    if until is None or until > now:
        return True
    return any(time.start < until and time.end > memory.valid_from for time in asked)
