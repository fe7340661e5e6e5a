"""The sealed vectors whose 4-bit codes are nearest to a query, compared exactly after that.

A vector is cut into parts of some dimensions, and each part is coded by the nearest of 16 centroids
(product quantisation): a query's product with a row is a sum of table entries, one for each part,
which a processor looks up 16 to 64 at a time. Codes are stored in blocks of 64 rows: for each pair
of parts a byte a row, the first part in its low half.
"""

import numpy as np

from slowcat_memory.kernels.dense import VectorArrays
from slowcat_memory.kernels.library import INT, POINTER, Function, address

BLOCK, WORDS, HIGHEST = 64, 16, 63  # as in code_scan.c

# Without Python's lock: 100,000 rows take a fifth of a millisecond.
_nearest = Function(
    "nearest_coded", *[POINTER] * 3, INT, INT, POINTER, INT, INT, *[POINTER] * 6,
    result=INT, keeps_lock=False,
)  # fmt: skip


def blocks_of(codes: np.ndarray) -> np.ndarray:
    """Return codes, shape (rows, pairs), uint8, in the order in which they are scanned."""
    rows, pairs = codes.shape
    padded = np.zeros((-(-rows // BLOCK) * BLOCK, pairs), np.uint8)
    padded[:rows] = codes
    return np.ascontiguousarray(padded.reshape(-1, BLOCK, pairs).transpose(0, 2, 1))


class CodedRows:
    """The codes of the sealed rows of ``VectorArrays``."""

    def __init__(self, codes: np.ndarray, centroids: np.ndarray, rescore: int) -> None:
        """Wrap codes.

        Args:
            codes: From ``blocks_of``, shape (blocks, pairs, 64), uint8.
            centroids: Shape (2 * pairs, 16, dims), float32; those of a part that no vector has
                are 0.
            rescore: How many rows that are nearest by code are compared exactly, at least.
        """
        self._rescore = rescore
        self._codes, self._centroids = codes, centroids
        parts, _, dims = centroids.shape
        self._exact = np.empty((parts, WORDS), np.float32)
        self._tables = np.empty((parts, WORDS), np.uint8)
        self._at = address(codes), address(centroids), parts, dims
        self._scratch = address(self._exact), address(self._tables)

    def nearest(
        self, vectors: VectorArrays, query: np.ndarray, k: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the k nearest documents with a living row, unordered, with their cosines.

        Not safe to use from several threads.

        Args:
            vectors: What the codes are of.
            query: Shape (dim,), float32.
            k: How many at most.

        Returns:
            Shape (n,) each, int64 and float32.
        """
        count = max(k, self._rescore)
        call = _nearest.compiled
        if call is None:
            return vectors.owners_and_cosines(query, self._scan(vectors, query, count), k)
        room = 2 * count + BLOCK
        items, documents = np.empty(room, np.int64), np.empty(2 * k, np.int64)
        values, cosines = np.empty(room, np.float32), np.empty(2 * k, np.float32)
        found = call(
            vectors.at, *self._at, address(query), k, count, *self._scratch,
            address(items), address(values), address(documents), address(cosines),
        )  # fmt: skip
        return documents[:found], cosines[:found]

    def _scan(self, vectors: VectorArrays, query: np.ndarray, count: int) -> np.ndarray:
        """Return the living rows that are nearest by code."""
        rows = vectors.living_rows()
        sums = self._sums(query)[rows]
        return rows[np.argpartition(-sums, count - 1)[:count]] if len(rows) > count else rows

    def _sums(self, query: np.ndarray) -> np.ndarray:
        """Return each row's product with the query, shape (rows or more,), in steps of a table."""
        parts, _, dims = self._centroids.shape
        padded = np.zeros(parts * dims, np.float32)
        padded[: len(query)] = query
        exact = np.einsum("pwd,pd->pw", self._centroids, padded.reshape(parts, dims))
        exact -= exact.min(axis=1, keepdims=True)
        widest = exact.max(initial=0)
        tables = np.floor(exact * ((HIGHEST - 1) / widest if widest > 0 else 0) + 0.5).astype(
            np.int16
        )
        byte = np.arange(256)
        sums = np.zeros((len(self._codes), BLOCK), np.int16)
        for pair in range(parts // 2):
            table = tables[2 * pair][byte & 15] + tables[2 * pair + 1][byte >> 4]
            sums += table[self._codes[:, pair]]
        return sums.reshape(-1)
