"""Calls of the compiled MaxSim; None where NumPy must compute (see ``core.ranking.maxsim``)."""

import numpy as np

from slowcat_memory.kernels.library import INT, POINTER, Function, address

MOST_WIDTH = 256  # bytes of a token's code that the compiled function has room for
LANES = 16  # a query's tokens are compared so many at once

_rotate = Function("rotate_tokens", POINTER, INT, INT, POINTER, INT, POINTER)
_codes = Function(
    "maxsim_codes", POINTER, POINTER, INT, INT, INT, POINTER, INT, INT, POINTER, POINTER
)


def by_codes(
    query: np.ndarray, columns: np.ndarray, codes: np.ndarray, counts: np.ndarray
) -> np.ndarray | None:
    """Return the mean best cosine of each document's codes, shape (len(counts),), float32.

    Args:
        query: Shape (words, dim), float32, not rotated.
        columns: The rotation, transposed, shape (dim, dim), float32.
        codes: Shape (sum of counts, width), uint8: each document's tokens after the other's.
        counts: Tokens of each document, int64; the score of one without is NaN.
    """
    rotate, call = _rotate.compiled, _codes.compiled
    (words, dim), width = query.shape, codes.shape[1]
    if rotate is None or call is None or width > MOST_WIDTH:
        return None
    lanes = -(-words // LANES) * LANES
    rotated, best = np.zeros((dim, lanes), np.float32), np.empty(lanes, np.float32)
    to = address(rotated)
    rotate(address(query), words, dim, address(columns), lanes, to)
    scores = np.full(len(counts), np.nan, np.float32)
    call(
        address(codes), address(counts), len(counts), width, dim,
        to, words, lanes, address(best), address(scores),
    )  # fmt: skip
    return scores
