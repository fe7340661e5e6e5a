"""Sealed vectors in files: three ways to find the nearest, chosen by their number.

While there are few: all vectors in half precision. Then 4-bit codes of every vector, the best of
which are rescored exactly. With many: only the codes in the nearest cells, by FAISS. "Exact" scores
come from a matrix of bytes with a scale per row, read from a mapped file: within 0.005 of the
cosine. Versions before 0.2 stored all three for FAISS, which then searches them.
"""

from pathlib import Path
from typing import Any, Protocol

import numpy as np

from slowcat_memory.index.files.arrays import open_array
from slowcat_memory.index.options import IndexOptions
from slowcat_memory.index.vectors.one_thread import one_thread
from slowcat_memory.kernels.code_scan import CodedRows
from slowcat_memory.kernels.dense import VectorArrays

VECTORS = "vectors"  # prefix of the names of the dense part's files
DOCUMENTS, HALVES, BYTES, SCALES = "rows.npy", "f16.npy", "i8.npy", "s.npy"
CODES, CENTROIDS, INDEX = "codes.npy", "centroids.npy", "faiss"


class Searched(Protocol):
    """What finds the nearest rows without comparing all of them."""

    def nearest(
        self, vectors: VectorArrays, query: np.ndarray, k: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the k nearest documents with a living row, unordered, with their cosines."""


class FaissRows:
    """The codes of sealed rows in an index of FAISS."""

    def __init__(self, index: Any, options: IndexOptions) -> None:
        self._index, self._options = index, options

    @one_thread
    def nearest(
        self, vectors: VectorArrays, query: np.ndarray, k: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the k nearest documents with a living row, unordered, with their cosines."""
        import faiss

        count, total = max(k, self._options.rescore), self._index.ntotal
        if isinstance(self._index, faiss.IndexIVF):
            chosen = faiss.IDSelectorBitmap(vectors.alive)  # type: ignore[call-arg,arg-type]  # stubs lag
            cells = faiss.SearchParametersIVF(sel=chosen, nprobe=self._options.cells)  # type: ignore[call-arg]
            return vectors.owners_and_cosines(query, self._search(query, count, cells), k)
        while True:  # FAISS scans codes without a mask
            rows = self._search(query, count, None)
            living = rows[(vectors.alive[rows >> 3] >> (rows & 7).astype(np.uint8) & 1) > 0]
            if len(living) >= k or count >= total:
                return vectors.owners_and_cosines(query, living, k)
            count *= 4

    def _search(self, query: np.ndarray, count: int, parameters: Any) -> np.ndarray:
        count = min(count, self._index.ntotal)
        found = self._index.search(query[None, :], count, params=parameters)[1][0]
        return found[found >= 0]


class SealedVectors:
    """Vectors in files, by row.

    Attributes:
        documents: Each row's document number, rising.
        sparse: The same; None where a row's number is its document's.
        matrix: The rows, for exact cosines: float16, or int8 with ``scales``.
        scales: What each row of bytes is multiplied by; None for float16.
        searched: What finds the nearest rows; None where every row is compared.
    """

    def __init__(self, folder: Path, options: IndexOptions, name: str = VECTORS) -> None:
        self.documents = self._open(folder, name, DOCUMENTS)
        dense = len(self.documents) and self.documents[-1] == len(self.documents) - 1
        self.sparse = None if dense else self.documents
        self.scales: np.ndarray | None = None
        self.searched: Searched | None = None
        if (folder / f"{name}.{HALVES}").exists():
            self.matrix = self._open(folder, name, HALVES)
        elif (folder / f"{name}.{BYTES}").exists():
            self.matrix = self._open(folder, name, BYTES)
            self.scales = self._open(folder, name, SCALES)
            self.searched = self._codes(folder, name, options)
        else:
            self.matrix = self._halves_of_faiss(folder, name)

    @staticmethod
    def _open(folder: Path, name: str, kind: str) -> np.ndarray:
        return open_array(folder / f"{name}.{kind}")

    def _codes(self, folder: Path, name: str, options: IndexOptions) -> Searched:
        if (folder / f"{name}.{CODES}").exists():
            codes, centroids = (self._open(folder, name, kind) for kind in (CODES, CENTROIDS))
            return CodedRows(codes, centroids, options.rescore)
        import faiss  # 0.1 s and 30 MB, for the largest indexes alone

        return FaissRows(faiss.read_index(str(folder / f"{name}.{INDEX}")), options)

    def _halves_of_faiss(self, folder: Path, name: str) -> np.ndarray:
        """Read the rows of an index of an earlier version."""
        import faiss

        self._index = faiss.read_index(str(folder / f"{name}.{INDEX}"))  # owns the memory
        codes = self._index.codes  # type: ignore[attr-defined]  # stubs lag
        raw = faiss.rev_swig_ptr(codes.data(), codes.size())
        return raw.view(np.float16).reshape(len(self.documents), self._index.d)

    def __len__(self) -> int:
        return len(self.documents)

    def vector(self, row: int) -> np.ndarray:
        """Return a row as it is stored, shape (dim,), float32."""
        vector = self.matrix[row].astype(np.float32)
        return vector if self.scales is None else vector * self.scales[row]
