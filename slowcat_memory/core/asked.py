"""What was asked before: judged queries move what they were about, when the like is asked again.

A judged query says of one memory that it answers (above 0) or that it does not (below 0). A later
query of the same sense hears all of them: each as loud as the two are near, fading with age, summed
by memory, and never louder than ``most``. So votes reorder candidates and do no more: they propose
none, drop none, and change no probability. They take nothing from what a person pinned.
"""

import numpy as np
from msgspec import Struct

Array = np.ndarray


class AskedOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What earlier queries, judged, weigh for later ones.

    Attributes:
        enabled: Let them weigh; off, they are only kept.
        most: What they add to a score, or take from it, at most; scores are 0 to about 1.
        near: Cosine of two queries from which they begin to have the same sense; at 1 they are
            the same.
        half_life_days: Age at which a judgement weighs half, in days; 0 for never.
        kept: Judgements that are kept of a memory; the weakest and oldest go.
    """

    enabled: bool = True
    most: float = 0.2
    near: float = 0.6
    half_life_days: float = 365.0
    kept: int = 8


def votes(
    cosines: Array, places: Array, weights: Array, days: Array, size: int, options: AskedOptions
) -> Array:
    """Sum what judged queries say of candidates.

    Args:
        cosines: Of each judged query with this one, shape (k,); NaN counts as unlike.
        places: Position of the memory that each is about among the candidates, shape (k,), integer;
            -1 where it is none of them.
        weights: Judgements, -1 to 1, shape (k,).
        days: Their ages in days, shape (k,).
        size: How many candidates there are, n.
        options: What they weigh.

    Returns:
        Shape (n,), -1 to 1; 0 for what was never judged for a query of this sense.
    """
    sense = np.clip((np.nan_to_num(cosines, nan=-1.0) - options.near) / (1.0 - options.near), 0, 1)
    said = sense * np.clip(weights, -1.0, 1.0)
    if options.half_life_days > 0:
        said = said * np.exp2(-np.maximum(days, 0.0) / options.half_life_days)
    about = places >= 0
    summed = np.bincount(places[about], weights=said[about], minlength=size)
    return np.clip(summed, -1.0, 1.0)


def swayed(scores: Array, votes: Array, pinned: Array, options: AskedOptions) -> Array:
    """Move scores by votes.

    Args:
        scores: Shape (n,).
        votes: From ``votes``, shape (n,).
        pinned: Whether a person pinned it, bool, shape (n,): it loses nothing.
        options: What they weigh.

    Returns:
        Shape (n,), each within ``most`` of what it was.
    """
    return scores + options.most * np.where(pinned, np.maximum(votes, 0.0), votes)


def surplus(weights: Array, made: Array, kept: int) -> Array:
    """Choose the judgements of one memory that go.

    Args:
        weights: Shape (k,).
        made: When, or in which order, each was made, shape (k,); larger is later.
        kept: How many stay.

    Returns:
        Positions of those that go: the weakest first, of equals the oldest.
    """
    order = np.lexsort((made, np.abs(weights)))
    return order[: max(0, len(order) - kept)]
