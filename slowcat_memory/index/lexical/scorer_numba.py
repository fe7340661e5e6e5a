"""The scoring loops as machine code. Importing this module imports numba: see ``scorer``.

The same float32 operations in the same order as in ``scorer``, so that both score alike; they
release the interpreter's lock.
"""

import numba
import numpy as np
from numba import types

from slowcat_memory.index.lexical.postings import SealedPostings

_f32, _i32, _i64 = types.float32, types.int32, types.int64


def _mapped(dtype: types.Type) -> types.Array:
    return types.Array(dtype, 1, "C", readonly=True)


_SCORES = types.Array(_f32, 1, "C")
_ADD = types.void(
    _mapped(_i64), _mapped(_i32), _mapped(_f32), _mapped(_i64), _mapped(_f32), _SCORES
)  # fmt: skip
_BEST = _i64(
    _mapped(_i64), _mapped(_i32), _mapped(_i64), _SCORES, types.Array(_i64, 1, "C"), _SCORES
)
_PUSH = _i64(types.Array(_i64, 1, "C"), _SCORES, _i64, _i64, _f32)
_BEST_OF_ALL = _i64(_mapped(_f32), types.Array(_i64, 1, "C"), _SCORES)
_CLEAR = types.void(_mapped(_i64), _mapped(_i32), _mapped(_i64), _SCORES)


@numba.njit([_ADD], nogil=True, cache=True)
def _add(indptr, documents, sealed, rows, factors, scores):  # type: ignore[no-untyped-def]
    for place in range(len(rows)):
        row, factor = rows[place], factors[place]
        for at in range(indptr[row], indptr[row + 1]):
            scores[documents[at]] += sealed[at] * factor


@numba.njit([_PUSH], nogil=True, cache=True, inline="always")
def _push(found, values, n, document, score):  # type: ignore[no-untyped-def]
    """Add a document to the heap of the best, the least first; return the heap's size."""
    k = len(found)
    if n < k:
        hole = n
        while hole > 0 and values[(hole - 1) >> 1] > score:
            above = (hole - 1) >> 1
            values[hole], found[hole] = values[above], found[above]
            hole = above
        values[hole], found[hole] = score, document
        return n + 1
    hole = 0
    while 2 * hole + 1 < k:
        below = 2 * hole + 1
        if below + 1 < k and values[below + 1] < values[below]:
            below += 1
        if values[below] >= score:
            break
        values[hole], found[hole] = values[below], found[below]
        hole = below
    values[hole], found[hole] = score, document
    return n


@numba.njit([_BEST], nogil=True, cache=True)
def _best(indptr, documents, rows, scores, found, values):  # type: ignore[no-untyped-def]
    """Keep the best in a heap; a document that was in it gets a negative score, so it enters once."""
    n = _i64(0)
    least = _f32(0)
    for place in range(len(rows)):
        row = rows[place]
        for at in range(indptr[row], indptr[row + 1]):
            document = documents[at]
            score = scores[document]
            if score > least:
                scores[document] = -score
                n = _push(found, values, n, document, score)
                if n == len(found):
                    least = values[0]
    return n


@numba.njit([_BEST_OF_ALL], nogil=True, cache=True)
def _best_of_all(scores, found, values):  # type: ignore[no-untyped-def]
    n = _i64(0)
    least = _f32(0)
    for document in range(len(scores)):
        score = scores[document]
        if score > least:
            n = _push(found, values, n, document, score)
            if n == len(found):
                least = values[0]
    return n


@numba.njit([_CLEAR], nogil=True, cache=True)
def _clear(indptr, documents, rows, scores):  # type: ignore[no-untyped-def]
    for row in rows:
        for at in range(indptr[row], indptr[row + 1]):
            scores[documents[at]] = 0


class NumbaScorer:
    """The loops in machine code."""

    def add(
        self,
        postings: SealedPostings,
        rows: np.ndarray,
        factors: np.ndarray,
        scores: np.ndarray,
    ) -> None:
        _add(postings.indptr, postings.documents, postings.scores, rows, factors, scores)

    def best(
        self, postings: SealedPostings, rows: np.ndarray, scores: np.ndarray, k: int
    ) -> np.ndarray:
        found, values = np.empty(k, np.int64), np.empty(k, np.float32)
        count = _best(postings.indptr, postings.documents, rows, scores, found, values)
        return found[:count]

    def best_of_all(self, scores: np.ndarray, k: int) -> np.ndarray:
        found, values = np.empty(k, np.int64), np.empty(k, np.float32)
        return found[: _best_of_all(scores, found, values)]

    def clear(self, postings: SealedPostings, rows: np.ndarray, scores: np.ndarray) -> None:
        _clear(postings.indptr, postings.documents, rows, scores)
