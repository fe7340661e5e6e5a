"""The scoring loops over postings, term by term, in NumPy; and the choice of implementation.

Scores add up in an array with a cell per document that lives as long as its view. Only the cells of
the query's postings are touched, here and when they are cleared, so the cost of a query depends on
its postings, however large the namespace is. ``scorer_numba`` does the same in machine code.

numba costs a second and 60 MB to import, and a few seconds more to compile. The child that builds a
large sealed index compiles into numba's cache on disk; the main process loads it from there on a
thread of its own, once, when it opens such an index. Until then, and where numba does not work,
NumPy is used.
"""

import threading
from pathlib import Path
from typing import Protocol

import numpy as np
from loguru import logger

from slowcat_memory.index.lexical.postings import SealedPostings
from slowcat_memory.pages import give_back


class Scorer(Protocol):
    """The loops. ``rows`` are the query's terms, shape (n,), int64; scores are float32."""

    def add(
        self,
        postings: SealedPostings,
        rows: np.ndarray,
        factors: np.ndarray,
        scores: np.ndarray,
    ) -> None:
        """Add each term's sealed scores, times its factor, to its documents' scores.

        ``factors`` has shape (n,), float32; ``scores`` has shape (documents or more,) and is
        changed.
        """

    def best(
        self, postings: SealedPostings, rows: np.ndarray, scores: np.ndarray, k: int
    ) -> np.ndarray:
        """Return the k best of the documents that ``add`` touched, unordered, each once.

        Only positive scores count; the sign of some may change.
        """

    def best_of_all(self, scores: np.ndarray, k: int) -> np.ndarray:
        """Return the k best of all documents: cheaper than ``best`` when most were touched."""

    def clear(self, postings: SealedPostings, rows: np.ndarray, scores: np.ndarray) -> None:
        """Set the scores of the documents that ``add`` touched to 0."""


class NumpyScorer:
    """The loops in NumPy: needs no loading or compiling."""

    def add(
        self,
        postings: SealedPostings,
        rows: np.ndarray,
        factors: np.ndarray,
        scores: np.ndarray,
    ) -> None:
        for part, factor in zip(_parts(postings, rows), factors, strict=True):
            # Half the time of ``scores[…] +=``, which reads and writes through a copy.
            np.add.at(scores, postings.documents[part], postings.scores[part] * factor)

    def best(
        self, postings: SealedPostings, rows: np.ndarray, scores: np.ndarray, k: int
    ) -> np.ndarray:
        found = [postings.documents[part] for part in _parts(postings, rows)]
        if not found:
            return np.zeros(0, np.int64)
        touched = np.concatenate(found)
        values = scores[touched]
        most = k * len(found)  # a document occurs at most once for each of its terms
        if len(touched) > most:
            chosen = np.argpartition(-values, most - 1)[:most]
            touched, values = touched[chosen], values[chosen]
        return _top(distinct(touched[values > 0]).astype(np.int64), scores, k)

    def best_of_all(self, scores: np.ndarray, k: int) -> np.ndarray:
        return _top(np.flatnonzero(scores), scores, k)

    def clear(self, postings: SealedPostings, rows: np.ndarray, scores: np.ndarray) -> None:
        for part in _parts(postings, rows):
            scores[postings.documents[part]] = 0


def _top(documents: np.ndarray, scores: np.ndarray, k: int) -> np.ndarray:
    if len(documents) <= k:
        return documents
    return documents[np.argpartition(-scores[documents], k - 1)[:k]]


def _parts(postings: SealedPostings, rows: np.ndarray) -> list[slice]:
    starts, ends = postings.indptr[rows].tolist(), postings.indptr[rows + 1].tolist()
    return [slice(start, end) for start, end in zip(starts, ends, strict=True)]


def distinct(values: np.ndarray) -> np.ndarray:
    """Return distinct values in rising order, like ``np.unique``, whose import costs 10 ms.

    ``values`` is sorted in place.
    """
    values.sort()
    fresh = np.ones(len(values), bool)
    np.not_equal(values[1:], values[:-1], out=fresh[1:])
    return values[fresh]


NUMPY: Scorer = NumpyScorer()

_compiled: Scorer | None = None
_loading: threading.Thread | None = None
_lock = threading.Lock()


def fastest() -> Scorer:
    return _compiled or NUMPY


def load_compiled() -> None:
    """Load the compiled scorer, compiling it where the cache lacks it. Blocks; never raises."""
    global _compiled
    try:
        from slowcat_memory.index.lexical.scorer_numba import NumbaScorer

        _compiled = NumbaScorer()
        _release_compiler()
    except Exception as error:  # any error of numba, LLVM or an unwritable cache
        logger.warning(f"large indexes are searched without numba: {type(error).__name__}")


def _release_compiler() -> None:
    """Unmap LLVM's code, 60 MB that are not needed once the loops are loaded."""
    import llvmlite

    give_back(Path(llvmlite.__file__).parent / "binding" / "libllvmlite.so")


def load_in_background() -> threading.Thread:
    """Start loading the compiled scorer, once; return the thread that loads it."""
    global _loading
    with _lock:
        if _loading is None:
            _loading = threading.Thread(target=load_compiled, name="slowcat-compiled", daemon=True)
            _loading.start()
        return _loading
