"""Postings that do not change: for each term a run of documents, with a small code for each.

A posting is a document's number (int32) and a code (16 bits): the code's row in a table of the
distinct pairs of (occurrences, document length). There are some hundreds of these, so the BM25
weight of all of them is worked out anew whenever the namespace's average length has changed, and a
query only looks weights up: exact at all times, and 6 bytes a posting.
"""

from pathlib import Path

import numpy as np

from slowcat_memory.index.files.mapped import open_array

MOST_CODES = 2**16  # of 16 bits; an index with more has codes of 32


class SealedPostings:
    """One view's postings."""

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
        """Map stored postings.

        Args:
            folder: Of the sealed index.
            view: The view's name.

        Returns:
            The postings.
        """
        names = ("indptr", "documents", "codes", "pairs", "lengths")
        return cls(*(open_array(folder / f"{view}.{name}.npy") for name in names))

    @classmethod
    def empty(cls) -> "SealedPostings":
        """Return postings of no documents."""
        none = np.zeros(0, np.int32)
        return cls(np.zeros(1, np.int64), none, none.astype(np.uint16), np.zeros((0, 2)), none)

    def frequency(self, row: int) -> int:
        """Count the documents that hold a term, dead ones included."""
        return int(self.indptr[row + 1]) - int(self.indptr[row])

    def weights(self, k1: float, b: float, average: float) -> np.ndarray:
        """Work out what each code is worth.

        Args:
            k1: BM25's k1.
            b: BM25's b.
            average: Mean length of the namespace's documents.

        Returns:
            Shape (codes,), float32; to be multiplied by a term's idf.
        """
        key = (k1, b, average)
        if self._weights is None or self._weights[0] != key:
            times, length = self._pairs[:, 0], self._pairs[:, 1]
            values = times / (times + k1 * (1 - b + b * length / average))
            self._weights = (key, values.astype(np.float32))
        return self._weights[1]


class Forward:
    """A source's postings the other way round: each document's own terms."""

    def __init__(self, folder: Path | None = None, name: str = "") -> None:
        """Map what is stored, or start with nothing.

        Args:
            folder: Of the sealed index.
            name: What the files' names begin with.
        """
        self._indptr = np.zeros(1, np.int64)
        self._rows, self._times = np.zeros(0, np.int32), np.zeros(0, np.uint16)
        if folder is not None:
            self._indptr = open_array(folder / f"{name}.indptr.npy")
            self._rows = open_array(folder / f"{name}.rows.npy")
            self._times = open_array(folder / f"{name}.times.npy")

    def counts(self, document: int) -> dict[int, int]:
        """Return a document's own terms.

        Args:
            document: Its number.

        Returns:
            Occurrences by the term's row.
        """
        part = slice(int(self._indptr[document]), int(self._indptr[document + 1]))
        return dict(zip(self._rows[part].tolist(), self._times[part].tolist(), strict=True))
