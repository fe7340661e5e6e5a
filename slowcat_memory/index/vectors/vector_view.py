"""Cosine similarity over two generations of vectors: sealed ones in files, and a matrix.

A document's newest vector wins: one set after sealing takes the sealed one out of the running.
The sealed part may come later than the rest of the index: words answer first.
"""

import numpy as np

from slowcat_memory.index.files.column import Column
from slowcat_memory.index.vectors.sealed_vectors import SealedVectors


class VectorView:
    """Vectors by document number."""

    def __init__(self, dim: int, sealed: SealedVectors | None = None) -> None:
        """Start with the sealed vectors, or with none.

        Args:
            dim: Dimension of the vectors; 0 when there is no embedder.
            sealed: The sealed vectors, if they are open already.
        """
        self.dim = dim
        self._sealed: SealedVectors | None = None
        self._alive = np.zeros(0, np.uint8)  # a bit for each sealed row
        self._dead = 0
        self._touched: set[int] = set()  # documents put or removed before there was a sealed part
        self._moved: dict[int, int] = {}  # their numbers by then: those in the sealed part
        self._matrix = np.zeros((0, dim), np.float32)
        self._documents = Column(np.int64)  # of the matrix's rows; -1 once dead
        self._slots = np.zeros(0, np.int32)  # by document: its row in the matrix, counted from 1
        self._held = 0
        if sealed is not None:
            self.attach(sealed)

    def attach(self, sealed: SealedVectors) -> None:
        """Take the sealed vectors in; what was put or removed meanwhile stays so.

        Args:
            sealed: The vectors.
        """
        self._alive = np.full(-(-len(sealed) // 8), 255, np.uint8)
        self._sealed = sealed
        for new, old in self._moved.items():
            if (row := self._row(old)) >= 0 and new not in self:
                self.put(new, sealed.vector(row))
        for document in self._touched:
            self._tombstone(document)
        self._touched, self._moved = set(), {}

    def __len__(self) -> int:
        return self._held + (len(self._sealed) - self._dead if self._sealed is not None else 0)

    def __contains__(self, document: int) -> bool:
        return self._slot(document) > 0 or self._row(document) >= 0

    def _slot(self, document: int) -> int:
        return int(self._slots[document]) if document < len(self._slots) else 0

    def _row(self, document: int) -> int:
        """Find a document's living sealed row, -1 for none."""
        if self._sealed is None:
            return -1
        row = int(self._sealed.places(np.array([document]))[0])
        if row < 0:
            return -1
        return row if self._alive[row >> 3] >> (row & 7) & 1 else -1

    def held(self, count: int) -> np.ndarray:
        """Tell which documents have a vector.

        Args:
            count: How many documents there are.

        Returns:
            Shape (count,), bool.
        """
        there = np.zeros(count, bool)
        if self._sealed is not None:
            living = np.unpackbits(self._alive, count=len(self._sealed), bitorder="little")
            there[self._sealed.rows[living.astype(bool)]] = True
        own = self._documents.tail
        there[own[own >= 0]] = True
        return there

    # ---------------------------------------------------------------- change

    def put(self, document: int, vector: np.ndarray) -> None:
        """Set a document's vector.

        Args:
            document: Its number.
            vector: Shape (dim,), unit length.
        """
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
        self._held += 1

    def remove(self, document: int) -> np.ndarray | None:
        """Take a document's vector out.

        Args:
            document: Its number.

        Returns:
            The vector, shape (dim,), or None when it had none.
        """
        self._moved.pop(document, None)
        slot = self._slot(document)
        if not slot:
            row = self._row(document)
            self._tombstone(document)
            return self._sealed.vector(row) if self._sealed is not None and row >= 0 else None
        vector = self._matrix[slot - 1].copy()
        self._matrix[slot - 1] = 0
        self._documents[slot - 1] = -1
        self._slots[document] = 0
        self._held -= 1
        return vector

    def move(self, old: int, new: int) -> None:
        """Let a vector stand for another number.

        Args:
            old: A document's number until now.
            new: From now on.
        """
        if self._sealed is None and not self._slot(old):
            self._moved[new] = self._moved.pop(old, old)
        vector = self.remove(old)
        if vector is not None:
            self.put(new, vector)

    def _tombstone(self, document: int) -> None:
        """Let a document's sealed vector be found no more."""
        if self._sealed is None:
            self._touched.add(document)
        elif (row := self._row(document)) >= 0:
            self._alive[row >> 3] &= ~np.uint8(1 << (row & 7))
            self._dead += 1

    def vector(self, document: int) -> np.ndarray | None:
        """Return a document's vector.

        Args:
            document: Its number.

        Returns:
            Shape (dim,), or None when it has none.
        """
        if slot := self._slot(document):
            return self._matrix[slot - 1]
        row = self._row(document)
        return self._sealed.vector(row) if self._sealed is not None and row >= 0 else None

    # ---------------------------------------------------------------- search

    def top(self, query: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Find the nearest documents.

        Args:
            query: Shape (dim,), unit length.
            k: How many at most.

        Returns:
            Document numbers and cosines of the k nearest in each generation, in no order, shape
            (n,) each.
        """
        documents, cosines = [], []
        if self._sealed is not None and self._dead < len(self._sealed):
            rows, scores = self._sealed.search(query, k, self._alive if self._dead else None)
            documents.append(self._sealed.rows[rows].astype(np.int64))
            cosines.append(scores)
        held = self._documents.tail
        if len(held):
            scores = self._matrix[: len(held)] @ query
            scores[held < 0] = -np.inf
            best = np.argpartition(-scores, k)[:k] if len(held) > k else np.arange(len(held))
            best = best[held[best] >= 0]
            documents.append(held[best])
            cosines.append(scores[best])
        if not documents:
            return np.zeros(0, np.int64), np.zeros(0, np.float32)
        return np.concatenate(documents), np.concatenate(cosines)

    def cosines(self, query: np.ndarray, documents: np.ndarray) -> np.ndarray:
        """Score given documents.

        Args:
            query: Shape (dim,), unit length.
            documents: Document numbers, shape (n,).

        Returns:
            Shape (n,); NaN where a document has no vector.
        """
        out = np.full(len(documents), np.nan, np.float32)
        if self._sealed is not None and len(self._sealed):
            rows = self._sealed.places(documents)
            there = rows >= 0
            if self._dead:
                there &= (self._alive[rows >> 3] >> (rows & 7).astype(np.uint8) & 1).astype(bool)
            out[there] = self._sealed.cosines(query, rows[there])
        if self._held:
            known = np.flatnonzero(documents < len(self._slots))
            slots = self._slots[documents[known]]
            known, slots = known[slots > 0], slots[slots > 0]
            if len(known):
                out[known] = self._matrix[slots - 1] @ query
        return out
