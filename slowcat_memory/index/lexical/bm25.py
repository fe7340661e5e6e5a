"""BM25 over two generations of postings, with one set of statistics.

Theory of operation. A view (say, "window") has *sealed* postings, in files, and *tail* postings,
plain dictionaries that take a document the moment it is said. Document frequency, document count
and average length are those of both together, so that a ranking equals that of one index built
from scratch (with statistics per part, the top ten agree by 0.8).

A query's scores stay in the view's own array until the next query, so that a document which only
another view proposes is scored by looking it up. The formula is bm25s's "lucene" (Robertson with
the idf that cannot be negative):
``idf * tf / (tf + k1 * (1 - b + b * length / average))``.
"""

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np

from slowcat_memory.index.files.column import Column
from slowcat_memory.index.lexical import scorer_loader
from slowcat_memory.index.lexical.scorer import Scorer
from slowcat_memory.index.lexical.sealed_postings import SealedPostings
from slowcat_memory.index.lexical.tail_postings import Counts, TailPostings
from slowcat_memory.index.options import IndexOptions

NO_ROWS = np.zeros(0, np.int64)
# Postings per document from which a pass over all documents is the cheaper one: to clear the
# scores, and to find the best.
SWEEP, SCAN = 0.1, 0.5


class LexicalView:
    """One view's two generations, scored together."""

    def __init__(self, sealed: SealedPostings, total: float, options: IndexOptions) -> None:
        """Start with an empty tail.

        Args:
            sealed: The immutable generation.
            total: Sum of its lengths.
            options: The index's options.
        """
        self._sealed, self._k1, self._b = sealed, options.k1, options.b
        self._base = len(sealed.lengths)
        self._large = self._base >= options.compiled_from and sealed.codes.dtype == np.uint16
        self._tail = TailPostings(self._base)
        self._lengths = Column(np.float32, sealed.lengths)
        self._living, self._total = self._base, float(total)
        self._gone: Counter[int] = Counter()  # by row: dead documents that hold the term
        self._dead = np.zeros(0, np.int64)  # sealed documents
        self._scores = np.zeros(self._base + 64, np.float32)
        # What to clear: the latest query's terms, how, and how many postings they have.
        self._used: tuple[np.ndarray, Scorer, int] = (NO_ROWS, scorer_loader.PLAIN, 0)
        self._touched: list[np.ndarray] = []  # in the tail, the same

    # ---------------------------------------------------------------- change

    def add(self, document: int, counts: Counts) -> None:
        """Add a document; numbers are given in rising order.

        Args:
            document: Its number, the next one.
            counts: Occurrences by term.
        """
        if document >= len(self._scores):
            grown = np.zeros(max(64, len(self._scores) // 4) + len(self._scores), np.float32)
            grown[: len(self._scores)] = self._scores
            self._scores = grown
        self._lengths.append(0)
        self._living += 1
        self._tail.documents[document] = Counter()
        self.change(document, counts)

    def change(self, document: int, counts: Counts, sign: int = 1) -> None:
        """Add to a tail document's term counts, or take away.

        Args:
            document: Its number; must be in the tail.
            counts: Occurrences by term.
            sign: 1 to add, -1 to take away.
        """
        self._tail.change(document, counts, sign)
        length = sign * sum(counts.values())
        self._lengths[document] += length
        self._total += length

    def remove(self, document: int) -> Counter[str]:
        """Take a tail document out of the ranking and of the statistics.

        Args:
            document: Its number.

        Returns:
            Its term counts.
        """
        self._total -= self._lengths[document]
        self._living -= 1
        return self._tail.remove(document)

    def tombstone(self, document: int, rows: Sequence[int]) -> None:
        """Take a sealed document out of the ranking and of the statistics.

        Args:
            document: Its number.
            rows: Its terms.
        """
        self._gone.update(rows)
        self._dead = np.append(self._dead, document)
        self._total -= self._lengths[document]
        self._living -= 1

    def counts(self, document: int) -> Counter[str]:
        """Return a tail document's term counts.

        Args:
            document: Its number.

        Returns:
            Occurrences by term; not to be changed.
        """
        return self._tail.documents[document]

    def tail_frequency(self, term: str) -> int:
        """Count the tail's documents that hold a term."""
        return self._tail.frequency(term)

    def sealed_frequency(self, row: int) -> int:
        """Count the sealed documents that hold a term, dead ones included; 0 for row -1."""
        return self._sealed.frequency(row) if row >= 0 else 0

    # ---------------------------------------------------------------- search

    def search(
        self,
        terms: Sequence[str],
        rows: Sequence[int],
        k: int,
        *,
        sealed: bool = True,
        shares: Sequence[float] = (),
    ) -> tuple[np.ndarray, list[float]]:
        """Score the documents for a query; ``scores`` tells them until the next one.

        Args:
            terms: The query's tokens, each once.
            rows: Their rows in the sealed vocabulary, -1 for none.
            k: How many documents to return at most.
            sealed: False leaves the sealed generation out, for a turn that is out of time.
            shares: How much of its weight each term has; none for all of it.

        Returns:
            The best documents' numbers, in no order; and each term's idf, those included that
            nobody has said yet: no score can exceed their sum.
        """
        self._clear()
        idf = [self._idf(term, row) for term, row in zip(terms, rows, strict=True)]
        if shares:
            idf = [share * value for share, value in zip(shares, idf, strict=True)]
        if not self._living or self._total <= 0:
            return np.zeros(0, np.int64), idf
        found = [self._walk(rows, idf, k)] if sealed and self._base else []
        found.append(self._walk_tail(terms, idf, k))
        best = found[0] if len(found) == 1 else np.concatenate(found)
        if len(best) > k:
            best = best[np.argpartition(-self.scores(best), k - 1)[:k]]
        return best, idf

    def scores(self, documents: np.ndarray) -> np.ndarray:
        """Tell documents' scores for the latest query.

        Args:
            documents: Numbers, shape (n,).

        Returns:
            Shape (n,), float32, 0 where no term occurs and for dead sealed documents.
        """
        return np.abs(self._scores[documents])

    def _clear(self) -> None:
        """Forget the latest query."""
        rows, walk, postings = self._used
        if postings > SWEEP * self._base:
            self._scores[: self._base] = 0
        elif len(rows):
            walk.clear(self._sealed.indptr, self._sealed.documents, rows, self._scores)
        for documents in self._touched:
            self._scores[documents] = 0
        self._used, self._touched = (NO_ROWS, scorer_loader.PLAIN, 0), []

    def _walk(self, rows: Sequence[int], idf: Sequence[float], k: int) -> np.ndarray:
        part, walk = self._sealed, scorer_loader.walk() if self._large else scorer_loader.PLAIN
        known = [(row, value) for row, value in zip(rows, idf, strict=True) if row >= 0]
        if not known:
            return np.zeros(0, np.int64)
        wanted = np.array([row for row, _ in known], np.int64)
        values = np.array([value for _, value in known], np.float32)
        weights = part.weights(self._k1, self._b, self._total / self._living)
        postings = int((part.indptr[wanted + 1] - part.indptr[wanted]).sum())
        self._used = (wanted, walk, postings)
        walk.add(part.indptr, part.documents, part.codes, weights, wanted, values, self._scores)
        if len(self._dead):
            self._scores[self._dead] = 0
        if postings < SCAN * self._base:
            return walk.best(part.indptr, part.documents, wanted, self._scores, k)
        return walk.best_of_all(self._scores[: self._base], k)

    def _walk_tail(self, terms: Sequence[str], idf: Sequence[float], k: int) -> np.ndarray:
        postings = self._tail.postings(terms)
        if not postings:
            return np.zeros(0, np.int64)
        scale = self._k1 * self._b * self._living / self._total
        floor = self._k1 * (1 - self._b)
        lengths, scores = self._lengths.tail, self._scores
        for place, documents, times in postings:
            norm = floor + scale * lengths[documents - self._base]
            scores[documents] += np.float32(idf[place]) * (times / (times + norm))
            self._touched.append(documents)
        touched = np.flatnonzero(scores[self._base : self._base + len(lengths)]) + self._base
        if len(touched) <= k:
            return touched
        return touched[np.argpartition(-scores[touched], k - 1)[:k]]

    def frequency(self, term: str, row: int) -> int:
        """Count the living documents that hold a term.

        Args:
            term: The term.
            row: Its row in the sealed vocabulary, -1 for none.

        Returns:
            How many.
        """
        found = self._tail.frequency(term)
        return found if row < 0 else found + self._sealed.frequency(row) - self._gone[row]

    def _idf(self, term: str, row: int) -> float:
        found = self.frequency(term, row)
        return math.log(1 + (self._living - found + 0.5) / (found + 0.5))
