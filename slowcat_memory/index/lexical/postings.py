"""Postings of one view: the sealed ones, which never change, and those of the tail.

A sealed posting is a document's number (int32) and its score by bm25s at sealing (float32), which
includes the term's idf and the mean length of that time. A query adds the scores of its terms, each
times ``idf now / idf at sealing``: exact for idf, whatever was added or forgotten since then. The
mean length is that at sealing until the next seal; the effect is measured in
docs/decisions/0024-eager-scores.md.
"""

import math
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from slowcat_memory.index.files.arrays import open_array

Counts = Mapping[str, int]
"""Occurrences by term."""
Run = tuple[np.ndarray, np.ndarray]
"""A term's documents (int32), and for each its score or the term's occurrences (float32)."""
NO_RUN: Run = (np.zeros(0, np.int32), np.zeros(0, np.float32))


def idf(frequency: int, documents: int) -> float:
    """Return the idf of a term from its document frequency; always positive."""
    return math.log(1 + (documents - frequency + 0.5) / (frequency + 0.5))


class SealedPostings:
    """For each term a run of documents, with bm25s's score for each: its CSC arrays."""

    FILES = ("indptr", "documents", "scores", "lengths")

    def __init__(
        self, indptr: np.ndarray, documents: np.ndarray, scores: np.ndarray, lengths: np.ndarray
    ) -> None:
        """Wrap the arrays.

        Args:
            indptr: Shape (terms + 1,), int64, start of each term's postings.
            documents: Shape (postings,), int32, rising within a term.
            scores: Shape (postings,), float32, at sealing.
            lengths: Shape (documents,), int32, tokens by document.
        """
        self.indptr, self.documents, self.scores = indptr, documents, scores
        self.lengths = lengths

    @classmethod
    def open(cls, folder: Path, view: str) -> "SealedPostings":
        return cls(*(open_array(folder / f"{view}.{name}.npy") for name in cls.FILES))

    @classmethod
    def empty(cls, terms: int = 0, lengths: np.ndarray | None = None) -> "SealedPostings":
        """Return postings of no terms: of no documents, or of documents without tokens."""
        lengths = np.zeros(0, np.int32) if lengths is None else lengths
        indptr, documents = np.zeros(terms + 1, np.int64), np.zeros(0, np.int32)
        return cls(indptr, documents, np.zeros(0, np.float32), lengths)

    def write(self, folder: Path, view: str) -> None:
        for name in self.FILES:
            np.save(folder / f"{view}.{name}.npy", getattr(self, name))

    def frequency(self, row: int) -> int:
        """Return the number of documents with a term, dead ones included."""
        return int(self.indptr[row + 1]) - int(self.indptr[row])

    def idf(self, row: int) -> float:
        """Return a term's idf at sealing, which is in its scores."""
        return idf(self.frequency(row), len(self.lengths))

    def postings(self, row: int) -> Run:
        part = slice(int(self.indptr[row]), int(self.indptr[row + 1]))
        return self.documents[part], self.scores[part]


class TailPostings:
    """Postings of the documents added after sealing, and counts that change."""

    def __init__(self) -> None:
        self.documents: dict[int, Counter[str]] = {}
        self._terms: dict[str, dict[int, int]] = {}
        self._runs: dict[str, Run] = {}

    def change(self, document: int, counts: Counts, sign: int = 1) -> None:
        """Add to a document's term counts (``sign`` 1), or subtract (-1).

        A document left without terms stays in the index.
        """
        own = self.documents.setdefault(document, Counter())
        for term, count in counts.items():
            own[term] += sign * count
            self._runs.pop(term, None)
            if own[term] > 0:
                self._terms.setdefault(term, {})[document] = own[term]
            else:
                del own[term]
                self._drop(term, document)

    def remove(self, document: int) -> Counter[str]:
        counts = self.documents.pop(document)
        for term in counts:
            self._drop(term, document)
            self._runs.pop(term, None)
        return counts

    def _drop(self, term: str, document: int) -> None:
        documents = self._terms.get(term)
        if documents is not None:
            documents.pop(document, None)
            if not documents:
                del self._terms[term]

    def frequency(self, term: str) -> int:
        return len(self._terms.get(term, ()))

    def postings(self, term: str) -> Run:
        """Return the documents with a term, and how often it occurs in each."""
        run = self._runs.get(term)
        if run is None:
            found = self._terms.get(term)
            if not found:
                return NO_RUN
            documents = np.fromiter(found.keys(), np.int32, len(found))
            times = np.fromiter(found.values(), np.float32, len(found))
            run = self._runs[term] = documents, times
        return run
