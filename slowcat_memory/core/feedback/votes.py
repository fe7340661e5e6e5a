"""Relevance feedback: judged queries move the memories that they were about, for similar queries.

A judged query says that a memory answers it (above 0) or does not (below 0). A later query counts
the judgements of queries with a near vector, each weighted by how near the two are; the index sums
them by memory (the view "asked"). The sum counts as a prior of at most 1, weighted by ``rank.asked``.
So votes reorder candidates and no more: they drop none, change no probability, and take nothing
from a pinned memory. A judgement does not expire, but newer ones of the same memory replace it.
"""

import numpy as np

Array = np.ndarray


def votes(summed: Array | None, pinned: Array) -> Array:
    """Return the bounded votes for candidates.

    Args:
        summed: Judgements (-1 to 1) of similar queries times the similarity of the two queries (0
            to 1), summed by candidate, shape (n,); None if nothing was ever judged.
        pinned: Whether the user pinned it, bool, shape (n,); such a memory loses nothing.

    Returns:
        Shape (n,), -1 to 1; 0 where no similar query was judged.
    """
    if summed is None:
        return np.zeros(len(pinned))
    bounded = np.clip(np.nan_to_num(summed, posinf=1.0, neginf=-1.0), -1.0, 1.0)
    return np.where(pinned, np.maximum(bounded, 0.0), bounded)


def surplus(weights: Array, made: Array, kept: int) -> Array:
    """Return the positions of the judgements of one memory that go: the weakest, then the oldest.

    Args:
        weights: Shape (k,).
        made: Order in which they were made, shape (k,); larger is later.
        kept: How many stay.
    """
    order = np.lexsort((made, np.abs(weights)))
    return order[: max(0, len(order) - kept)]
