"""Cosine similarity over two generations of vectors: FAISS when sealed, a matrix in the tail.

The sealed part is a flat fp16 index: exact to recall 1.0 at 10k vectors in 0.2 ms, half the memory
of fp32. A document's newest vector wins: one set after sealing masks the sealed one.
"""

from collections.abc import Mapping
from pathlib import Path

import faiss
import numpy as np

from slowcat_memory.index.columns import Column

FILE = "vectors.faiss"
ROWS = "vectors.rows.npy"


class DenseView:
    """Vectors by document number."""

    def __init__(self, dim: int, sealed: Path | None = None) -> None:
        """Open the sealed vectors, or start with none.

        Args:
            dim: Dimension of the vectors; 0 when there is no embedder.
            sealed: Folder of the sealed part.
        """
        self.dim = dim
        self._index: faiss.Index | None = None
        self._rows = np.zeros(0, np.int32)
        if sealed is not None and (sealed / FILE).exists():
            self._index = faiss.read_index(str(sealed / FILE))
            self._rows = np.load(sealed / ROWS)
        self._alive = np.ones(len(self._rows), bool)
        self._matrix = np.zeros((0, dim), np.float32)
        self._documents = Column(np.int32)  # of the matrix's rows; -1 once dead
        self._length = len(self._rows)
        # By document: its row in the sealed part, or after those its row in the matrix; -1 for none.
        self._place = np.full(int(self._rows.max(initial=-1)) + 1, -1, np.int32)
        self._place[self._rows] = np.arange(len(self._rows))

    @staticmethod
    def build(vectors: Mapping[int, np.ndarray], dim: int, folder: Path) -> None:
        """Store vectors as a sealed part.

        Args:
            vectors: Unit vectors of shape (dim,) by document number.
            dim: Their dimension.
            folder: Where the files go; must exist.
        """
        rows = np.array(sorted(vectors), np.int32)
        index = faiss.IndexScalarQuantizer(
            dim, faiss.ScalarQuantizer.QT_fp16, faiss.METRIC_INNER_PRODUCT
        )
        if len(rows):
            index.add(np.stack([vectors[int(row)] for row in rows]).astype(np.float32))
        faiss.write_index(index, str(folder / FILE))
        np.save(folder / ROWS, rows)

    def __len__(self) -> int:
        return self._length

    def __contains__(self, document: int) -> bool:
        return document < len(self._place) and bool(self._place[document] >= 0)

    def put(self, document: int, vector: np.ndarray) -> None:
        """Set a document's vector.

        Args:
            document: Its number.
            vector: Shape (dim,), unit length.
        """
        if document in self and self._place[document] >= len(self._rows):
            self._matrix[self._place[document] - len(self._rows)] = vector
            return
        self.remove(document)
        slot = len(self._documents)
        if slot == len(self._matrix):
            grown = np.zeros((max(256, 2 * slot), self.dim), np.float32)
            grown[:slot] = self._matrix[:slot]
            self._matrix = grown
        if document >= len(self._place):
            more = np.full(max(256, document, len(self._place)), -1, np.int32)
            self._place = np.concatenate((self._place, more))
        self._matrix[slot] = vector
        self._documents.append(document)
        self._place[document] = len(self._rows) + slot
        self._length += 1

    def remove(self, document: int) -> np.ndarray | None:
        """Take a document's vector out.

        Args:
            document: Its number.

        Returns:
            The vector, shape (dim,), or None when it had none.
        """
        if document not in self:
            return None
        place, sealed = int(self._place[document]), len(self._rows)
        self._place[document] = -1
        self._length -= 1
        if place >= sealed:
            vector = self._matrix[place - sealed].copy()
            self._matrix[place - sealed] = 0
            self._documents.values[place - sealed] = -1
            return vector
        self._alive[place] = False
        return self._reconstruct(np.array([place]))[0]

    def _reconstruct(self, rows: np.ndarray) -> np.ndarray:
        assert self._index is not None  # only a sealed part has rows
        return np.asarray(self._index.reconstruct_batch(rows.astype(np.int64)), np.float32)

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
        if self._index is not None and self._alive.any():
            rows, scores = self._search(query, k, None if self._alive.all() else self._alive)
            documents.append(self._rows[rows])
            cosines.append(scores)
        held = self._documents.values
        if len(held):
            scores = self._matrix[: len(held)] @ query
            scores[held < 0] = -np.inf
            best = np.argpartition(-scores, k)[:k] if len(held) > k else np.arange(len(held))
            best = best[held[best] >= 0]
            documents.append(held[best])
            cosines.append(scores[best])
        if not documents:
            return np.zeros(0, np.int32), np.zeros(0, np.float32)
        return np.concatenate(documents), np.concatenate(cosines)

    def _search(
        self, query: np.ndarray, k: int, among: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Ask FAISS for the k nearest rows, among those that a mask allows; rows and cosines."""
        assert self._index is not None  # asked for by the callers
        # The setting is the calling thread's own. A second thread gains nothing on so few vectors,
        # and where another process keeps its core busy, it makes a search of 0.2 ms one of 10.
        faiss.omp_set_num_threads(1)
        params = None
        if among is not None:
            bits = np.packbits(among, bitorder="little")
            selector = faiss.IDSelectorBitmap(bits)  # type: ignore[call-arg,arg-type]  # stubs lag
            params = faiss.SearchParameters(sel=selector)  # type: ignore[call-arg]
        scores, rows = self._index.search(query[None, :], k, params=params)
        found = rows[0] >= 0
        return rows[0][found], scores[0][found]

    def cosines(self, query: np.ndarray, documents: np.ndarray) -> np.ndarray:
        """Score given documents.

        Args:
            query: Shape (dim,), unit length.
            documents: Document numbers, shape (n,).

        Returns:
            Shape (n,); NaN where a document has no vector.
        """
        out = np.full(len(documents), np.nan, np.float32)
        places = np.full(len(documents), -1, np.int32)
        known = documents < len(self._place)
        places[known] = self._place[documents[known]]
        tail = places >= len(self._rows)
        sealed = (places >= 0) & ~tail
        if tail.any():
            out[tail] = self._matrix[places[tail] - len(self._rows)] @ query
        if sealed.any():
            out[sealed] = self._sealed_cosines(query, places[sealed])
        return out

    def _sealed_cosines(self, query: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Score rows where they lie: to decode them for numpy takes ten times as long."""
        wanted = np.zeros(len(self._rows), bool)
        wanted[rows] = True
        found, scores = self._search(query, len(rows), wanted)
        by_row = np.full(len(self._rows), np.nan, np.float32)
        by_row[found] = scores
        return by_row[rows]
