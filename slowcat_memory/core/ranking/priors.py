"""Priors: what makes a memory likelier to matter, whatever was asked."""

import numpy as np
from msgspec import Struct

Array = np.ndarray


class RankOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How much the priors weigh against the fused score, which is 0 to 1.

    Attributes:
        importance: Added at importance 1, taken away at 0; 0.5 is neutral.
        recency: Added for a memory of just now, fading with ``half_life_days``. Helps where people
            go on with what they do (RealMem), and costs a little where they ask about long ago.
        half_life_days: Age at which the recency bonus has halved, in days.
        pinned: Added for a memory that a person pinned.
        named: Added for the words of a speaker whom the query names.
        when: Added for a memory said at the time that the query names, fading outside; and again for
            one that speaks of that time.
        with_keys: Factor on ``recency``, ``named`` and ``when`` where memories have keys: they and the
            contexts name people and days themselves (+0.6 R@10 on three described LoCoMo chats).
        asked: Added for what was judged to answer queries of the same sense, taken from what was
            judged not to; 0 for neither. 0.1 and 0.3 gain 2.3 and 4.3 points on reworded questions
            (LoCoMo), 0.2 gains 3.6; a judge at random costs half of that until it is found out.
    """

    importance: float = 0.10
    recency: float = 0.12
    half_life_days: float = 30.0
    pinned: float = 0.20
    named: float = 0.40
    when: float = 0.24
    with_keys: float = 0.6
    asked: float = 0.2


def apply_priors(
    scores: Array,
    *,
    at: Array,
    importance: Array,
    pinned: Array,
    named: Array,
    when: Array,
    asked: Array,
    now: float,
    options: RankOptions,
    keyed: float = 0.0,
) -> Array:
    """Weigh candidates by what is known about them before any question.

    Args:
        scores: Fused scores, shape (n,).
        at: When each was said, seconds since the epoch, shape (n,).
        importance: 0 to 1, shape (n,).
        pinned: Bool, shape (n,).
        named: Whether the query names its speaker, bool, shape (n,).
        when: How near it lies to the time that the query names, shape (n,): 0 to 1 for when it was
            said, and 0 to 1 more for the time that it speaks of.
        asked: What judged queries of the same sense say of it, shape (n,), -1 to 1 (``core.asked``).
        now: The time of the question, seconds since the epoch.
        options: The weights.
        keyed: How far keys speak for the candidates (``core.fuse.keyed``).

    Returns:
        Shape (n,).
    """
    days = np.maximum(0.0, (now - at) / 86_400)
    recency = np.exp2(-days / options.half_life_days) if options.half_life_days > 0 else 0.0 * days
    less = 1.0 - keyed * (1.0 - options.with_keys)
    return (
        scores
        + options.importance * (2 * importance - 1)
        + less * options.recency * recency
        + options.pinned * pinned
        + less * (options.named * named + options.when * when)
        + options.asked * asked
    )
