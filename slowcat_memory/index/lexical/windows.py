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

import numpy as np

from slowcat_memory.core.text.normalize import Tokenizer
from slowcat_memory.index.format import Document, Header, IndexOptions
from slowcat_memory.index.table import Column, Texts, open_or_empty

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
        return [self._row(*found) for found in zip(places, terms, hashes, strict=True)]

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
NO_RUN: Run = (np.zeros(0, np.int32), np.zeros(0, np.float32))


def idf(frequency: int, documents: int) -> float:
    """Return the idf of a term from its document frequency; always positive."""
    return math.log(1 + (documents - frequency + 0.5) / (frequency + 0.5))


class SealedPostings:
    """For each term a run of documents, with bm25s's score for each: its CSC arrays."""

    FILES = {"indptr": "int64", "documents": "int32", "scores": "float32", "lengths": "int32"}

    def __init__(
        self, indptr: np.ndarray, documents: np.ndarray, scores: np.ndarray, lengths: np.ndarray
    ) -> None:
        """Wrap the arrays.

        Args:
            indptr: Shape (terms + 1,), int64, start of each term's postings.
            documents: Shape (postings,), int32, rising within a term.
            scores: Shape (postings,), float32, at sealing.
            lengths: Shape (documents,), int32, tokens by document.
        """
        self.indptr, self.documents, self.scores = indptr, documents, scores
        self.lengths = lengths

    @classmethod
    def open(cls, sealed: Path | None) -> "SealedPostings":
        files = cls.FILES.items()
        return cls(*(open_or_empty(sealed, f"window.{name}", dtype) for name, dtype in files))

    def write(self, folder: Path) -> None:
        for name in self.FILES:
            np.save(folder / f"window.{name}.npy", getattr(self, name))

    def frequency(self, row: int) -> int:
        """Return the number of documents with a term, dead ones included."""
        return int(self.indptr[row + 1]) - int(self.indptr[row])

    def idf(self, row: int) -> float:
        """Return a term's idf at sealing, which is in its scores."""
        return idf(self.frequency(row), len(self.lengths))

    def postings(self, row: int) -> Run:
        part = slice(int(self.indptr[row]), int(self.indptr[row + 1]))
        return self.documents[part], self.scores[part]


class TailPostings:
    """Postings of the documents added after sealing, and counts that change."""

    def __init__(self) -> None:
        self.documents: dict[int, Counter[str]] = {}
        self._terms: dict[str, dict[int, int]] = {}
        self._runs: dict[str, Run] = {}

    def change(self, document: int, counts: Counts, sign: int = 1) -> None:
        """Add to a document's term counts (``sign`` 1), or subtract (-1).

        A document left without terms stays in the index.
        """
        own = self.documents.setdefault(document, Counter())
        for term, count in counts.items():
            own[term] += sign * count
            self._runs.pop(term, None)
            if own[term] > 0:
                self._terms.setdefault(term, {})[document] = own[term]
            else:
                del own[term]
                self._drop(term, document)

    def remove(self, document: int) -> Counter[str]:
        counts = self.documents.pop(document)
        for term in counts:
            self._drop(term, document)
            self._runs.pop(term, None)
        return counts

    def _drop(self, term: str, document: int) -> None:
        documents = self._terms.get(term)
        if documents is not None:
            documents.pop(document, None)
            if not documents:
                del self._terms[term]

    def frequency(self, term: str) -> int:
        return len(self._terms.get(term, ()))

    def postings(self, term: str) -> Run:
        """Return the documents with a term, and how often it occurs in each."""
        run = self._runs.get(term)
        if run is None:
            found = self._terms.get(term)
            if not found:
                return NO_RUN
            documents = np.fromiter(found.keys(), np.int32, len(found))
            times = np.fromiter(found.values(), np.float32, len(found))
            run = self._runs[term] = documents, times
        return run


# ------------------------------------------------------------------- two generations
# BM25 over two generations of postings, with one set of statistics.
#
# Theory of operation. There are *sealed* postings, in files, and *tail* postings,
# plain dictionaries to which a document is added with its turn. Document frequency and document count
# are those of both together (with statistics per part, the top ten agree by 0.8). The mean length is
# that of both for the tail, and that at sealing for sealed documents (see above), so with an
# empty tail the scores are bm25s's own. A sealed document never changes: it is *tombstoned*, which
# removes it from ranking and statistics.
#
# The formula is bm25s's "lucene" (Robertson with an idf that cannot be negative):
# ``idf * tf / (tf + k1 * (1 - b + b * length / average))``.


class LexicalView:
    """Both generations, scored together."""

    def __init__(self, sealed: SealedPostings, total: float, options: IndexOptions) -> None:
        """Start with an empty tail; ``total`` is the sum of the sealed documents' lengths."""
        self._sealed, self._tail, self._options = sealed, TailPostings(), options
        self._lengths = Column(sealed.lengths)
        self._alive: np.ndarray | None = None  # by sealed document, once one is dead
        self._dead: Counter[int] = Counter()  # dead sealed documents by term
        self.living, self.total = len(sealed.lengths), total

    def add(self, document: int, counts: Counts) -> None:
        """Add a document, whose number is the next one, with its occurrences by term."""
        self._lengths.append(0)
        self.living += 1
        self._tail.documents[document] = Counter()
        self.change(document, counts)

    def change(self, document: int, counts: Counts, sign: int = 1) -> None:
        """Add to a tail document's term counts (``sign`` 1), or subtract (-1)."""
        self._tail.change(document, counts, sign)
        length = sign * sum(counts.values())
        self._lengths[document] += length
        self.total += length

    def remove(self, document: int) -> Counter[str]:
        """Remove a tail document from ranking and statistics; return its term counts."""
        self._drop(document)
        return self._tail.remove(document)

    def tombstone(self, document: int, rows: Sequence[int]) -> None:
        """Remove a sealed document, whose terms are ``rows``, from ranking and statistics."""
        if self._alive is None:
            self._alive = np.ones(len(self._sealed.lengths), bool)
        self._alive[document] = False
        self._dead.update(rows)
        self._drop(document)

    def _drop(self, document: int) -> None:
        self.living -= 1
        self.total -= self._lengths[document]

    def counts(self, document: int) -> Counter[str]:
        """Return a tail document's occurrences by term; read-only."""
        return self._tail.documents[document]

    def tail_frequency(self, term: str) -> int:
        return self._tail.frequency(term)

    def frequency(self, term: str, row: int) -> int:
        """Return the number of living documents with a term; ``row`` is as in ``search``."""
        sealed = self._sealed.frequency(row) if row >= 0 else 0
        return self._tail.frequency(term) + sealed - self._dead[row]

    def search(
        self,
        terms: Sequence[str],
        rows: Sequence[int],
        *,
        sealed: bool = True,
        shares: Sequence[float] = (),
    ) -> tuple[np.ndarray, list[float]]:
        """Score all documents for a query.

        Args:
            terms: The query's distinct tokens.
            rows: Their rows in the sealed vocabulary, -1 for none.
            sealed: False skips the sealed generation, for a turn that is out of time.
            shares: The share of its weight for each term; empty for full weights.

        Returns:
            Scores, shape (documents,), float32; and each term's idf, also of terms that occur
            nowhere: no score can exceed their sum.
        """
        scores = np.zeros(len(self._lengths), np.float32)
        frequencies = map(self.frequency, terms, rows)
        weights = [
            share * idf(frequency, self.living)
            for frequency, share in zip(frequencies, shares or [1.0] * len(terms), strict=True)
        ]
        k1, b = self._options.k1, self._options.b
        for term, row, weight in zip(terms, rows, weights, strict=True):
            if sealed and row >= 0:
                documents, added = self._sealed.postings(row)
                # Half the time of ``[...] +=``, which reads and writes through a copy.
                np.add.at(scores, documents, added * np.float32(weight / self._sealed.idf(row)))
            documents, times = self._tail.postings(term)
            if len(documents):
                lengths = self._lengths.values[documents]
                norm = k1 * (1 - b) + k1 * b * self.living / self.total * lengths
                scores[documents] += weight * (times / (times + norm))
        if self._alive is not None:
            scores[: len(self._alive)] *= self._alive
        return scores, weights


class Windows:
    """The documents' windows, and the forward index that they are made from."""

    def __init__(
        self,
        tokenizer: Tokenizer,
        options: IndexOptions,
        sealed: Path | None,
        header: Header | None,
    ) -> None:
        """Open the sealed part, or start empty. Queries must use the same tokenizer."""
        self._tokenizer = tokenizer
        self.forward = ForwardIndex(sealed)
        total = header.tokens if header else 0.0
        self.view = LexicalView(SealedPostings.open(sealed), total, options)
        # The neighbours at sealing: their terms are in a sealed document's window.
        self._neighbours = [open_or_empty(sealed, name, np.int32) for name in ("before", "after")]

    def count(self, document: Document) -> Counts:
        return Counter(self._tokenizer(document.text))

    def add(self, number: int, terms: Counts) -> None:
        """Add a document without neighbours to the tail; its number is the next one."""
        self.forward.add(number, terms)
        self.view.add(number, terms)
        self.view.change(number, terms)

    def tombstone(self, number: int) -> Counts:
        """Remove a sealed document; return the terms that its window had from its neighbours."""
        neighbours = [int(column[number]) for column in self._neighbours if column[number] >= 0]
        _, rows = self.forward.sum_sealed([number, *neighbours])
        self.view.tombstone(number, rows)
        return self.forward.sum_sealed(neighbours)[0]

    def exchange_terms(self, before: int, after: int, sign: int) -> None:
        """Add two neighbours' terms to each other's windows (``sign`` 1), or remove them (-1).

        Both are in the tail; ``before`` precedes ``after`` in the session.
        """
        own = self.forward.own
        self.view.change(before, own(after), sign)
        self.view.change(after, own(before), sign)
