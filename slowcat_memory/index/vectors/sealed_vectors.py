"""Sealed vectors in files: two ways to find the nearest, chosen by their number.

While there are few: all vectors in half precision. Then 4-bit codes of every vector, the best of
which are rescored exactly. "Exact" scores come from a matrix of bytes with a scale per row, read
from a mapped file: within 0.005 of the cosine.
"""

import functools
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numpy as np

from slowcat_memory.index.files.arrays import open_array
from slowcat_memory.index.options import IndexOptions
from slowcat_memory.kernels import library
from slowcat_memory.kernels.code_scan import WORDS, CodedRows, blocks_of
from slowcat_memory.kernels.dense import VectorArrays

VECTORS = "vectors"  # prefix of the names of the dense part's files
DOCUMENTS, HALVES, BYTES, SCALES = "rows.npy", "f16.npy", "i8.npy", "s.npy"
CODES, CENTROIDS = "codes.npy", "centroids.npy"


P = ParamSpec("P")
T = TypeVar("T")


def one_thread(call: Callable[P, T]) -> Callable[P, T]:
    """Make a function that uses FAISS use the calling thread alone.

    A second thread gains nothing on so few vectors, and where another process keeps its core busy,
    it slows a search from 0.2 ms to 10. The caller's own setting is left as it was.
    """

    @functools.wraps(call)
    def limited(*arguments: P.args, **more: P.kwargs) -> T:
        import faiss  # only namespaces with many vectors need it

        before = faiss.omp_get_max_threads()  # per calling thread
        faiss.omp_set_num_threads(1)
        try:
            return call(*arguments, **more)
        finally:
            faiss.omp_set_num_threads(before)

    return limited


class FaissRows:
    """The codes of sealed rows in an index of FAISS, where there is no compiled library."""

    def __init__(self, index: Any, options: IndexOptions) -> None:
        self._index, self._options = index, options

    @one_thread
    def nearest(
        self, vectors: VectorArrays, query: np.ndarray, k: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the k nearest documents with a living row, unordered, with their cosines."""
        count, total = max(k, self._options.rescore), self._index.ntotal
        while True:  # FAISS scans codes without a mask
            rows = self._index.search(query[None, :], min(count, total))[1][0]
            living = rows[(vectors.alive[rows >> 3] >> (rows & 7).astype(np.uint8) & 1) > 0]
            if len(living) >= k or count >= total:
                return vectors.owners_and_cosines(query, living, k)
            count *= 4


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
        self.searched: CodedRows | FaissRows | None = None
        if (folder / f"{name}.{HALVES}").exists():
            self.matrix = self._open(folder, name, HALVES)
        else:
            self.matrix = self._open(folder, name, BYTES)
            self.scales = self._open(folder, name, SCALES)
            self.searched = self._codes(folder, name, options)

    @staticmethod
    def _open(folder: Path, name: str, kind: str) -> np.ndarray:
        return open_array(folder / f"{name}.{kind}")

    def _codes(self, folder: Path, name: str, options: IndexOptions) -> CodedRows | FaissRows:
        codes, centroids = (self._open(folder, name, kind) for kind in (CODES, CENTROIDS))
        if library.is_compiled():
            return CodedRows(codes, centroids, options.rescore)
        return FaissRows(_index_of(codes, centroids, self.matrix.shape), options)

    def __len__(self) -> int:
        return len(self.documents)

    def vector(self, row: int) -> np.ndarray:
        """Return a row as it is stored, shape (dim,), float32."""
        vector = self.matrix[row].astype(np.float32)
        return vector if self.scales is None else vector * self.scales[row]


def _index_of(codes: np.ndarray, centroids: np.ndarray, shape: tuple[int, ...]) -> Any:
    import faiss  # 0.1 s and 30 MB

    rows, dim = shape
    parts = dim // centroids.shape[2]
    index: Any = faiss.IndexPQ(dim, parts, 4, faiss.METRIC_INNER_PRODUCT)  # stubs lag
    by_row = np.ascontiguousarray(codes.transpose(0, 2, 1)).reshape(-1)[: rows * codes.shape[1]]
    faiss.copy_array_to_vector(centroids[:parts].reshape(-1).copy(), index.pq.centroids)
    faiss.copy_array_to_vector(by_row, index.codes)
    index.ntotal, index.is_trained = rows, True
    return faiss.IndexPQFastScan(index)


# ------------------------------------------------------------------- writing
# Writes sealed vectors in one of two forms, by their number; see ``sealed_vectors``.
#
# FAISS trains the codes: this runs in the process that builds an index.


CHUNK = 20_000  # vectors in memory at a time while building
FEWEST = 256  # vectors that codes can be trained on
CODE_DIMS = 4  # dimensions that share a 4-bit code: 48 bytes a vector at 384
PER_CODE = 10_000  # vectors that train the codes


def has_codes(count: int, dim: int, options: IndexOptions) -> bool:
    """Return whether so many vectors are searched by codes, not compared one by one."""
    return count > max(options.exact_to, FEWEST) and not dim % CODE_DIMS


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


@one_thread
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
    np.save(folder / f"{name}.{DOCUMENTS}", documents.astype(np.int32))
    if has_codes(len(documents), vectors.shape[1], options):
        _write_bytes(documents, vectors, folder, name)
        _write_codes(documents, vectors, folder, name)
    else:
        np.save(folder / f"{name}.{HALVES}", np.asarray(vectors[documents], np.float16))


def _write_codes(documents: np.ndarray, vectors: np.ndarray, folder: Path, name: str) -> None:
    import faiss  # only the process that builds an index pays for it

    dim = vectors.shape[1]
    parts = dim // CODE_DIMS
    quantizer: Any = faiss.ProductQuantizer(dim, parts, 4)  # stubs lag
    quantizer.train(_sample(documents, vectors, PER_CODE))
    codes = [quantizer.compute_codes(chunk) for chunk in _chunks(documents, vectors)]
    np.save(folder / f"{name}.{CODES}", blocks_of(np.concatenate(codes)))
    centroids = np.zeros((parts + parts % 2, WORDS, CODE_DIMS), np.float32)
    centroids[:parts] = faiss.vector_to_array(quantizer.centroids).reshape(parts, WORDS, CODE_DIMS)
    np.save(folder / f"{name}.{CENTROIDS}", centroids)


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
