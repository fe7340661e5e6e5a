"""BM25 over two generations of postings, with one set of statistics.

Theory of operation. A view (say, "window") has *sealed* postings, in files, and *tail* postings,
plain dictionaries to which a document is added with its turn. Document frequency and document count
are those of both together (with statistics per part, the top ten agree by 0.8). The mean length is
that of both for the tail, and that at sealing for sealed documents (see ``postings``), so with an
empty tail the scores are bm25s's own. A sealed document never changes: it is *tombstoned*, which
removes it from ranking and statistics.

The formula is bm25s's "lucene" (Robertson with an idf that cannot be negative):
``idf * tf / (tf + k1 * (1 - b + b * length / average))``. ``kernels.lexical`` computes it.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from slowcat_memory.index.lexical.postings import Counts, SealedPostings, TailPostings
from slowcat_memory.index.options import IndexOptions
from slowcat_memory.kernels.lexical import LexicalArrays


class LexicalView:
    """One view's two generations, scored together."""

    def __init__(self, sealed: SealedPostings, total: float, options: IndexOptions) -> None:
        """Start with an empty tail; ``total`` is the sum of the sealed documents' lengths."""
        self._sealed, self._tail = sealed, TailPostings()
        self.arrays = LexicalArrays(
            sealed.indptr, sealed.documents, sealed.scores, len(sealed.lengths)
        )
        self.arrays.start(float(total), options.k1, options.b)

    def add(self, document: int, counts: Counts) -> None:
        """Add a document, whose number is the next one, with its occurrences by term."""
        self.arrays.append()
        self._tail.documents[document] = Counter()
        self.change(document, counts)

    def change(self, document: int, counts: Counts, sign: int = 1) -> None:
        """Add to a tail document's term counts (``sign`` 1), or subtract (-1)."""
        self._tail.change(document, counts, sign)
        self.arrays.lengthen(document, sign * sum(counts.values()))

    def remove(self, document: int) -> Counter[str]:
        """Remove a tail document from ranking and statistics; return its term counts."""
        counts = self._tail.remove(document)
        self.arrays.drop(counts.total())
        return counts

    def tombstone(self, document: int, rows: Sequence[int]) -> None:
        """Remove a sealed document, whose terms are ``rows``, from ranking and statistics."""
        self.arrays.tombstone(document, rows)
        self.arrays.drop(float(self._sealed.lengths[document]))

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
        tails = [self._tail.postings(term) for term in terms]
        return self.arrays.search(rows, shares, tails, k, sealed=sealed)

    def scores(self, documents: np.ndarray) -> np.ndarray:
        """Return documents' scores for the latest query.

        The result has shape (n,), float32, 0 for documents without a term and for dead sealed ones.
        """
        return self.arrays.scores(documents)

    def frequency(self, term: str, row: int) -> int:
        """Return the number of living documents with a term; ``row`` is as in ``search``."""
        found = self._tail.frequency(term)
        return found if row < 0 else found + self.arrays.frequency(row)
