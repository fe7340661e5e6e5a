"""Texts of nearly the same words. ``core.ranking.fusion.distinct`` has the definition."""

import ctypes
from collections.abc import Sequence

import numpy as np

from slowcat_memory.kernels.library import INT, POINTER, Function, address

END = b"\xff"  # of a text: no byte of UTF-8
_distinct = Function("distinct", POINTER, INT, ctypes.c_double, INT, *3 * [POINTER], result=INT)


def distinct(texts: Sequence[bytes], threshold: float, limit: int) -> list[int] | None:
    """Return the positions of the first of each group of near-equal texts, in order.

    Args:
        texts: In UTF-8. A word is a run of letters and digits with at most one apostrophe within,
            and any character beyond ASCII is a letter: others must be taken out before.
        threshold: Jaccard similarity of words from which two are equal.
        limit: How many are returned at most.

    Returns:
        None without the compiled library.
    """
    call = _distinct.compiled
    if call is None:
        return None
    joined = END.join((*texts, b""))
    hashes = np.empty(len(joined) // 2 + 1, np.uint64)
    sizes, kept = np.empty(len(texts) + 1, np.int64), np.empty(len(texts) + 1, np.int64)
    found = call(
        joined, len(texts), threshold, limit, address(hashes), address(sizes), address(kept)
    )
    places: list[int] = kept[:found].tolist()
    return places
