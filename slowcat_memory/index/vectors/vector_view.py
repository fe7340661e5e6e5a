"""Cosine similarity over two generations of vectors: sealed ones in files, newer ones in a matrix.

A document's newest vector wins: one set after sealing tombstones the sealed one. The sealed part
may be attached later than the rest of the index: until then, search is by words.
"""

import numpy as np

from slowcat_memory.index.files.arrays import Column
from slowcat_memory.index.vectors.sealed_vectors import SealedVectors
from slowcat_memory.kernels.dense import VectorArrays


class VectorView:
    """Vectors by document number."""

    def __init__(self, dim: int, sealed: SealedVectors | None = None) -> None:
        """Start with open sealed vectors, or with none; ``dim`` is 0 without an embedder."""
        self.dim = dim
        self.arrays = VectorArrays(dim)
        self._sealed: SealedVectors | None = None
        self._alive = np.zeros(0, np.uint8)  # a bit for each sealed row
        self._dead = 0
        # Changes made before the sealed part was attached:
        self._changed: set[int] = set()  # documents that were put or removed
        self._renumbered: dict[int, int] = {}  # current numbers, to those in the sealed part
        self._matrix = np.zeros((0, dim), np.float32)
        self._documents = Column(np.int64)  # of the matrix's rows; -1 once removed
        self._slots = np.zeros(0, np.int32)  # by document: its row in the matrix, counted from 1
        self._in_matrix = 0
        if sealed is not None:
            self.attach(sealed)

    def attach(self, sealed: SealedVectors) -> None:
        """Add the sealed vectors; earlier puts and removals take precedence."""
        self._alive = np.full(-(-len(sealed) // 8), 255, np.uint8)
        self._sealed = sealed
        self.arrays.seal(sealed.sparse, self._alive, sealed.matrix, sealed.scales)
        for new, old in self._renumbered.items():
            if (row := self._row(old)) >= 0 and new not in self:
                self.put(new, sealed.vector(row))
        for document in self._changed:
            self._tombstone(document)
        self._changed, self._renumbered = set(), {}

    def __len__(self) -> int:
        sealed = len(self._sealed) - self._dead if self._sealed is not None else 0
        return self._in_matrix + sealed

    def __contains__(self, document: int) -> bool:
        return self._slot(document) > 0 or self._row(document) >= 0

    def _slot(self, document: int) -> int:
        return int(self._slots[document]) if document < len(self._slots) else 0

    def _row(self, document: int) -> int:
        if self._sealed is None:
            return -1
        return int(self.arrays.rows_of(np.array([document]))[0])

    def present(self, count: int) -> np.ndarray:
        """Return which of the first ``count`` documents have a vector, shape (count,), bool."""
        there = np.zeros(count, bool)
        if self._sealed is not None:
            living = np.unpackbits(self._alive, count=len(self._sealed), bitorder="little")
            there[self._sealed.documents[living.astype(bool)]] = True
        own = self._documents.tail
        there[own[own >= 0]] = True
        return there

    def put(self, document: int, vector: np.ndarray) -> None:
        """Set a document's vector, shape (dim,), unit length."""
        if slot := self._slot(document):
            self._matrix[slot - 1] = vector
            return
        self._tombstone(document)
        slot = len(self._documents)
        if slot == len(self._matrix):
            grown = np.zeros((max(256, slot + slot // 2), self.dim), np.float32)
            grown[:slot] = self._matrix[:slot]
            self._matrix = grown
        if document >= len(self._slots):
            more = np.zeros(max(256, document + 1 + document // 4), np.int32)
            more[: len(self._slots)] = self._slots
            self._slots = more
        self._matrix[slot] = vector
        self._documents.append(document)
        self._slots[document] = slot + 1
        self._in_matrix += 1
        self.arrays.set_tail(self._matrix, self._documents.tail, self._slots)

    def remove(self, document: int) -> np.ndarray | None:
        """Remove a document's vector and return it, shape (dim,), or None when it had none."""
        self._renumbered.pop(document, None)
        slot = self._slot(document)
        if not slot:
            row = self._row(document)
            self._tombstone(document)
            return self._sealed.vector(row) if self._sealed is not None and row >= 0 else None
        vector = self._matrix[slot - 1].copy()
        self._matrix[slot - 1] = 0
        self._documents[slot - 1] = -1
        self._slots[document] = 0
        self._in_matrix -= 1
        return vector

    def renumber(self, old: int, new: int) -> None:
        if self._sealed is None and not self._slot(old):
            self._renumbered[new] = self._renumbered.pop(old, old)
        vector = self.remove(old)
        if vector is not None:
            self.put(new, vector)

    def _tombstone(self, document: int) -> None:
        if self._sealed is None:
            self._changed.add(document)
        elif (row := self._row(document)) >= 0:
            self._alive[row >> 3] &= ~np.uint8(1 << (row & 7))
            self._dead += 1

    def vector(self, document: int) -> np.ndarray | None:
        """Return a document's vector, shape (dim,), or None when it has none."""
        if slot := self._slot(document):
            return self._matrix[slot - 1]
        row = self._row(document)
        return self._sealed.vector(row) if self._sealed is not None and row >= 0 else None

    def nearest(self, query: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return numbers and cosines of up to k nearest documents in each generation, unordered.

        ``query`` has shape (dim,), unit length; the results have shape (n,) each.
        """
        sealed = self._sealed
        scanned = sealed is None or sealed.searched is None
        found = self.arrays.nearest(query, k, sealed=scanned)
        if sealed is None or sealed.searched is None or self._dead == len(sealed):
            return found
        by_code = sealed.searched.nearest(self.arrays, query, k)
        return np.concatenate((by_code[0], found[0])), np.concatenate((by_code[1], found[1]))

    def cosines(self, query: np.ndarray, documents: np.ndarray) -> np.ndarray:
        """Return the cosines of documents, shape (n,), float32; NaN for one without a vector.

        ``query`` has shape (dim,), unit length.
        """
        return self.arrays.cosines(query, documents)
