"""What was asked before: judged queries move what they were about, when the like is asked again.

A judged query says of one memory that it answers (above 0) or that it does not (below 0). A later
query hears those that are near enough to have its sense, each as loud as the two are near: the index
adds that up by memory (the view "asked"). However many speak, what they say counts as a prior of 1 at
most (``rank.asked`` weighs it). So votes reorder candidates and do no more: they drop none, change no
probability, and take nothing from what a person pinned. What a memory answers does not go out of
date; but newer judgements of it take the place of older ones.
"""

import numpy as np

Array = np.ndarray


def votes(summed: Array | None, pinned: Array) -> Array:
    """Bound what judged queries say of candidates.

    Args:
        summed: Judgements of the same sense, -1 to 1 each, times how near the two queries are,
            0 to 1, added up by candidate, shape (n,); None where nothing was ever judged.
        pinned: Whether a person pinned it, bool, shape (n,): it loses nothing.

    Returns:
        Shape (n,), -1 to 1; 0 for what was never judged for a query of this sense.
    """
    if summed is None:
        return np.zeros(len(pinned))
    bounded = np.clip(np.nan_to_num(summed, posinf=1.0, neginf=-1.0), -1.0, 1.0)
    return np.where(pinned, np.maximum(bounded, 0.0), bounded)


def surplus(weights: Array, made: Array, kept: int) -> Array:
    """Choose the judgements of one memory that go.

    Args:
        weights: Shape (k,).
        made: In which order each was made, shape (k,); larger is later.
        kept: How many stay.

    Returns:
        Positions of those that go: the weakest first, of equals the oldest.
    """
    order = np.lexsort((made, np.abs(weights)))
    return order[: max(0, len(order) - kept)]
