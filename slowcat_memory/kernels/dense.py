"""Nearest vectors and cosines. No BLAS: OpenBLAS spins a second core meanwhile."""

import ctypes

import numpy as np

from slowcat_memory.kernels.library import INT, POINTER, Function, address

_cosines = Function("cosines", POINTER, POINTER, INT, POINTER, POINTER)
_row_cosines = Function("row_cosines", POINTER, POINTER, INT, POINTER, POINTER)
# Without Python's lock: a scan of 4,000 rows takes a tenth of a millisecond, one of a long tail more.
_nearest = Function(
    "nearest", POINTER, POINTER, INT, INT, POINTER, POINTER, result=INT, keeps_lock=False
)

_NONE = np.zeros(0, np.int32)


class _Fields(ctypes.Structure):
    """``vector_arrays`` in vectors.h."""

    _fields_ = [
        ("width", ctypes.c_int64),
        ("rows", ctypes.c_int64),
        *((name, ctypes.c_void_p) for name in (
            "documents", "alive", "matrix", "scales", "tail", "owners")),
        ("tail_rows", ctypes.c_int64),
        ("slots", ctypes.c_void_p),
        ("slots_count", ctypes.c_int64),
    ]  # fmt: skip


class VectorArrays:
    """Flat arrays of unit vectors: sealed rows, and those of a tail. A document has one of them."""

    def __init__(self, dim: int) -> None:
        """Start with none."""
        self._fields = _Fields(width=dim)
        self._dim = dim
        self._documents: np.ndarray | None = None
        self._matrix: np.ndarray = np.zeros((0, dim), np.float16)
        self._scales: np.ndarray | None = None
        self.alive = np.zeros(0, np.uint8)
        self.slots = _NONE
        self._tail, self._owners = np.zeros((0, dim), np.float32), np.zeros(0, np.int64)
        self.at = ctypes.addressof(self._fields)

    def seal(
        self,
        documents: np.ndarray | None,
        alive: np.ndarray,
        matrix: np.ndarray,
        scales: np.ndarray | None,
    ) -> None:
        """Set the sealed rows.

        Args:
            documents: Each row's document, rising, shape (rows,), int32; None where a row's number
                is its document's.
            alive: A bit for each row, shape (rows / 8,), little end first; it may change.
            matrix: Shape (rows, dim), C-contiguous: float16, or int8 with ``scales``.
            scales: Shape (rows,), float32, what a row of bytes is multiplied by; None for float16.
        """
        self._documents, self.alive = documents, alive
        self._matrix, self._scales = matrix, scales
        fields = self._fields
        fields.rows, fields.alive, fields.matrix = len(matrix), address(alive), address(matrix)
        fields.documents = None if documents is None else address(documents)
        fields.scales = None if scales is None else address(scales)

    def set_tail(self, matrix: np.ndarray, owners: np.ndarray, slots: np.ndarray) -> None:
        """Set the arrays of the tail, which may change in place until this is called again.

        Args:
            matrix: Shape (m or more, dim), float32.
            owners: Each row's document, -1 for none, shape (m,), int64.
            slots: By document: its row counted from 1, 0 for none, shape (n,), int32.
        """
        self._tail, self._owners, self.slots = matrix, owners, slots
        fields = self._fields
        fields.tail, fields.owners, fields.slots = address(matrix), address(owners), address(slots)
        fields.tail_rows, fields.slots_count = len(owners), len(slots)

    def row_cosines(self, query: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return the cosines of sealed rows, shape (n,), int64; the result is float32."""
        call = _row_cosines.compiled
        if call is None:
            return self._compare(query, rows)
        out = np.empty(len(rows), np.float32)
        call(self.at, address(rows), len(rows), address(query), address(out))
        return out

    def living_rows(self) -> np.ndarray:
        """Return the sealed rows that are not dead, rising, int64."""
        return np.flatnonzero(np.unpackbits(self.alive, count=self._fields.rows, bitorder="little"))

    def owners_and_cosines(
        self, query: np.ndarray, rows: np.ndarray, k: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the documents of the k nearest of some sealed rows, with their cosines."""
        owners = rows if self._documents is None else self._documents[rows].astype(np.int64)
        return _best(owners, self.row_cosines(query, rows), k)

    def cosines(self, query: np.ndarray, documents: np.ndarray) -> np.ndarray:
        """Return the cosines of documents, shape (n,), float32; NaN for one without a vector.

        ``query`` has shape (dim,), float32; ``documents`` shape (n,), int64.
        """
        call = _cosines.compiled
        if call is None:
            return self._cosines(query, documents)
        out = np.empty(len(documents), np.float32)
        call(self.at, address(documents), len(documents), address(query), address(out))
        return out

    def nearest(self, query: np.ndarray, k: int, *, sealed: bool) -> tuple[np.ndarray, np.ndarray]:
        """Return the k nearest documents of the tail, unordered, with their cosines.

        The result has shape (n,) each, int64 and float32. ``sealed`` adds the k nearest sealed
        rows' documents: every one is compared.
        """
        call = _nearest.compiled
        if call is None:
            return self._nearest(query, k, sealed)
        k = min(k, self._fields.rows + self._fields.tail_rows)
        room = 2 * k * (2 if sealed else 1)
        documents, cosines = np.empty(room, np.int64), np.empty(room, np.float32)
        count = call(self.at, address(query), k, sealed, address(documents), address(cosines))
        return documents[:count], cosines[:count]

    # ---------------------------------------------------------------- the reference

    def _compare(self, query: np.ndarray, rows: np.ndarray) -> np.ndarray:
        found = np.einsum("ij,j->i", self._matrix[rows].astype(np.float32), query)
        return found if self._scales is None else found * self._scales[rows]

    def _cosines(self, query: np.ndarray, documents: np.ndarray) -> np.ndarray:
        out = np.full(len(documents), np.nan, np.float32)
        rows = self.rows_of(documents)
        there = np.flatnonzero(rows >= 0)
        out[there] = self._compare(query, rows[there])
        known = np.flatnonzero(documents < len(self.slots))
        slots = self.slots[documents[known]]
        known, slots = known[slots > 0], slots[slots > 0]
        out[known] = np.einsum("ij,j->i", self._tail[slots - 1], query)
        return out

    def rows_of(self, documents: np.ndarray) -> np.ndarray:
        """Return the living sealed rows of documents, shape (n,), int64; -1 for none."""
        count = self._fields.rows
        if not count:
            return np.full(len(documents), -1)
        if self._documents is None:
            rows = np.where(documents < count, documents, -1)
        else:
            wanted = documents.astype(np.int32)  # of another type, all rows would be converted
            found = self._documents.searchsorted(wanted)
            found[found == count] = 0
            rows = np.where(self._documents[found] == wanted, found, -1)
        alive = self.alive[rows >> 3] >> (rows & 7).astype(np.uint8) & 1
        return np.where(alive.astype(bool), rows, -1)

    def _nearest(self, query: np.ndarray, k: int, sealed: bool) -> tuple[np.ndarray, np.ndarray]:
        parts = []
        if sealed:
            parts.append(self.owners_and_cosines(query, self.living_rows(), k))
        rows = np.flatnonzero(self._owners >= 0)
        cosines = np.einsum("ij,j->i", self._tail[rows], query)
        parts.append(_best(self._owners[rows], cosines, k))
        documents, scores = zip(*parts, strict=True)
        return np.concatenate(documents), np.concatenate(scores)


def _best(documents: np.ndarray, cosines: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    if len(documents) > k:
        best = np.argpartition(-cosines, k - 1)[:k]
        documents, cosines = documents[best], cosines[best]
    return documents, cosines
