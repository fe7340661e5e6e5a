"""Cosine similarity over two generations of vectors: sealed ones in files, newer ones in a matrix.

A document's newest vector wins: one set after sealing tombstones the sealed one. The sealed part
may be attached later than the rest of the index: until then, search is by words.
"""

import numpy as np

from slowcat_memory.index.files.arrays import Column
from slowcat_memory.index.vectors.sealed_vectors import SealedVectors


class VectorView:
    """Vectors by document number."""

    def __init__(self, dim: int, sealed: SealedVectors | None = None) -> None:
        """Start with open sealed vectors, or with none; ``dim`` is 0 without an embedder."""
        self.dim = dim
        self._sealed: SealedVectors | None = None
        self._alive = np.zeros(0, bool)  # by sealed row
        # Changes made before the sealed part was attached:
        self._changed: set[int] = set()  # documents that were put or removed
        self._renumbered: dict[int, int] = {}  # current numbers, to those in the sealed part
        self._matrix = np.zeros((0, dim), np.float32)
        self._documents = Column(np.int64)  # of the matrix's rows; -1 once removed
        self._slots: dict[int, int] = {}  # by document: its row in the matrix
        if sealed is not None:
            self.attach(sealed)

    def attach(self, sealed: SealedVectors) -> None:
        """Add the sealed vectors; earlier puts and removals take precedence."""
        self._alive = np.ones(len(sealed), bool)
        self._sealed = sealed
        for new, old in self._renumbered.items():
            if (row := self._row(old)) >= 0 and new not in self:
                self.put(new, sealed.vector(row))
        for document in self._changed:
            self._tombstone(document)
        self._changed, self._renumbered = set(), {}

    def __len__(self) -> int:
        return len(self._slots) + int(np.count_nonzero(self._alive))

    def __contains__(self, document: int) -> bool:
        return document in self._slots or self._row(document) >= 0

    def _row(self, document: int) -> int:
        return int(self._rows(np.array([document]))[0])

    def _rows(self, documents: np.ndarray) -> np.ndarray:
        """Return the living sealed rows of documents, shape (n,), int64; -1 for none."""
        if self._sealed is None or not len(self._sealed):
            return np.full(len(documents), -1)
        known = self._sealed.documents
        rows = known.searchsorted(documents.astype(known.dtype))  # of another type, all are copied
        rows[rows == len(known)] = 0
        return np.where((known[rows] == documents) & self._alive[rows], rows, -1)

    def present(self, count: int) -> np.ndarray:
        """Return which of the first ``count`` documents have a vector, shape (count,), bool."""
        there = np.zeros(count, bool)
        if self._sealed is not None:
            there[self._sealed.documents[self._alive]] = True
        there[[*self._slots]] = True
        return there

    def put(self, document: int, vector: np.ndarray) -> None:
        """Set a document's vector, shape (dim,), unit length."""
        slot = self._slots.get(document)
        if slot is None:
            self._tombstone(document)
            slot = self._slots[document] = len(self._documents)
            self._documents.append(document)
            if slot == len(self._matrix):
                grown = np.zeros((max(256, slot + slot // 2), self.dim), np.float32)
                grown[:slot] = self._matrix
                self._matrix = grown
        self._matrix[slot] = vector

    def remove(self, document: int) -> np.ndarray | None:
        """Remove a document's vector and return it, shape (dim,), or None when it had none."""
        self._renumbered.pop(document, None)
        vector = self.vector(document)
        slot = self._slots.pop(document, None)
        if slot is None:
            self._tombstone(document)
            return vector
        self._matrix[slot] = 0
        self._documents[slot] = -1
        return vector

    def renumber(self, old: int, new: int) -> None:
        if self._sealed is None and old not in self._slots:
            self._renumbered[new] = self._renumbered.pop(old, old)
        vector = self.remove(old)
        if vector is not None:
            self.put(new, vector)

    def _tombstone(self, document: int) -> None:
        if self._sealed is None:
            self._changed.add(document)
        elif (row := self._row(document)) >= 0:
            self._alive[row] = False

    def vector(self, document: int) -> np.ndarray | None:
        """Return a document's vector, shape (dim,), or None when it has none."""
        if (slot := self._slots.get(document)) is not None:
            return self._matrix[slot].copy()
        row = self._row(document)
        return self._sealed.vector(row) if self._sealed is not None and row >= 0 else None

    def nearest(self, query: np.ndarray, k: int) -> np.ndarray:
        """Return the numbers of up to k nearest documents in each generation, unordered, (n,).

        ``query`` has shape (dim,), unit length.
        """
        owners = self._documents.tail
        cosines = np.einsum("ij,j->i", self._matrix[: len(owners)], query)
        slots = np.flatnonzero(owners >= 0)
        if len(slots) > k:
            slots = slots[np.argpartition(-cosines[slots], k - 1)[:k]]
        if self._sealed is None or not self._alive.any():
            return owners[slots]
        return np.concatenate((self._sealed.nearest(query, k, self._alive), owners[slots]))

    def cosines(self, query: np.ndarray, documents: np.ndarray) -> np.ndarray:
        """Return the cosines of documents, shape (n,), float32; NaN for one without a vector.

        ``query`` has shape (dim,), unit length.
        """
        cosines = np.full(len(documents), np.nan, np.float32)
        slots = np.array([self._slots.get(document, -1) for document in documents.tolist()], int)
        cosines[slots >= 0] = np.einsum("ij,j->i", self._matrix[slots[slots >= 0]], query)
        rows = self._rows(documents)
        if self._sealed is not None and (rows >= 0).any():
            cosines[rows >= 0] = self._sealed.cosines(query, rows[rows >= 0])
        return cosines
