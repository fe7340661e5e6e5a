"""BM25 over two generations of postings, with one set of statistics.

Theory of operation. A view (say, "window") has *sealed* postings, in files, and *tail* postings,
plain dictionaries to which a document is added with its turn. Document frequency and document count
are those of both together (with statistics per part, the top ten agree by 0.8). The mean length is
that of both for the tail, and that at sealing for sealed documents (see ``postings``), so with an
empty tail the scores are bm25s's own. A sealed document never changes: it is *tombstoned*, which
removes it from ranking and statistics.

A query's scores stay in the view's own array until the next query, so that the score of a document
proposed only by another view is a lookup. The formula is bm25s's "lucene" (Robertson with an idf
that cannot be negative): ``idf * tf / (tf + k1 * (1 - b + b * length / average))``.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from slowcat_memory.index.files.arrays import Column
from slowcat_memory.index.lexical import scorer
from slowcat_memory.index.lexical.postings import Counts, SealedPostings, TailPostings, idf
from slowcat_memory.index.lexical.scorer import Scorer
from slowcat_memory.index.options import IndexOptions

NO_ROWS = np.zeros(0, np.int64)
# Postings per document from which a pass over all documents is cheaper: to clear the scores, and to
# find the best.
SWEEP, SCAN = 0.1, 0.5


class LexicalView:
    """One view's two generations, scored together."""

    def __init__(self, sealed: SealedPostings, total: float, options: IndexOptions) -> None:
        """Start with an empty tail; ``total`` is the sum of the sealed documents' lengths."""
        self._sealed, self._k1, self._b = sealed, options.k1, options.b
        self._base = len(sealed.lengths)
        self._compilable = self._base >= options.compiled_from
        self._tail = TailPostings()
        self._lengths = Column(np.float32, sealed.lengths)
        self._living, self._total = self._base, float(total)
        self._dead_terms: Counter[int] = Counter()  # by row: dead documents with the term
        self._dead = np.zeros(0, np.int64)  # sealed documents
        self._scores = np.zeros(self._base + 64, np.float32)
        # The data to clear: the latest query's terms, with which scorer, and their postings count.
        self._scored: tuple[np.ndarray, Scorer, int] = (NO_ROWS, scorer.NUMPY, 0)
        self._scored_tail: list[np.ndarray] = []  # the same in the tail: documents

    def add(self, document: int, counts: Counts) -> None:
        """Add a document, whose number is the next one, with its occurrences by term."""
        if document >= len(self._scores):
            grown = np.zeros(max(64, len(self._scores) // 4) + len(self._scores), np.float32)
            grown[: len(self._scores)] = self._scores
            self._scores = grown
        self._lengths.append(0)
        self._living += 1
        self._tail.documents[document] = Counter()
        self.change(document, counts)

    def change(self, document: int, counts: Counts, sign: int = 1) -> None:
        """Add to a tail document's term counts (``sign`` 1), or subtract (-1)."""
        self._tail.change(document, counts, sign)
        length = sign * sum(counts.values())
        self._lengths[document] += length
        self._total += length

    def remove(self, document: int) -> Counter[str]:
        """Remove a tail document from ranking and statistics; return its term counts."""
        self._total -= self._lengths[document]
        self._living -= 1
        return self._tail.remove(document)

    def tombstone(self, document: int, rows: Sequence[int]) -> None:
        """Remove a sealed document, whose terms are ``rows``, from ranking and statistics."""
        self._dead_terms.update(rows)
        self._dead = np.append(self._dead, document)
        self._total -= self._lengths[document]
        self._living -= 1

    def counts(self, document: int) -> Counter[str]:
        """Return a tail document's occurrences by term; read-only."""
        return self._tail.documents[document]

    def tail_frequency(self, term: str) -> int:
        return self._tail.frequency(term)

    def sealed_frequency(self, row: int) -> int:
        """Return the number of sealed documents with a term, dead ones too; 0 for row -1."""
        return self._sealed.frequency(row) if row >= 0 else 0

    def search(
        self,
        terms: Sequence[str],
        rows: Sequence[int],
        k: int,
        *,
        sealed: bool = True,
        shares: Sequence[float] = (),
    ) -> tuple[np.ndarray, list[float]]:
        """Score the documents for a query; ``scores`` returns them until the next one.

        Args:
            terms: The query's distinct tokens.
            rows: Their rows in the sealed vocabulary, -1 for none.
            k: How many documents to return at most.
            sealed: False skips the sealed generation, for a turn that is out of time.
            shares: The share of its weight for each term; empty for full weights.

        Returns:
            The best documents' numbers, unordered; and each term's idf, also of terms that occur
            nowhere: no score can exceed their sum.
        """
        self._clear()
        weights = [self._idf(term, row) for term, row in zip(terms, rows, strict=True)]
        if shares:
            weights = [share * value for share, value in zip(shares, weights, strict=True)]
        if not self._living or self._total <= 0:
            return np.zeros(0, np.int64), weights
        found = [self._score_sealed(rows, weights, k)] if sealed and self._base else []
        found.append(self._score_tail(terms, weights, k))
        best = found[0] if len(found) == 1 else np.concatenate(found)
        if len(best) > k:
            best = best[np.argpartition(-self.scores(best), k - 1)[:k]]
        return best, weights

    def scores(self, documents: np.ndarray) -> np.ndarray:
        """Return documents' scores for the latest query.

        The result has shape (n,), float32, 0 for documents without a term and for dead sealed ones.
        """
        return np.abs(self._scores[documents])

    def _clear(self) -> None:
        rows, used, postings = self._scored
        if postings > SWEEP * self._base:
            self._scores[: self._base] = 0
        elif len(rows):
            used.clear(self._sealed, rows, self._scores)
        for documents in self._scored_tail:
            self._scores[documents] = 0
        self._scored, self._scored_tail = (NO_ROWS, scorer.NUMPY, 0), []

    def _score_sealed(self, rows: Sequence[int], weights: Sequence[float], k: int) -> np.ndarray:
        sealed, used = self._sealed, scorer.fastest() if self._compilable else scorer.NUMPY
        known = [(row, value) for row, value in zip(rows, weights, strict=True) if row >= 0]
        if not known:
            return np.zeros(0, np.int64)
        wanted = np.array([row for row, _ in known], np.int64)
        factors = np.array([value / sealed.idf(row) for row, value in known], np.float32)
        postings = int((sealed.indptr[wanted + 1] - sealed.indptr[wanted]).sum())
        self._scored = (wanted, used, postings)
        used.add(sealed, wanted, factors, self._scores)
        if len(self._dead):
            self._scores[self._dead] = 0
        if postings < SCAN * self._base:
            return used.best(sealed, wanted, self._scores, k)
        return used.best_of_all(self._scores[: self._base], k)

    def _score_tail(self, terms: Sequence[str], weights: Sequence[float], k: int) -> np.ndarray:
        postings = self._tail.postings(terms)
        if not postings:
            return np.zeros(0, np.int64)
        scale = self._k1 * self._b * self._living / self._total
        floor = self._k1 * (1 - self._b)
        lengths, scores = self._lengths.tail, self._scores
        for place, documents, times in postings:
            norm = floor + scale * lengths[documents - self._base]
            scores[documents] += np.float32(weights[place]) * (times / (times + norm))
            self._scored_tail.append(documents)
        touched = np.flatnonzero(scores[self._base : self._base + len(lengths)]) + self._base
        if len(touched) <= k:
            return touched
        return touched[np.argpartition(-scores[touched], k - 1)[:k]]

    def frequency(self, term: str, row: int) -> int:
        """Return the number of living documents with a term; ``row`` is as in ``search``."""
        found = self._tail.frequency(term)
        return found if row < 0 else found + self._sealed.frequency(row) - self._dead_terms[row]

    def _idf(self, term: str, row: int) -> float:
        return idf(self.frequency(term, row), self._living)
