"""Postings of one view: the sealed ones, which never change, and those of the tail.

A sealed posting is a document's number (int32) and a code (16 bits): the code's row in a table of
the distinct pairs of (occurrences, document length). There are some hundreds of these, so the BM25
weight of all of them is computed again whenever the namespace's mean length has changed, and a query
only looks weights up: exact at all times, and 6 bytes a posting.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from slowcat_memory.index.files.arrays import open_array

Counts = Mapping[str, int]
"""Occurrences by term."""

MOST_CODES = 2**16  # of 16 bits; an index with more has codes of 32


class SealedPostings:
    """For each term a run of documents, with a small code for each."""

    def __init__(
        self,
        indptr: np.ndarray,
        documents: np.ndarray,
        codes: np.ndarray,
        pairs: np.ndarray,
        lengths: np.ndarray,
    ) -> None:
        """Wrap the arrays.

        Args:
            indptr: Shape (terms + 1,), int64, start of each term's postings.
            documents: Shape (postings,), int32, rising within a term.
            codes: Shape (postings,), rows of ``pairs``.
            pairs: Shape (codes, 2): occurrences, document length.
            lengths: Shape (documents,), tokens by document.
        """
        self.indptr, self.documents, self.codes = indptr, documents, codes
        self.lengths, self._pairs = lengths, pairs
        self._weights: tuple[tuple[float, float, float], np.ndarray] | None = None

    @classmethod
    def open(cls, folder: Path, view: str) -> "SealedPostings":
        """Map the postings of a view from a sealed index's folder."""
        names = ("indptr", "documents", "codes", "pairs", "lengths")
        return cls(*(open_array(folder / f"{view}.{name}.npy") for name in names))

    @classmethod
    def empty(cls) -> "SealedPostings":
        """Return postings of no documents."""
        none = np.zeros(0, np.int32)
        return cls(np.zeros(1, np.int64), none, none.astype(np.uint16), np.zeros((0, 2)), none)

    def frequency(self, row: int) -> int:
        """Return the number of documents that hold a term, dead ones included."""
        return int(self.indptr[row + 1]) - int(self.indptr[row])

    def weights(self, k1: float, b: float, average: float) -> np.ndarray:
        """Return the BM25 weight of each code, shape (codes,), float32, without the term's idf."""
        key = (k1, b, average)
        if self._weights is None or self._weights[0] != key:
            times, length = self._pairs[:, 0], self._pairs[:, 1]
            values = times / (times + k1 * (1 - b + b * length / average))
            self._weights = (key, values.astype(np.float32))
        return self._weights[1]


class TailPostings:
    """Postings of the documents that came after sealing, and counts that change."""

    def __init__(self) -> None:
        """Start empty."""
        self.documents: dict[int, Counter[str]] = {}
        self._terms: dict[str, dict[int, int]] = {}
        self._arrays: dict[str, tuple[np.ndarray, np.ndarray]] = {}

    def change(self, document: int, counts: Counts, sign: int = 1) -> None:
        """Add to a document's term counts, or subtract; one without terms stays in the index.

        Args:
            document: Its number.
            counts: Occurrences by term.
            sign: 1 to add, -1 to subtract.
        """
        own = self.documents.setdefault(document, Counter())
        for term, count in counts.items():
            own[term] += sign * count
            self._arrays.pop(term, None)
            if own[term] > 0:
                self._terms.setdefault(term, {})[document] = own[term]
            else:
                del own[term]
                self._drop(term, document)

    def remove(self, document: int) -> Counter[str]:
        """Remove a document and return its term counts."""
        counts = self.documents.pop(document)
        for term in counts:
            self._drop(term, document)
            self._arrays.pop(term, None)
        return counts

    def _drop(self, term: str, document: int) -> None:
        documents = self._terms.get(term)
        if documents is not None:
            documents.pop(document, None)
            if not documents:
                del self._terms[term]

    def frequency(self, term: str) -> int:
        """Return the number of documents that hold a term."""
        return len(self._terms.get(term, ()))

    def postings(self, terms: Sequence[str]) -> list[tuple[int, np.ndarray, np.ndarray]]:
        """Return where terms occur.

        Returns:
            For each term that occurs: its place in ``terms``, its documents, and its frequency in
            each, both of shape (n,).
        """
        return [(n, *self._postings(t)) for n, t in enumerate(terms) if t in self._terms]

    def _postings(self, term: str) -> tuple[np.ndarray, np.ndarray]:
        arrays = self._arrays.get(term)
        if arrays is None:
            documents = self._terms[term]
            arrays = (
                np.fromiter(documents.keys(), np.int64, len(documents)),
                np.fromiter(documents.values(), np.float32, len(documents)),
            )
            self._arrays[term] = arrays
        return arrays
