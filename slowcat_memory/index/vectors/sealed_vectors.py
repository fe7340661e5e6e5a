"""Sealed vectors: three ways to find the nearest, chosen by their number.

While there are few: all vectors in half precision. Then 4-bit codes of every vector (product
quantisation, scanned in registers), the best of which are rescored exactly. With many: only the
codes in the nearest cells. "Exact" scores come from a matrix of bytes with a scale per row, read
from a mapped file: within 0.005 of the cosine.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import faiss
import numpy as np

from slowcat_memory.index.files.arrays import open_array
from slowcat_memory.index.options import IndexOptions
from slowcat_memory.index.vectors.one_thread import one_thread

Kind = Literal["exact", "scan", "cells"]

VECTORS = "vectors"  # prefix of the names of the dense part's files
INDEX, DOCUMENTS, BYTES, SCALES = "faiss", "rows.npy", "i8.npy", "s.npy"
CHUNK = 20_000  # vectors in memory at a time while building
FEWEST = 256  # vectors that codes can be trained on
CODE_DIMS = 4  # dimensions that share a 4-bit code: 48 bytes a vector at 384
TRAINING = 32  # vectors per cell that train the cells; more gained nothing
PER_CODE = 10_000  # vectors that train the codes


def kind_for(count: int, dim: int, options: IndexOptions) -> Kind:
    if count <= max(options.exact_to, FEWEST) or dim % CODE_DIMS:
        return "exact"
    return "scan" if count <= options.scan_to else "cells"


def cells_for(count: int) -> int:
    """Return the number of cells for ``count`` vectors: a power of two near 2 * sqrt(count)."""
    return int(2 ** round(np.log2(2 * max(count, 1) ** 0.5)))


class SealedVectors:
    """Vectors in files, by row; ``documents`` has each row's document number, rising."""

    def __init__(self, folder: Path, options: IndexOptions, name: str = VECTORS) -> None:
        self.documents = open_array(folder / f"{name}.{DOCUMENTS}")
        self._index = faiss.read_index(str(folder / f"{name}.{INDEX}"))
        self._options = options
        self._halves: np.ndarray | None = None
        self._bytes = self._scales = np.zeros(0, np.int8)
        if (folder / f"{name}.{BYTES}").exists():
            self._bytes = open_array(folder / f"{name}.{BYTES}")
            self._scales = open_array(folder / f"{name}.{SCALES}")
        elif len(self.documents):
            codes = self._index.codes  # type: ignore[attr-defined]  # stubs lag; owned by the index, which lives as long as we do
            raw = faiss.rev_swig_ptr(codes.data(), codes.size())
            self._halves = raw.view(np.float16).reshape(len(self.documents), -1)
        self._cells = isinstance(self._index, faiss.IndexIVF)
        self._parameters = None
        if self._cells:
            self._parameters = faiss.SearchParametersIVF(nprobe=options.cells)  # type: ignore[call-arg]

    def __len__(self) -> int:
        return len(self.documents)

    def rows_of(self, documents: np.ndarray) -> np.ndarray:
        """Return the rows of documents, shape (n,), int64; -1 for a document without a row."""
        count = len(self.documents)
        if not count:
            return np.full(len(documents), -1)
        if self.documents[-1] == count - 1:  # every document has one
            return np.where(documents < count, documents, -1)
        wanted = documents.astype(np.int32)  # of another type, all rows would be converted
        found = self.documents.searchsorted(wanted)
        found[found == count] = 0
        return np.where(self.documents[found] == wanted, found, -1)

    @one_thread
    def search(
        self, query: np.ndarray, k: int, alive: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return rows and cosines of up to ``k`` nearest rows, shape (n,) each, unordered.

        Args:
            query: Shape (dim,), unit length.
            alive: A bit for each row, shape (rows / 8,), little end first; None for all.
        """
        if self._halves is not None:
            return self._search_faiss(query, k, alive)
        rows = self._nearest_by_code(query, max(k, self._options.rescore), k, alive)
        cosines = self.cosines(query, rows)
        if len(rows) > k:
            best = np.argpartition(-cosines, k - 1)[:k]
            rows, cosines = rows[best], cosines[best]
        return rows, cosines

    def _nearest_by_code(
        self, query: np.ndarray, count: int, least: int, alive: np.ndarray | None
    ) -> np.ndarray:
        """Return ``count`` rows that are nearest by code, at least ``least`` living ones."""
        if alive is None or self._cells:
            return self._search_faiss(query, count, alive)[0]
        while True:  # FAISS scans codes without a mask
            rows = self._search_faiss(query, count, None)[0]
            living = rows[(alive[rows >> 3] >> (rows & 7).astype(np.uint8) & 1).astype(bool)]
            if len(living) >= least or count >= len(self.documents):
                return living
            count *= 4

    def _search_faiss(
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
        count = min(count, len(self.documents))
        scores, found = self._index.search(query[None, :], count, params=parameters)
        known = found[0] >= 0
        return found[0][known], scores[0][known]

    def cosines(self, query: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return the cosines of rows with a unit vector, shape (n,), float32."""
        if self._halves is not None:
            return self._halves[rows].astype(np.float32) @ query
        return (self._bytes[rows].astype(np.float32) @ query) * self._scales[rows]

    def vector(self, row: int) -> np.ndarray:
        """Return a row as it is stored, shape (dim,), float32."""
        if self._halves is not None:
            return self._halves[row].astype(np.float32)
        return self._bytes[row].astype(np.float32) * self._scales[row]


class VectorSpool:
    """Collects the vectors of an index being built in a file, so that memory stays bounded."""

    def __init__(self, folder: Path, name: str, dim: int) -> None:
        """Start with none, and no file. ``name`` is the prefix of the files to write."""
        self._folder, self._name, self._dim = folder, name, dim
        self._rows: np.memmap | None = None
        self._has = np.zeros(0, bool)

    @property
    def _path(self) -> Path:
        return self._folder / f"{self._name}.spool.f16"

    def put(self, number: int, count: int, vector: np.ndarray) -> None:
        """Add the vector of a document, shape (dim,), unit length.

        ``count`` is the number of documents, the same every time.
        """
        if self._rows is None:
            with self._path.open("wb") as file:
                if hasattr(os, "posix_fallocate"):  # else a full disk kills the process by SIGBUS
                    os.posix_fallocate(file.fileno(), 0, 2 * count * self._dim)
            shape = (count, self._dim)
            self._rows = np.memmap(self._path, mode="r+", dtype=np.float16, shape=shape)
            self._has = np.zeros(count, bool)
        self._rows[number] = vector
        self._has[number] = True

    def finish(self, options: IndexOptions) -> int:
        """Store the vectors in their searchable form; return how many. 0 writes nothing."""
        if self._rows is None:
            return 0
        documents = np.flatnonzero(self._has)
        write(documents, self._rows, self._folder, options, self._name)
        self._rows = None
        self._path.unlink()
        return len(documents)


def write(
    documents: np.ndarray,
    vectors: np.ndarray,
    folder: Path,
    options: IndexOptions,
    name: str = VECTORS,
) -> None:
    """Store vectors.

    Args:
        documents: Numbers of documents that have a vector, rising, shape (n,).
        vectors: Unit vectors by document number, shape (documents, dim); may be a mapped file.
    """
    faiss.omp_set_num_threads(1)
    kind = kind_for(len(documents), vectors.shape[1], options)
    index = _train(kind, documents, vectors)
    for chunk in _chunks(documents, vectors):
        index.add(chunk)
    faiss.write_index(index, str(folder / f"{name}.{INDEX}"))
    np.save(folder / f"{name}.{DOCUMENTS}", documents.astype(np.int32))
    if kind != "exact":
        _write_bytes(documents, vectors, folder, name)


def _train(kind: Kind, documents: np.ndarray, vectors: np.ndarray) -> faiss.Index:
    dim, metric = vectors.shape[1], faiss.METRIC_INNER_PRODUCT
    if kind == "exact":
        return faiss.IndexScalarQuantizer(dim, faiss.ScalarQuantizer.QT_fp16, metric)
    cells = cells_for(len(documents))
    if kind == "scan":
        index: faiss.Index = faiss.IndexPQFastScan(dim, dim // CODE_DIMS, 4, metric)
        index.train(_sample(documents, vectors, PER_CODE))
        return index
    index = faiss.index_factory(dim, f"IVF{cells},PQ{dim // CODE_DIMS}x4fs", metric)
    clustering = index.cp  # type: ignore[attr-defined]  # stubs lag
    clustering.niter, clustering.spherical, clustering.min_points_per_centroid = 6, True, 1
    index.train(_sample(documents, vectors, TRAINING * cells))
    return index


def _sample(documents: np.ndarray, vectors: np.ndarray, count: int) -> np.ndarray:
    step = max(1, len(documents) // count)
    return np.asarray(vectors[documents[::step][:count]], np.float32)


def _chunks(documents: np.ndarray, vectors: np.ndarray) -> Iterator[np.ndarray]:
    for start in range(0, len(documents), CHUNK):
        yield np.asarray(vectors[documents[start : start + CHUNK]], np.float32)


def _write_bytes(documents: np.ndarray, vectors: np.ndarray, folder: Path, name: str) -> None:
    scales = np.zeros(len(documents), np.float32)
    shape = (len(documents), vectors.shape[1])
    with (folder / f"{name}.{BYTES}").open("wb") as file:
        header = {"descr": "|i1", "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(file, header)
        for place, chunk in enumerate(_chunks(documents, vectors)):
            part = slice(place * CHUNK, place * CHUNK + len(chunk))
            scales[part] = np.maximum(np.abs(chunk).max(axis=1), 1e-12) / 127
            file.write(np.rint(chunk / scales[part, None]).astype(np.int8).tobytes())
    np.save(folder / f"{name}.{SCALES}", scales)
