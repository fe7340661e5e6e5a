"""Vectors of documents and keys, over two generations: sealed ones in files, newer ones in a matrix.

A document's newest vector wins: one set after sealing tombstones the sealed one.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from slowcat_memory.core.text.normalize import digest
from slowcat_memory.index.format import split_key_id
from slowcat_memory.index.table import Column, open_array, open_or_empty
from slowcat_memory.records import Key

VECTORS = "vectors"  # prefix of the names of the dense part's files
DOCUMENTS, INDEX = "rows.npy", "faiss"
FORMS = ((200_000, "IVF{cells},PQ{parts}x4fs,Refine(SQ8)"), (5_000, "PQ{parts}x4fs,Refine(SQ8)"))
"""Vectors beyond which ``faiss.index_factory`` makes a form; "Flat" for fewer."""
CODE_DIMS = 4  # dimensions that share a 4-bit code: 48 bytes a vector at 384
REFINED = 4  # times as many vectors are compared exactly as are wanted
PROBED = 4  # the share of the cells that is searched is one of so many
CHUNK = 20_000  # vectors in memory at a time while building
PER_CODE, PER_CELL = 10_000, 50  # vectors that train the codes, and each cell


@contextmanager
def one_thread() -> Iterator[None]:
    """Have FAISS use the calling thread alone, in a block or a decorated function.

    A second thread gains nothing on so few vectors, and where another process keeps its core busy,
    it slows a search from 0.2 ms to 10. The caller's own setting is left as it was.
    """
    import faiss  # 31 ms and 15 MB, in the thread that opens or builds an index

    before = faiss.omp_get_max_threads()  # per calling thread
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)


class SealedVectors:
    """Vectors in files, by row.

    Attributes:
        documents: Each row's document number, rising.
    """

    @one_thread()
    def __init__(self, folder: Path, name: str = VECTORS) -> None:
        import faiss

        self.documents = open_array(folder / f"{name}.{DOCUMENTS}")
        path = str(folder / f"{name}.{INDEX}")
        index: Any = faiss.read_index(path, faiss.IO_FLAG_MMAP_IFC)
        # Where exact cosines are read. Decoding the codes of many rows at once takes a fifth of
        # ``reconstruct_batch``; the array is a view of memory that the index owns.
        refined = hasattr(index, "refine_index")
        exact: Any = faiss.downcast_index(index.refine_index) if refined else index
        self._index, self._exact = index, exact
        codes, width = exact.codes, exact.sa_code_size()
        self._codes = faiss.rev_swig_ptr(codes.data(), codes.size()).reshape(-1, width)

    def __len__(self) -> int:
        return len(self.documents)

    @one_thread()
    def vectors(self, rows: np.ndarray) -> np.ndarray:
        """Return rows as they are stored, shape (n, dim), float32."""
        vectors: np.ndarray = self._exact.sa_decode(self._codes.take(rows, axis=0))
        return vectors

    @one_thread()
    def nearest(self, query: np.ndarray, k: int, alive: np.ndarray) -> np.ndarray:
        """Return the k nearest documents whose row is alive, the nearest first, int64.

        ``alive`` has shape (rows,), bool. Fast scan knows no mask, so dead rows are searched too.
        """
        count, total = k, len(self)
        while True:
            rows = self._index.search(query[None, :], min(count, total))[1][0]
            living = rows[(rows >= 0) & alive[rows]]
            if len(living) >= k or count >= total:
                return self.documents[living[:k]].astype(np.int64)
            count *= 4


def form(count: int, dim: int) -> str:
    """Return the name for ``faiss.index_factory`` of the form of so many vectors."""
    for beyond, name in FORMS:
        if count > beyond and not dim % CODE_DIMS:
            return name.format(cells=round(count**0.5), parts=dim // CODE_DIMS)
    return "Flat"


class VectorSpool:
    """Collects the vectors of an index being built, two bytes for each value."""

    def __init__(self, folder: Path, name: str, dim: int) -> None:
        """Start with none. ``name`` is the prefix of the files to write."""
        self._folder, self._name, self._dim = folder, name, dim
        self._rows: np.ndarray | None = None
        self._has = np.zeros(0, bool)

    def put(self, number: int, count: int, vector: np.ndarray) -> None:
        """Add the vector of a document, shape (dim,), unit length.

        ``count`` is the number of documents, the same every time.
        """
        if self._rows is None:
            self._rows = np.zeros((count, self._dim), np.float16)
            self._has = np.zeros(count, bool)
        self._rows[number] = vector
        self._has[number] = True

    def finish(self) -> int:
        """Store the vectors in their searchable form; return how many. 0 writes nothing."""
        if self._rows is None:
            return 0
        documents = np.flatnonzero(self._has)
        write(documents, self._rows, self._folder, self._name)
        return len(documents)


@one_thread()
def write(documents: np.ndarray, vectors: np.ndarray, folder: Path, name: str = VECTORS) -> None:
    """Store vectors.

    Args:
        documents: Numbers of documents that have a vector, rising, shape (n,).
        vectors: Unit vectors by document number, shape (documents, dim).
    """
    import faiss

    count, dim = len(documents), vectors.shape[1]
    index: Any = faiss.index_factory(dim, form(count, dim), faiss.METRIC_INNER_PRODUCT)
    sample = PER_CODE
    if isinstance(index, faiss.IndexRefine):
        index.k_factor = REFINED
        if isinstance(cells := faiss.downcast_index(index.base_index), faiss.IndexIVF):
            cells.nprobe = max(1, cells.nlist // PROBED)
            sample = max(sample, PER_CELL * cells.nlist)
    if not index.is_trained:
        trained = documents[:: max(1, count // sample)][:sample]
        index.train(np.asarray(vectors[trained], np.float32))
    for start in range(0, count, CHUNK):
        index.add(np.asarray(vectors[documents[start : start + CHUNK]], np.float32))
    np.save(folder / f"{name}.{DOCUMENTS}", documents.astype(np.int32))
    faiss.write_index(index, str(folder / f"{name}.{INDEX}"))


class VectorView:
    """Vectors by document number."""

    def __init__(self, dim: int, sealed: SealedVectors | None = None) -> None:
        """Start with sealed vectors, or with none; ``dim`` is 0 without an embedder."""
        self.dim, self._sealed = dim, sealed
        self._alive = np.ones(len(sealed) if sealed else 0, bool)  # by sealed row
        self._matrix = Column(np.zeros((0, dim), np.float32))
        self._documents = Column(np.zeros(0, np.int64))  # of the matrix's rows; -1 once removed
        self._slots: dict[int, int] = {}  # by document: its row in the matrix

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
        present = np.zeros(count, bool)
        if self._sealed is not None:
            present[self._sealed.documents[self._alive]] = True
        present[[*self._slots]] = True
        return present

    def put(self, document: int, vector: np.ndarray) -> None:
        """Set a document's vector, shape (dim,), unit length."""
        if document in self._slots:
            self._matrix.values[self._slots[document]] = vector
            return
        self._tombstone(document)
        self._slots[document] = len(self._documents)
        self._documents.append(document)
        self._matrix.append(vector)

    def remove(self, document: int) -> np.ndarray | None:
        """Remove a document's vector and return it, shape (dim,), or None when it had none."""
        vector = self.vector(document)
        slot = self._slots.pop(document, None)
        if slot is None:
            self._tombstone(document)
        else:
            self._matrix.values[slot], self._documents[slot] = 0, -1
        return vector

    def renumber(self, old: int, new: int) -> None:
        vector = self.remove(old)
        if vector is not None:
            self.put(new, vector)

    def _tombstone(self, document: int) -> None:
        if (row := self._row(document)) >= 0:
            self._alive[row] = False

    def vector(self, document: int) -> np.ndarray | None:
        """Return a document's vector, shape (dim,), or None when it has none."""
        if (slot := self._slots.get(document)) is not None:
            return self._matrix.values[slot].copy()
        rows = self._rows(np.array([document]))
        return None if self._sealed is None or rows[0] < 0 else self._sealed.vectors(rows)[0]

    def nearest(self, query: np.ndarray, k: int) -> np.ndarray:
        """Return the numbers of up to k nearest documents in each generation, unordered, (n,).

        ``query`` has shape (dim,), unit length.
        """
        owners = self._documents.values
        cosines = np.einsum("ij,j->i", self._matrix.values, query)
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
        rows = self._rows(documents)
        sealed, cosines = rows >= 0, np.full(len(documents), np.nan, np.float32)
        # ``@`` would wake OpenBLAS, which spins a second core.
        if self._sealed is not None and sealed.any():
            cosines[sealed] = np.einsum("ij,j->i", self._sealed.vectors(rows[sealed]), query)
        others = documents[~sealed].tolist()
        slots = np.array([self._slots.get(document, -1) for document in others], int)
        known = slots >= 0
        cosines[np.flatnonzero(~sealed)[known]] = np.einsum(
            "ij,j->i", self._matrix.values[slots[known]], query
        )
        return cosines


# ------------------------------------------------------------------- keys of documents
# A hit on a key is a hit on its document. Keys are numbered like documents: sealed ones first, then
# those of the tail; a number is never used again. A document's keys follow it: they leave the index
# with it, and take its new number when it is promoted to the tail. A key's text is not stored, only
# its digest, which shows whether it changed.


COLUMNS = {"targets": np.int32, "names": np.int64, "digests": np.int64, "weights": np.float32}
"""The files of a view: each key's document, and the digests of its name and its text."""


class KeyView:
    """One view's keys, sealed and in the tail. Document numbers are ``targets`` here."""

    def __init__(self, view: str, dense: VectorView, sealed: Path | None = None) -> None:
        """Open the sealed keys of one of ``KEY_VIEWS``; ``dense`` has their vectors."""
        self._targets, self._names, self.digests, self._weights = (
            Column(open_or_empty(sealed, f"{view}.{name}", kind)) for name, kind in COLUMNS.items()
        )
        self._sealed = len(self._targets)
        self._alive = Column(np.ones(self._sealed, bool))
        self._tail: dict[int, list[int]] = {}  # by document: its keys in the tail
        self.dense = dense

    def write(self, folder: Path, view: str) -> None:
        """Store the keys, all of them living, of documents in the order of their numbers."""
        columns = (self._targets, self._names, self.digests, self._weights)
        for name, column in zip(COLUMNS, columns, strict=True):
            np.save(folder / f"{view}.{name}.npy", column.values)

    def __len__(self) -> int:
        return int(np.count_nonzero(self._alive.values))

    def of_document(self, target: int) -> dict[int, int]:
        """Return a document's keys by the digests of their names."""
        wanted = np.array([target, target + 1], np.int32)
        sealed = range(*self._targets.values[: self._sealed].searchsorted(wanted).tolist())
        numbers = (*sealed, *self._tail.get(target, ()))
        return {int(self._names[n]): n for n in numbers if self._alive[n]}

    def find(self, target: int, name: str) -> int:
        return self.of_document(target).get(digest(name), -1)

    def put(self, target: int, keys: Sequence[Key]) -> None:
        """Replace a document's keys. One whose text is unchanged keeps its vector."""
        wanted = {digest(split_key_id(key.id)[1]): key for key in keys}
        for name, number in self.of_document(target).items():
            key = wanted.get(name)
            if key is None or self.digests[number] != digest(key.text):
                self._drop(number)
            else:
                self._weights[number] = wanted.pop(name).weight
        for name, key in wanted.items():
            self._append(target, name, key.weight, digest(key.text))

    def remove(self, target: int) -> None:
        for number in self.of_document(target).values():
            self._drop(number)
        self._tail.pop(target, None)

    def renumber(self, old: int, new: int) -> None:
        """Move the keys of document ``old`` to ``new``, its new number."""
        for name, number in self.of_document(old).items():
            added = self._append(new, name, self._weights[number], int(self.digests[number]))
            self.dense.renumber(number, added)
        self.remove(old)

    def _append(self, target: int, name: int, weight: float, hashed: int) -> int:
        number = len(self._targets)
        self._targets.append(target)
        self._names.append(name)
        self.digests.append(hashed)
        self._weights.append(weight)
        self._alive.append(True)
        self._tail.setdefault(target, []).append(number)
        return number

    def _drop(self, number: int) -> None:
        self.dense.remove(number)
        self._alive[number] = False

    def without_vector(self) -> np.ndarray:
        """Return the document of each key that has no vector."""
        return self._targets.values[self._alive.values & ~self.dense.present(len(self._targets))]

    def nearest(self, query: np.ndarray, k: int) -> np.ndarray:
        """Return the documents of the k nearest keys of each generation, unordered, not unique."""
        numbers = np.sort(self.dense.nearest(query, k))
        return self._targets.values[numbers[self._alive.values[numbers]]].astype(np.int64)

    def best_cosines(self, query: np.ndarray, documents: np.ndarray) -> np.ndarray:
        """Return each document's best key: cosine times weight.

        ``documents`` are rising numbers, shape (n,). The result has shape (n,), float32; NaN for
        documents without a key vector.
        """
        places, weights, cosines = self._compare(query, documents)
        best = np.full(len(documents), np.nan, np.float32)
        np.fmax.at(best, places, weights * cosines)
        return best

    def sum_votes(self, query: np.ndarray, documents: np.ndarray, same: float) -> np.ndarray:
        """Sum the weights of the keys that mean the same as the query, shape (n,), float32.

        A key means the same from the cosine ``same`` on. Its weight is multiplied by how far its
        cosine is beyond ``same``, 0 to 1; the sum is 0 without a key. ``documents`` are rising
        numbers, shape (n,).
        """
        places, weights, cosines = self._compare(query, documents)
        total = np.zeros(len(documents), np.float32)
        beyond = np.fmax(cosines - same, 0.0) / (1 - same)
        np.add.at(total, places, weights * beyond)
        return total

    def _compare(
        self, query: np.ndarray, documents: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return, for each key of the documents: document position, weight, cosine."""
        numbers, places = self._pointing_to(documents)
        return places, self._weights.values[numbers], self.dense.cosines(query, numbers)

    def _pointing_to(self, documents: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the living keys of documents, rising, and the position of each one's document."""
        sealed = self._targets.values[: self._sealed]
        wanted = documents.astype(sealed.dtype)  # of another type, all targets would be converted
        first = sealed.searchsorted(wanted)
        counts = sealed.searchsorted(wanted, side="right") - first
        # One run of sealed keys per document, all runs concatenated.
        places = np.repeat(np.arange(len(documents)), counts)
        numbers = np.arange(len(places)) + np.repeat(first - np.cumsum(counts) + counts, counts)
        tail = self._targets.values[len(sealed) :]
        if len(tail) and len(documents):
            at = documents.searchsorted(tail)
            at[at == len(documents)] = 0
            hits = np.flatnonzero(documents[at] == tail)
            numbers = np.concatenate((numbers, hits + len(sealed)))
            places = np.concatenate((places, at[hits]))
        living = self._alive.values[numbers]
        return numbers[living], places[living]
