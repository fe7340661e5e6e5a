"""The words of a namespace's documents: BM25 over each one's window.

A window has the terms of a document, each twice, and of its neighbours: what was said comes before
the reply to it. A sealed document never changes: before a change it is copied to the tail, and the
original tombstoned.

A sealed posting is a document's number (int32) and its score by bm25s at sealing (float32), which
includes the term's idf and the mean length of that time. A query adds the scores of its terms, each
times ``idf now / idf at sealing``: exact for idf, whatever was added or forgotten since then. The
mean length is that at sealing until the next seal; the effect is measured in
docs/decisions/0024-eager-scores.md.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

import numpy as np

from slowcat_memory.core.text.normalize import Tokenizer
from slowcat_memory.index.format import Document, Header, IndexOptions
from slowcat_memory.index.table import Column, DocumentTable, Texts, open_or_empty

Counts = Mapping[str, int]
"""Occurrences by term."""
NAME = "words"  # prefix of the names of the files
OWN = f"{NAME}.own"


class Vocabulary:
    """The terms of a sealed index; a term's row is its position in a sorted array of hashes.

    Opening it costs nothing, whatever its size.
    """

    def __init__(self, sealed: Path | None = None) -> None:
        self._hashes = open_or_empty(sealed, f"{NAME}.hashes", np.uint64)
        self._terms = Texts(sealed, NAME)

    @staticmethod
    def write(terms: Sequence[str], folder: Path) -> np.ndarray:
        """Store distinct terms and return the row of each, shape (n,), int32."""
        encoded = [term.encode() for term in terms]
        hashes = np.fromiter(map(_hash, encoded), np.uint64, len(terms))
        order = np.argsort(hashes, kind="stable")
        np.save(folder / f"{NAME}.hashes.npy", hashes[order])
        Texts.write([encoded[place] for place in order.tolist()], folder, NAME)
        rows = np.empty(len(terms), np.int32)
        rows[order] = np.arange(len(terms), dtype=np.int32)
        return rows

    def __len__(self) -> int:
        return len(self._hashes)

    def rows(self, terms: Sequence[str]) -> list[int]:
        """Return the row of each term, -1 for an unknown one."""
        hashes = np.array([_hash(term.encode()) for term in terms], np.uint64)
        places = self._hashes.searchsorted(hashes).tolist()
        return [self._row(*row) for row in zip(places, terms, hashes, strict=True)]

    def _row(self, place: int, term: str, hashed: np.uint64) -> int:
        while place < len(self) and self._hashes[place] == hashed:
            if self.term(place) == term:
                return place
            place += 1
        return -1

    def term(self, row: int) -> str:
        return self._terms[row]


def _hash(encoded: bytes) -> int:
    return int.from_bytes(blake2b(encoded, digest_size=8).digest(), "little")


class ForwardIndex:
    """Every document's own terms, sealed and in the tail."""

    def __init__(self, sealed: Path | None) -> None:
        self.vocabulary = Vocabulary(sealed)
        self._starts = open_or_empty(sealed, f"{OWN}.starts", np.int64)
        self._rows = open_or_empty(sealed, f"{OWN}.rows", np.int32)
        self._tail: dict[int, Counts] = {}

    def add(self, document: int, own: Counts) -> None:
        self._tail[document] = own

    def remove(self, document: int) -> None:
        """Remove a tail document's terms; does nothing for a sealed one."""
        self._tail.pop(document, None)

    def own(self, document: int) -> Counts:
        """Return a document's own terms; read-only."""
        counts = self._tail.get(document)
        return self.sum_sealed([document])[0] if counts is None else counts

    def sum_sealed(self, documents: list[int]) -> tuple[Counter[str], list[int]]:
        """Sum sealed documents' own terms; return occurrences by term, and the terms' rows."""
        total: Counter[int] = Counter()
        for document in documents:
            part = slice(int(self._starts[document]), int(self._starts[document + 1]))
            total.update(self._rows[part].tolist())
        term = self.vocabulary.term
        return Counter({term(row): times for row, times in total.items()}), list(total)


Run = tuple[np.ndarray, np.ndarray]
"""A term's documents (int32), and for each its score or the term's occurrences (float32)."""


def idf(frequency: int, documents: int) -> float:
    """Return the idf of a term from its document frequency; always positive."""
    return math.log(1 + (documents - frequency + 0.5) / (frequency + 0.5))


class SealedPostings(NamedTuple):
    """For each term a run of documents, with bm25s's score for each: its CSC arrays.

    Attributes:
        indptr: Shape (terms + 1,), int64, start of each term's postings.
        documents: Shape (postings,), int32, rising within a term.
        scores: Shape (postings,), float32, at sealing.
        lengths: Shape (documents,), int32, tokens by document.
    """

    indptr: np.ndarray
    documents: np.ndarray
    scores: np.ndarray
    lengths: np.ndarray

    @classmethod
    def open(cls, sealed: Path | None) -> "SealedPostings":
        files = zip(cls._fields, ("int64", "int32", "float32", "int32"), strict=True)
        return cls(*(open_or_empty(sealed, f"window.{name}", dtype) for name, dtype in files))

    def write(self, folder: Path) -> None:
        for name, values in self._asdict().items():
            np.save(folder / f"window.{name}.npy", values)

    def frequency(self, row: int) -> int:
        """Return the number of documents with a term, dead ones included."""
        return int(self.indptr[row + 1]) - int(self.indptr[row])

    def idf(self, row: int) -> float:
        """Return a term's idf at sealing, which is in its scores."""
        return idf(self.frequency(row), len(self.lengths))

    def postings(self, row: int) -> Run:
        part = slice(int(self.indptr[row]), int(self.indptr[row + 1]))
        return self.documents[part], self.scores[part]


# ------------------------------------------------------------------- two generations
# BM25 over two generations of postings, with one set of statistics.
#
# Theory of operation. There are *sealed* postings, in files, and *tail* postings, plain
# dictionaries to which a document is added with its turn. Document frequency and document count
# are those of both together (with statistics per part, the top ten agree by 0.8). The mean length is
# that of both for the tail, and that at sealing for sealed documents (see above), so with an
# empty tail the scores are bm25s's own. A sealed document never changes: it is *tombstoned*, which
# removes it from ranking and statistics.
#
# The formula is bm25s's "lucene" (Robertson with an idf that cannot be negative):
# ``idf * tf / (tf + k1 * (1 - b + b * length / average))``.


class Windows:
    """The documents' windows in both generations, scored together."""

    def __init__(
        self,
        tokenizer: Tokenizer,
        options: IndexOptions,
        sealed: Path | None,
        header: Header | None,
        table: DocumentTable,
    ) -> None:
        """Open the sealed part, or start empty. Queries must use the same tokenizer."""
        self._tokenizer, self._options, self._table = tokenizer, options, table
        self.forward, self._sealed = ForwardIndex(sealed), SealedPostings.open(sealed)
        # The neighbours at sealing: their terms are in a sealed document's window.
        self._neighbours = [open_or_empty(sealed, name, np.int32) for name in ("before", "after")]
        self._dead: Counter[int] = Counter()  # dead sealed documents by term
        self._tail: dict[str, dict[int, int]] = {}  # occurrences by term and document
        self._runs: dict[str, Run] = {}  # the same as arrays, made when they are searched
        self._lengths = Column(self._sealed.lengths)
        self.total = header.tokens if header else 0.0

    def count(self, document: Document) -> Counts:
        return Counter(self._tokenizer(document.text))

    def add(self, number: int, terms: Counts) -> None:
        """Add a document without neighbours to the tail; its number is the next one."""
        self.forward.add(number, terms)
        self._lengths.append(0)
        self.change(number, terms, 2)

    def change(self, number: int, terms: Counts, times: int = 1) -> None:
        """Add terms to a tail document's window so many times; below 0 they are removed."""
        for term, count in terms.items():
            documents = self._tail.setdefault(term, {})
            documents[number] = documents.get(number, 0) + times * count
            if not documents[number]:
                del documents[number]
            if not documents:
                del self._tail[term]
            self._runs.pop(term, None)
        added = times * sum(terms.values())
        self._lengths[number] += added
        self.total += added

    def remove(self, number: int) -> Counts:
        """Remove a document from ranking and statistics; one in the tail has no neighbours.

        Returns:
            The terms that a sealed one's window had from its neighbours.
        """
        if number >= len(self._sealed.lengths):
            self.change(number, self.forward.own(number), -2)
            self.forward.remove(number)
            return {}
        neighbours = [int(column[number]) for column in self._neighbours if column[number] >= 0]
        self._dead.update(self.forward.sum_sealed([number, *neighbours])[1])
        self.total -= self._lengths[number]
        return self.forward.sum_sealed(neighbours)[0]

    def frequencies(self, terms: Sequence[str], rows: Sequence[int] = ()) -> list[int]:
        """Return the number of living documents with each term; ``rows`` are the terms' if known."""
        return [
            len(self._tail.get(term, ()))
            + (self._sealed.frequency(row) - self._dead[row] if row >= 0 else 0)
            for term, row in zip(terms, rows or self.forward.vocabulary.rows(terms), strict=True)
        ]

    def search(
        self, shares: Mapping[str, float], *, sealed: bool = True
    ) -> tuple[np.ndarray, dict[str, float]]:
        """Score all documents for a query.

        Args:
            shares: The query's tokens, each with the share of its weight that counts.
            sealed: False skips the sealed generation, for a turn that is out of time.

        Returns:
            Scores, shape (documents,), float32; and each term's weight, its idf times its share,
            also of terms that occur nowhere: no score can exceed their sum.
        """
        scores, terms = np.zeros(len(self._lengths), np.float32), list(shares)
        rows, weights = self.forward.vocabulary.rows(terms), dict[str, float]()
        k1, b, living = self._options.k1, self._options.b, self._table.living
        for term, row, frequency in zip(terms, rows, self.frequencies(terms, rows), strict=True):
            weight = weights[term] = shares[term] * idf(frequency, living)
            if sealed and row >= 0:
                documents, added = self._sealed.postings(row)
                # Half the time of ``[...] +=``, which reads and writes through a copy.
                np.add.at(scores, documents, added * np.float32(weight / self._sealed.idf(row)))
            if term in self._tail:
                documents, times = self._run(term)
                lengths = self._lengths.values[documents]
                norm = k1 * (1 - b) + k1 * b * living / self.total * lengths
                scores[documents] += weight * (times / (times + norm))
        if living < len(scores):
            scores *= self._table.alive.values
        return scores, weights

    def _run(self, term: str) -> Run:
        if term not in self._runs:
            counts = self._tail[term]
            documents = np.fromiter(counts, np.int32, len(counts))
            self._runs[term] = documents, np.fromiter(counts.values(), np.float32, len(counts))
        return self._runs[term]
