"""The walk over postings, term by term: a query's scores, in NumPy.

Scores gather in an array with a cell per document that lives as long as its view. Only the cells
that the query's postings name are touched, here and when they are cleared, so a query costs what
its postings cost, however large the namespace is. ``walk_compiled`` does the same, faster.
"""

from typing import Protocol

import numpy as np


class Scorer(Protocol):
    """The three loops. Postings are those of ``SealedPostings``; scores are float32."""

    def add(
        self,
        indptr: np.ndarray,
        documents: np.ndarray,
        codes: np.ndarray,
        weights: np.ndarray,
        rows: np.ndarray,
        idf: np.ndarray,
        scores: np.ndarray,
    ) -> None:
        """Add each term's weights to its documents' scores.

        Args:
            indptr: Shape (terms + 1,).
            documents: Shape (postings,).
            codes: Shape (postings,).
            weights: Shape (codes,), float32.
            rows: The query's terms, shape (n,), int64.
            idf: Theirs, shape (n,), float32.
            scores: Shape (at least as many as documents,), changed.
        """

    def best_of_all(self, scores: np.ndarray, k: int) -> np.ndarray:
        """Find the best of all documents: cheaper when most of them were touched.

        Args:
            scores: Shape (documents,).
            k: How many at most.

        Returns:
            As ``best``.
        """

    def best(
        self,
        indptr: np.ndarray,
        documents: np.ndarray,
        rows: np.ndarray,
        scores: np.ndarray,
        k: int,
    ) -> np.ndarray:
        """Find the best of the documents that ``add`` touched.

        Args:
            indptr: As above.
            documents: As above.
            rows: As above.
            scores: As above; the sign of some may change.
            k: How many at most.

        Returns:
            Document numbers with a positive score, in no order, each once.
        """

    def clear(
        self, indptr: np.ndarray, documents: np.ndarray, rows: np.ndarray, scores: np.ndarray
    ) -> None:
        """Set the scores of the documents that ``add`` touched to 0.

        Args:
            indptr: As above.
            documents: As above.
            rows: As above.
            scores: As above.
        """


class NumpyScorer:
    """The loops in NumPy: nothing to load, nothing to compile."""

    def add(
        self,
        indptr: np.ndarray,
        documents: np.ndarray,
        codes: np.ndarray,
        weights: np.ndarray,
        rows: np.ndarray,
        idf: np.ndarray,
        scores: np.ndarray,
    ) -> None:
        """See ``Scorer``."""
        for part, value in zip(_parts(indptr, rows), idf, strict=True):
            scores[documents[part]] += (weights * value)[codes[part]]

    def best_of_all(self, scores: np.ndarray, k: int) -> np.ndarray:
        """See ``Scorer``."""
        touched = np.flatnonzero(scores)
        if len(touched) <= k:
            return touched
        return touched[np.argpartition(-scores[touched], k - 1)[:k]]

    def best(
        self,
        indptr: np.ndarray,
        documents: np.ndarray,
        rows: np.ndarray,
        scores: np.ndarray,
        k: int,
    ) -> np.ndarray:
        """See ``Scorer``."""
        found = [documents[part] for part in _parts(indptr, rows)]
        if not found:
            return np.zeros(0, np.int64)
        touched = np.concatenate(found)
        values = scores[touched]
        most = k * len(found)  # a document stands there once for each of its terms at most
        if len(touched) > most:
            chosen = np.argpartition(-values, most - 1)[:most]
            touched, values = touched[chosen], values[chosen]
        touched = distinct(touched[values > 0]).astype(np.int64)
        if len(touched) <= k:
            return touched
        return touched[np.argpartition(-scores[touched], k - 1)[:k]]

    def clear(
        self, indptr: np.ndarray, documents: np.ndarray, rows: np.ndarray, scores: np.ndarray
    ) -> None:
        """See ``Scorer``."""
        for part in _parts(indptr, rows):
            scores[documents[part]] = 0


def distinct(values: np.ndarray) -> np.ndarray:
    """Sort numbers and drop repeated ones, as ``np.unique`` does, which imports 10 ms of NumPy.

    Args:
        values: Shape (n,); sorted in place.

    Returns:
        Rising, shape (at most n,).
    """
    values.sort()
    fresh = np.ones(len(values), bool)
    np.not_equal(values[1:], values[:-1], out=fresh[1:])
    return values[fresh]


def _parts(indptr: np.ndarray, rows: np.ndarray) -> list[slice]:
    starts, ends = indptr[rows].tolist(), indptr[rows + 1].tolist()
    return [slice(start, end) for start, end in zip(starts, ends, strict=True)]
