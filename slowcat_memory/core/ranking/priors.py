"""Priors: scores independent of a memory's words: age, importance, pins, speakers and times.

A prior is an option of ``RankOptions`` and a line of ``priors``.
"""

from collections.abc import Sequence
from typing import Annotated

import numpy as np
from msgspec import Meta, Struct

from slowcat_memory.core.ranking.frame import Array, Frame, Question, Row
from slowcat_memory.core.time.expressions import Interval

Bonus = Annotated[float, Meta(ge=0, le=2)]
SOFTNESS = 0.5  # width of the soft edges of a named time span, as a share of its length
LEAST_SCALE, MOST_SCALE = 6 * 3_600.0, 90 * 86_400.0  # seconds, for the decay outside an interval


class RankOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Bonuses added to the fused score, which is 0 to 1.

    Attributes:
        importance: Added at importance 1, subtracted at 0; 0.5 is neutral.
        recency: Added for a new memory, fading with ``half_life_days``. Helps with ongoing matters
            (RealMem), and costs a little for questions about long ago.
        half_life_days: Days in which the recency bonus halves; 0 for no such bonus.
        pinned: Added for a memory that a user pinned.
        named: Added for the words of a speaker whom the query names.
        when: Added for a memory said at the time that the query names, fading outside; and again
            for one that mentions that time.
        with_keys: Factor on ``recency``, ``named`` and ``when`` for memories with keys, as keys and
            contexts already name people and days (+0.6 R@10 on three described LoCoMo chats).
        asked: Added for a memory judged to answer similar queries, subtracted for one judged not
            to; 0 for neither. 0.1 and 0.3 gain 2.3 and 4.3 points on reworded questions (LoCoMo),
            0.2 gains 3.6; a judge that guesses costs half of that.
    """

    importance: Bonus = 0.10
    recency: Bonus = 0.12
    half_life_days: Annotated[float, Meta(ge=0, le=36_500)] = 30.0
    pinned: Bonus = 0.20
    named: Bonus = 0.40
    when: Bonus = 0.24
    with_keys: Annotated[float, Meta(ge=0, le=1)] = 0.6
    asked: Bonus = 0.2


def priors(frame: Frame, question: Question, options: RankOptions, keyed: float = 0.0) -> Array:
    """Return the bonus added to each candidate's fused score, shape (n,).

    Args:
        keyed: Share of the candidates that have keys.
    """
    row, less = frame.block, 1.0 - keyed * (1.0 - options.with_keys)
    return (
        options.importance * (2 * row[Row.IMPORTANCE] - 1)
        + options.pinned * row[Row.PINNED]
        + options.recency * less * freshness(row[Row.AT], question.now, options.half_life_days)
        + options.named * less * np.isin(row[Row.SPEAKER], question.speakers)
        + options.when * less * closeness(row[Row.AT], question.times, SOFTNESS)
        + options.when * less * overlap(row[Row.ABOUT_FROM], row[Row.ABOUT_UNTIL], question.times)
        + options.asked * votes(frame.views.get("asked"), frame.pinned)
    )


def freshness(at: Array, now: float, half_life_days: float) -> Array:
    """Return how new memories are, shape (n,): 1 at ``now`` and later, half of it a half-life ago.

    ``at`` and ``now`` are seconds since the epoch; all 0 without a half-life.
    """
    if half_life_days <= 0:
        return np.zeros(len(at))
    return np.exp2(np.maximum(0.0, now - at) / (-86_400 * half_life_days))


def closeness(at: Array, intervals: Sequence[Interval], softness: float) -> Array:
    """Return how near the times of memories are to any of some intervals.

    Args:
        at: Seconds since the epoch, shape (n,).
        softness: Distance at which closeness is halved, as a share of the interval's length
            (clamped to 6 hours to 90 days); 0 for a hard edge.

    Returns:
        Shape (n,): 1 inside an interval, decaying to 0 outside; all 0 without intervals.
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
    """Return how much of the times that memories mention overlaps with any of some intervals.

    Args:
        starts: Start of the time that each memory mentions, seconds since the epoch, shape (n,);
            NaN for none.

    Returns:
        Shape (n,), 0 to 1: the overlap's share of the shorter of the two, so that a Saturday within
        "last month" counts in full.
    """
    shared = np.zeros(len(starts))
    length = ends - starts
    for interval in intervals:
        start, end = interval.start.timestamp(), interval.end.timestamp()
        common = np.minimum(ends, end) - np.maximum(starts, start)
        shorter = np.minimum(length, end - start)
        share = np.divide(common, shorter, out=np.zeros(len(starts)), where=shorter > 0)
        shared = np.maximum(shared, share)
    return shared


# A judgement: a memory answers a query (above 0) or does not (below 0). A later query counts
# the judgements of queries with a near vector, each weighted by how near the two are; the index
# sums them by memory (the field "asked"). The sum counts as a prior of at most 1, weighted by
# ``rank.asked``. So votes only reorder candidates: they drop none, change no probability,
# and never lower a pinned memory. A judgement does not expire, but newer ones of the same
# memory replace it.


def votes(summed: Array | None, pinned: Array) -> Array:
    """Return the bounded votes for candidates.

    Args:
        summed: Judgements (-1 to 1) of similar queries times the similarity of the two queries (0
            to 1), summed by candidate, shape (n,); None if nothing was ever judged.
        pinned: Whether the user pinned it, bool, shape (n,); its vote is never negative.

    Returns:
        Shape (n,), -1 to 1; 0 if no similar query was judged.
    """
    if summed is None:
        return np.zeros(len(pinned))
    bounded = np.clip(np.nan_to_num(summed, posinf=1.0, neginf=-1.0), -1.0, 1.0)
    return np.where(pinned, np.maximum(bounded, 0.0), bounded)


def surplus(weights: Array, made: Array, kept: int) -> Array:
    """Return the positions of one memory's judgements to delete: the weakest, then the oldest.

    Args:
        weights: Shape (k,).
        made: Order in which they were made, shape (k,); larger is later.
    """
    order = np.lexsort((made, np.abs(weights)))
    return order[: max(0, len(order) - kept)]
