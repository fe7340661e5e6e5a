"""How near memories lie to the times that a query speaks of.

Two measures, since a memory said on one day often speaks of another: `closeness` asks when it was
said, `overlap` asks of when it speaks.
"""

from collections.abc import Sequence

import numpy as np

from slowcat_memory.core.time.expressions import Interval

Array = np.ndarray
LEAST_SCALE, MOST_SCALE = 6 * 3_600.0, 90 * 86_400.0  # seconds, of the fall outside an interval


def closeness(at: Array, intervals: Sequence[Interval], softness: float) -> Array:
    """Measure how near the moments at which memories were said lie to any of some intervals.

    Args:
        at: Seconds since the epoch, shape (n,).
        intervals: What a query speaks of.
        softness: The distance at which closeness has halved, as a share of the interval's length
            (it is held between 6 hours and 90 days); 0 for a hard edge.

    Returns:
        Shape (n,): 1 inside an interval, falling to 0 outside; all 0 without intervals.
    """
    near = np.zeros(len(at))
    for interval in intervals:
        start, end = interval.start.timestamp(), interval.end.timestamp()
        outside = np.maximum(np.maximum(start - at, at - end), 0.0)
        if softness > 0:
            scale = min(max(softness * (end - start), LEAST_SCALE), MOST_SCALE)
            one = np.exp2(outside / -scale)
        else:
            one = ((at >= start) & (at < end)).astype(float)
        near = np.maximum(near, one)
    return near


def overlap(starts: Array, ends: Array, intervals: Sequence[Interval]) -> Array:
    """Measure how much of the times that memories speak of lies in any of some intervals.

    Args:
        starts: Seconds since the epoch at which the time that each memory mentions begins, shape
            (n,); NaN for a memory that mentions none.
        ends: The same for its end.
        intervals: What a query speaks of.

    Returns:
        Shape (n,), 0 to 1: the common part's share of the shorter of the two, so that a Saturday
        within "last month" counts in full.
    """
    shared = np.zeros(len(starts))
    length = ends - starts
    for interval in intervals:
        start, end = interval.start.timestamp(), interval.end.timestamp()
        common = np.minimum(ends, end) - np.maximum(starts, start)
        shared = np.fmax(shared, common / np.minimum(length, end - start))  # NaN is no match
    return shared
