"""BM25 over a view's sealed and tail postings, term by term.

Scores add up in an array with a cell for each document, which keeps them until the next query, so
that the score of a document that only another view proposes is a lookup. A query of few postings
lists the documents that it touches, and clears those; one of many sweeps over all cells.
"""

import ctypes
import math
from array import array
from collections.abc import Sequence

import numpy as np

from slowcat_memory.kernels.library import INT, POINTER, Function, address

BLOCK = 64  # documents that are offered at a time, as in lexical.c
SPARSE = 8  # documents for a posting, below which a query sweeps over all cells
TailRun = tuple[np.ndarray, np.ndarray, int, int]
"""A term's documents (int32) and occurrences (float32) in the tail, and their addresses."""
NO_RUN: TailRun = (np.zeros(0, np.int32), np.zeros(0, np.float32), 0, 0)

_search = Function(
    "lexical_search", POINTER, INT, *[POINTER] * 3, INT, INT, *[POINTER] * 3, result=INT
)
_rows = Function("term_rows", POINTER, POINTER, POINTER, INT, INT, *[POINTER] * 4)


class _Fields(ctypes.Structure):
    """``lexical_view`` in lexical.c."""

    _fields_ = [
        *((name, ctypes.c_void_p) for name in (
            "indptr", "documents", "scores", "alive", "dead", "lengths", "cells", "touched")),
        *((name, ctypes.c_int64) for name in ("base", "size", "room", "touches", "living")),
        *((name, ctypes.c_double) for name in ("total", "k1", "b")),
    ]  # fmt: skip


class LexicalArrays:
    """One view's flat arrays: sealed postings, the state of documents, the latest query's scores."""

    def __init__(
        self, indptr: np.ndarray, documents: np.ndarray, scores: np.ndarray, base: int
    ) -> None:
        """Wrap sealed postings, read-only.

        Args:
            indptr: Shape (terms + 1,), int64, start of each term's postings.
            documents: Shape (postings,), int32.
            scores: Shape (postings,), float32, what a document scores for a term.
            base: Number of sealed documents.
        """
        self._indptr, self._documents, self._scores = indptr, documents, scores
        self.alive = np.ones(max(base, 1), np.uint8)
        self._dead: np.ndarray | None = None
        self._fields = _Fields(
            indptr=address(indptr),
            documents=address(documents),
            scores=address(scores),
            alive=address(self.alive),
            base=base,
            size=base,
            living=base,
        )
        self._fields_at = ctypes.addressof(self._fields)
        self._cells = self.lengths = np.zeros(0, np.float32)
        self._touched = np.zeros(0, np.int32)
        self._grow()

    @property
    def base(self) -> int:
        return self._fields.base

    @property
    def living(self) -> int:
        return self._fields.living

    @property
    def total(self) -> float:
        return self._fields.total

    @property
    def cells_at(self) -> int:
        """The address of the scores by document; it changes when documents are added."""
        return self._fields.cells

    def start(self, total: float, k1: float, b: float) -> None:
        """Set the sum of the documents' lengths, and the parameters of BM25."""
        self._fields.total, self._fields.k1, self._fields.b = total, k1, b

    def _grow(self) -> None:
        base, size = self._fields.base, self._fields.size
        room = size + max(64, (size - base) // 2)
        cells, lengths = np.zeros(room, np.float32), np.zeros(room - base, np.float32)
        cells[: len(self._cells)] = self._cells
        lengths[: len(self.lengths)] = self.lengths
        self._cells, self.lengths = cells, lengths
        touched = np.zeros(room // SPARSE + 1, np.int32)
        touched[: len(self._touched)] = self._touched
        self._touched = touched
        self._fields.cells, self._fields.lengths = address(cells), address(lengths)
        self._fields.touched, self._fields.room = address(touched), room

    def append(self) -> None:
        """Add a living document without terms to the tail."""
        if self._fields.size == self._fields.room:
            self._grow()
        self._fields.size += 1
        self._fields.living += 1

    def lengthen(self, document: int, length: float) -> None:
        """Add to a tail document's length."""
        self.lengths[document - self._fields.base] += length
        self._fields.total += length

    def drop(self, length: float) -> None:
        """Take a living document of a length out of the statistics."""
        self._fields.living -= 1
        self._fields.total -= length

    def tombstone(self, document: int, rows: Sequence[int]) -> None:
        """Take a sealed document, whose terms are ``rows``, out of the ranking."""
        self.alive[document] = 0
        if self._dead is None:
            self._dead = np.zeros(len(self._indptr), np.int32)
            self._fields.dead = address(self._dead)
        for row in rows:
            self._dead[row] += 1

    def frequency(self, row: int) -> int:
        """Return the number of living sealed documents with a term."""
        dead = 0 if self._dead is None else int(self._dead[row])
        return int(self._indptr[row + 1]) - int(self._indptr[row]) - dead

    def scores(self, documents: np.ndarray) -> np.ndarray:
        """Return the documents' scores for the latest query, shape (n,), float32.

        ``documents`` has shape (n,). 0 for documents without a term and for dead sealed ones.
        """
        found = self._cells[documents]
        if self._dead is not None:
            sealed = np.flatnonzero(documents < self.base)
            found[sealed] *= self.alive[documents[sealed]]
        return found

    def search(
        self,
        rows: Sequence[int],
        shares: Sequence[float],
        tails: Sequence[TailRun],
        k: int,
        *,
        sealed: bool,
    ) -> tuple[np.ndarray, list[float]]:
        """Score the documents for a query; ``scores`` returns them until the next one.

        Args:
            rows: Each term's row in the sealed postings, -1 for none.
            shares: The share of its weight for each term; empty for full weights.
            tails: Each term's postings in the tail, ``NO_RUN`` for none.
            k: How many documents to return at most.
            sealed: Whether the sealed postings are searched too.

        Returns:
            The best documents with a score, int64, unordered; and each term's idf, times its share.
        """
        call = _search.compiled
        if call is None:
            return self._search(rows, shares, tails, k, sealed)
        n = len(rows)
        wanted, weights = array("q", rows), array("d", bytes(8 * n))
        runs = array("q", [part for run in tails for part in (run[2], run[3], len(run[0]))])
        share = array("d", shares)
        room = 2 * k + BLOCK
        best, values = np.empty(room, np.int64), np.empty(room, np.float32)
        count = call(
            self._fields_at, n, wanted.buffer_info()[0], share.buffer_info()[0] if shares else None,
            runs.buffer_info()[0], k, sealed,
            address(best), address(values), weights.buffer_info()[0],
        )  # fmt: skip
        return best[:count], weights.tolist()

    # ---------------------------------------------------------------- the reference

    def _search(
        self,
        rows: Sequence[int],
        shares: Sequence[float],
        tails: Sequence[TailRun],
        k: int,
        sealed: bool,
    ) -> tuple[np.ndarray, list[float]]:
        self._clear()
        counts = [
            len(run[0]) + (self.frequency(row) if row >= 0 else 0)
            for row, run in zip(rows, tails, strict=True)
        ]
        weights = [idf(count, self.living) for count in counts]
        if shares:
            weights = [share * value for share, value in zip(shares, weights, strict=True)]
        if self.living <= 0 or self.total <= 0:
            return np.zeros(0, np.int64), weights
        touched = self._add_sealed(rows, weights) if sealed and self.base else []
        touched += self._add_tail(tails, weights)
        return self._best(self._list(touched), k), weights

    def _clear(self) -> None:
        touches = self._fields.touches
        self._cells[slice(None) if touches < 0 else self._touched[:touches]] = 0
        self._fields.touches = 0

    def _add_sealed(self, rows: Sequence[int], weights: Sequence[float]) -> list[np.ndarray]:
        touched = []
        for row, weight in zip(rows, weights, strict=True):
            if row >= 0:
                start, end = int(self._indptr[row]), int(self._indptr[row + 1])
                factor = np.float32(weight / idf(end - start, self.base))
                documents = self._documents[start:end]
                # Half the time of ``cells[...] +=``, which reads and writes through a copy.
                np.add.at(self._cells, documents, self._scores[start:end] * factor)
                touched.append(documents)
        return touched

    def _add_tail(self, tails: Sequence[TailRun], weights: Sequence[float]) -> list[np.ndarray]:
        scale = np.float32(self._fields.k1 * self._fields.b * self.living / self.total)
        floor = np.float32(self._fields.k1 * (1 - self._fields.b))
        for (documents, times, *_), weight in zip(tails, weights, strict=True):
            norm = floor + scale * self.lengths[documents - self.base]
            self._cells[documents] += np.float32(weight) * (times / (times + norm))
        return [run[0] for run in tails]

    def _list(self, touched: Sequence[np.ndarray]) -> np.ndarray:
        """Return the touched documents, rising, and keep them to clear their cells."""
        if sum(map(len, touched)) >= self._fields.size // SPARSE:
            self._fields.touches = -1
            return np.flatnonzero(self._cells[: self._fields.size])
        listed = distinct(np.concatenate(touched)) if touched else np.zeros(0, np.int32)
        self._touched[: len(listed)] = listed
        self._fields.touches = len(listed)
        return listed.astype(np.int64)

    def _best(self, documents: np.ndarray, k: int) -> np.ndarray:
        scores = self.scores(documents)
        documents, scores = documents[scores > 0], scores[scores > 0]
        if len(documents) <= k:
            return documents
        return documents[np.argpartition(-scores, k - 1)[:k]]


def idf(frequency: int, documents: int) -> float:
    """Return the idf of a term from its document frequency; always positive."""
    return math.log(1 + (documents - frequency + 0.5) / (frequency + 0.5))


def distinct(values: np.ndarray) -> np.ndarray:
    """Return distinct values in rising order, like ``np.unique``, whose import costs 10 ms.

    ``values`` is sorted in place.
    """
    values.sort()
    fresh = np.ones(len(values), bool)
    np.not_equal(values[1:], values[:-1], out=fresh[1:])
    return values[fresh]


class TermRows:
    """The rows of terms in a vocabulary that is sorted by the hashes of its terms."""

    def __init__(self, hashes: np.ndarray, starts: np.ndarray, terms: np.ndarray) -> None:
        """Wrap a vocabulary.

        Args:
            hashes: Shape (n,), uint64, rising.
            starts: Shape (n + 1,), int64: where each term begins in ``terms``.
            terms: Shape (bytes,), uint8: the terms in UTF-8, concatenated.
        """
        self._hashes, self._starts, self._terms = hashes, starts, terms
        self._at = address(hashes), address(starts), address(terms), len(hashes)

    def find(self, encoded: Sequence[bytes], hashes: Sequence[int]) -> list[int]:
        """Return the row of each term, -1 for an unknown one."""
        call = _rows.compiled
        if call is None:
            places = self._hashes.searchsorted(np.array(hashes, np.uint64)).tolist()
            return [self._row(*one) for one in zip(places, encoded, hashes, strict=True)]
        starts, at = array("q", [0]), 0
        for term in encoded:
            at += len(term)
            starts.append(at)
        wanted, joined = array("Q", hashes), b"".join(encoded)
        rows = array("q", bytes(8 * len(encoded)))
        call(
            *self._at, len(encoded), wanted.buffer_info()[0], joined,
            starts.buffer_info()[0], rows.buffer_info()[0],
        )  # fmt: skip
        return rows.tolist()

    def _row(self, place: int, term: bytes, hashed: int) -> int:
        while place < len(self._hashes) and self._hashes[place] == hashed:
            if self._terms[self._starts[place] : self._starts[place + 1]].tobytes() == term:
                return place
            place += 1
        return -1
