"""Sealed vectors: three ways to find the nearest, by how many there are.

Half precision and every vector while there are few; then 4-bit codes of every vector (product
quantisation, scanned in registers) and the best of these once more, exactly; at last only the
codes in the nearest cells. What is "exact" comes from a matrix of bytes with a scale per row, read
where it lies in a mapped file: within 0.005 of the cosine.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import faiss
import numpy as np

from slowcat_memory.index.files.mapped import open_array
from slowcat_memory.index.options import IndexOptions

Kind = Literal["exact", "scan", "cells"]

VECTORS = "vectors"  # what the names of the dense part's files begin with
INDEX, ROWS, BYTES, SCALES = "faiss", "rows.npy", "i8.npy", "s.npy"
CHUNK = 20_000  # vectors in memory at a time while building
FEWEST = 256  # vectors that codes can be trained on
CODE_DIMS = 4  # dimensions that share a 4-bit code: 48 bytes a vector at 384
TRAINING = 32  # vectors per cell that place the cells; more gained nothing
PER_CODE = 10_000  # vectors that train the codes


def kind_for(count: int, dim: int, options: IndexOptions) -> Kind:
    """Choose how so many vectors are searched.

    Args:
        count: How many.
        dim: Their dimension.
        options: The index's options.

    Returns:
        The kind.
    """
    if count <= max(options.exact_to, FEWEST) or dim % CODE_DIMS:
        return "exact"
    return "scan" if count <= options.scan_to else "cells"


def cells_for(count: int) -> int:
    """Choose how many cells so many vectors are sorted into.

    Args:
        count: How many vectors.

    Returns:
        A power of two near 2 * sqrt(count).
    """
    return int(2 ** round(np.log2(2 * max(count, 1) ** 0.5)))


class SealedVectors:
    """Vectors in files, by row."""

    def __init__(self, folder: Path, options: IndexOptions, name: str = VECTORS) -> None:
        """Open them.

        Args:
            folder: Of a checked sealed index.
            options: The index's options.
            name: What the files' names begin with.
        """
        self.rows = open_array(folder / f"{name}.{ROWS}")
        self._index = faiss.read_index(str(folder / f"{name}.{INDEX}"))
        self._options = options
        self._halves: np.ndarray | None = None
        self._bytes = self._scales = np.zeros(0, np.int8)
        if (folder / f"{name}.{BYTES}").exists():
            self._bytes = open_array(folder / f"{name}.{BYTES}")
            self._scales = open_array(folder / f"{name}.{SCALES}")
        elif len(self.rows):
            codes = self._index.codes  # type: ignore[attr-defined]  # stubs lag; owned by the index, which lives as long as we do
            held = faiss.rev_swig_ptr(codes.data(), codes.size())
            self._halves = held.view(np.float16).reshape(len(self.rows), -1)
        self._cells = isinstance(self._index, faiss.IndexIVF)
        self._parameters = None
        if self._cells:
            self._parameters = faiss.SearchParametersIVF(nprobe=options.cells)  # type: ignore[call-arg]

    def __len__(self) -> int:
        return len(self.rows)

    def places(self, documents: np.ndarray) -> np.ndarray:
        """Find documents' rows.

        Args:
            documents: Numbers, shape (n,).

        Returns:
            Shape (n,), int64, -1 where a document has no row.
        """
        count = len(self.rows)
        if not count:
            return np.full(len(documents), -1)
        if self.rows[-1] == count - 1:  # every document has one
            return np.where(documents < count, documents, -1)
        wanted = documents.astype(np.int32)  # of another type, all rows would be converted
        found = self.rows.searchsorted(wanted)
        found[found == count] = 0
        return np.where(self.rows[found] == wanted, found, -1)

    def search(
        self, query: np.ndarray, k: int, alive: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Find the nearest rows.

        Args:
            query: Shape (dim,), unit length.
            k: How many at most.
            alive: A bit for each row, shape (rows / 8,), little end first; None for all.

        Returns:
            Rows and cosines, shape (n,) each, in no order.
        """
        # The setting is the calling thread's own. A second thread gains nothing on so few vectors,
        # and where another process keeps its core busy, it makes a search of 0.2 ms one of 10.
        faiss.omp_set_num_threads(1)
        if self._halves is not None:
            return self._ask(query, k, alive)
        rows = self._nearest(query, max(k, self._options.rescore), k, alive)
        cosines = self.cosines(query, rows)
        if len(rows) > k:
            best = np.argpartition(-cosines, k - 1)[:k]
            rows, cosines = rows[best], cosines[best]
        return rows, cosines

    def _nearest(
        self, query: np.ndarray, count: int, least: int, alive: np.ndarray | None
    ) -> np.ndarray:
        """Return so many rows that are nearest by code, or at least ``least`` of the living."""
        if alive is None or self._cells:
            return self._ask(query, count, alive)[0]
        while True:  # FAISS scans codes without a mask
            rows = self._ask(query, count, None)[0]
            living = rows[(alive[rows >> 3] >> (rows & 7).astype(np.uint8) & 1).astype(bool)]
            if len(living) >= least or count >= len(self.rows):
                return living
            count *= 4

    def _ask(
        self, query: np.ndarray, count: int, alive: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        parameters: Any = self._parameters
        if alive is not None:
            chosen = faiss.IDSelectorBitmap(alive)  # type: ignore[call-arg,arg-type]  # stubs lag
            parameters = (
                faiss.SearchParametersIVF(sel=chosen, nprobe=self._options.cells)  # type: ignore[call-arg]
                if self._cells
                else faiss.SearchParameters(sel=chosen)  # type: ignore[call-arg]
            )
        count = min(count, len(self.rows))
        scores, found = self._index.search(query[None, :], count, params=parameters)
        known = found[0] >= 0
        return found[0][known], scores[0][known]

    def cosines(self, query: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Score rows.

        Args:
            query: Shape (dim,), unit length.
            rows: Shape (n,).

        Returns:
            Shape (n,), float32.
        """
        if self._halves is not None:
            return self._halves[rows].astype(np.float32) @ query
        return (self._bytes[rows].astype(np.float32) @ query) * self._scales[rows]

    def vector(self, row: int) -> np.ndarray:
        """Return a row as it is kept.

        Args:
            row: The row.

        Returns:
            Shape (dim,), float32.
        """
        if self._halves is not None:
            return self._halves[row].astype(np.float32)
        return self._bytes[row].astype(np.float32) * self._scales[row]


def write(
    rows: np.ndarray,
    vectors: np.ndarray,
    folder: Path,
    options: IndexOptions,
    name: str = VECTORS,
) -> None:
    """Store vectors.

    Args:
        rows: Document numbers, rising, shape (n,).
        vectors: Unit vectors by document number, shape (documents, dim); may be a mapped file.
        folder: Where the files go.
        options: The index's options.
        name: What their names begin with.
    """
    faiss.omp_set_num_threads(1)
    dim = vectors.shape[1]
    kind = kind_for(len(rows), dim, options)
    index = _trained(kind, rows, vectors)
    for chunk in _chunks(rows, vectors):
        index.add(chunk)
    faiss.write_index(index, str(folder / f"{name}.{INDEX}"))
    np.save(folder / f"{name}.{ROWS}", rows.astype(np.int32))
    if kind != "exact":
        _write_bytes(rows, vectors, folder, name)


def _trained(kind: Kind, rows: np.ndarray, vectors: np.ndarray) -> faiss.Index:
    dim, metric = vectors.shape[1], faiss.METRIC_INNER_PRODUCT
    if kind == "exact":
        return faiss.IndexScalarQuantizer(dim, faiss.ScalarQuantizer.QT_fp16, metric)
    cells = cells_for(len(rows))
    if kind == "scan":
        index: faiss.Index = faiss.IndexPQFastScan(dim, dim // CODE_DIMS, 4, metric)
        index.train(_sample(rows, vectors, PER_CODE))
        return index
    index = faiss.index_factory(dim, f"IVF{cells},PQ{dim // CODE_DIMS}x4fs", metric)
    clustering = index.cp  # type: ignore[attr-defined]  # stubs lag
    clustering.niter, clustering.spherical, clustering.min_points_per_centroid = 6, True, 1
    index.train(_sample(rows, vectors, TRAINING * cells))
    return index


def _sample(rows: np.ndarray, vectors: np.ndarray, count: int) -> np.ndarray:
    step = max(1, len(rows) // count)
    return np.asarray(vectors[rows[::step][:count]], np.float32)


def _chunks(rows: np.ndarray, vectors: np.ndarray) -> Iterator[np.ndarray]:
    for start in range(0, len(rows), CHUNK):
        yield np.asarray(vectors[rows[start : start + CHUNK]], np.float32)


def _write_bytes(rows: np.ndarray, vectors: np.ndarray, folder: Path, name: str) -> None:
    scales = np.zeros(len(rows), np.float32)
    described = {"descr": "|i1", "fortran_order": False, "shape": (len(rows), vectors.shape[1])}
    with (folder / f"{name}.{BYTES}").open("wb") as file:
        np.lib.format.write_array_header_1_0(file, described)
        for place, chunk in enumerate(_chunks(rows, vectors)):
            part = slice(place * CHUNK, place * CHUNK + len(chunk))
            scales[part] = np.maximum(np.abs(chunk).max(axis=1), 1e-12) / 127
            file.write(np.rint(chunk / scales[part, None]).astype(np.int8).tobytes())
    np.save(folder / f"{name}.{SCALES}", scales)
