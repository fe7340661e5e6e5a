"""Writes sealed vectors in one of two forms, by their number; see ``sealed_vectors``.

FAISS trains the codes: this runs in the process that builds an index.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from slowcat_memory.index.options import IndexOptions
from slowcat_memory.index.vectors.sealed_vectors import (
    BYTES,
    CENTROIDS,
    CODES,
    DOCUMENTS,
    HALVES,
    SCALES,
    VECTORS,
    one_thread,
)
from slowcat_memory.kernels.code_scan import WORDS, blocks_of

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
