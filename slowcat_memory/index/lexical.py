"""BM25 over two generations of postings, with one set of statistics.

Theory of operation. A view (say, "window") has *sealed* postings, built and stored by bm25s and
memory-mapped, and *tail* postings, plain dictionaries that take a document the moment it is said.
Document frequency, document count and average length are those of both together, so that a ranking
equals that of one index built from scratch (with statistics per part, the top ten agree by 0.8).

bm25s stores a finished score per posting, in which the statistics of build time are baked. So the
term frequencies are stored beside it, in the order of its postings, and the query is a
term-at-a-time walk over bm25s's own ``indices`` and ``indptr``, much faster than ``BM25.retrieve``
over a mostly empty array.
The formula is bm25s's "lucene" (Robertson with the idf that cannot be negative):
``idf * tf / (tf + k1 * (1 - b + b * length / average))``.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path

import msgspec
import numpy as np

from slowcat_memory.errors import IndexDamagedError

Counts = Mapping[str, int]
EMPTY = (np.zeros(0, np.int32), np.zeros(0, np.float32))


class TailPostings:
    """The mutable generation: documents from ``base`` on, and counts that change."""

    def __init__(self, base: int) -> None:
        """Start empty.

        Args:
            base: The number of the first document.
        """
        self.base = base
        self.documents: dict[int, Counter[str]] = {}
        self._terms: dict[str, dict[int, int]] = {}
        self._arrays: dict[str, tuple[np.ndarray, np.ndarray]] = {}

    def change(self, document: int, counts: Counts, sign: int = 1) -> None:
        """Add to a document's term counts, or take away; an emptied document stays, with none.

        Args:
            document: Its number.
            counts: Occurrences by term.
            sign: 1 to add, -1 to take away.
        """
        own = self.documents.setdefault(document, Counter())
        for term, count in counts.items():
            own[term] += sign * count
            self._arrays.pop(term, None)
            if own[term] > 0:
                self._terms.setdefault(term, {})[document] = own[term]
            else:
                del own[term]
                self._terms.get(term, {}).pop(document, None)

    def remove(self, document: int) -> Counter[str]:
        """Take a document out.

        Args:
            document: Its number.

        Returns:
            Its term counts.
        """
        counts = self.documents.pop(document)
        for term in counts:
            del self._terms[term][document]
            self._arrays.pop(term, None)
        return counts

    def frequency(self, term: str) -> int:
        """Count the documents that hold a term."""
        return len(self._terms.get(term, ()))

    def postings(self, term: str) -> tuple[np.ndarray, np.ndarray]:
        """Return a term's documents and its frequency in each, both of shape (n,)."""
        held = self._terms.get(term)
        if not held:
            return EMPTY
        arrays = self._arrays.get(term)
        if arrays is None:
            arrays = (
                np.fromiter(held.keys(), np.int32, len(held)),
                np.fromiter(held.values(), np.float32, len(held)),
            )
            self._arrays[term] = arrays
        return arrays


class SealedPostings:
    """The immutable generation: bm25s's arrays, plus which documents no longer count."""

    def __init__(
        self,
        vocabulary: dict[str, int],
        indptr: np.ndarray,
        indices: np.ndarray,
        frequencies: np.ndarray,
        lengths: np.ndarray,
    ) -> None:
        """Wrap the arrays.

        Args:
            vocabulary: Row by term.
            indptr: Shape (terms + 1,), start of each term's postings.
            indices: Shape (postings,), document numbers.
            frequencies: Shape (postings,), occurrences of the term in the document.
            lengths: Shape (documents,), tokens by document.
        """
        self._vocabulary, self._indptr = vocabulary, indptr
        self._indices, self._frequencies = indices, frequencies
        self.lengths = lengths
        self._gone: Counter[str] = Counter()
        self._names: list[str] | None = None

    @classmethod
    def build(cls, documents: Iterable[Counts], folder: Path, k1: float, b: float) -> None:
        """Index documents with bm25s and store the result.

        Args:
            documents: Term counts of each document, in the order of their numbers.
            folder: Where the files go; must exist.
            k1: BM25's k1.
            b: BM25's b.
        """
        import bm25s  # brings numba: 90 MB and half a second that only the building child pays

        vocabulary: dict[str, int] = {}
        corpus = [
            [vocabulary.setdefault(term, len(vocabulary)) for term in Counter(counts).elements()]
            for counts in documents
        ]
        lengths = np.array([len(tokens) for tokens in corpus], np.float32)
        index = bm25s.BM25(method="lucene", k1=k1, b=b)
        if vocabulary:
            index.index((corpus, vocabulary), show_progress=False)
            index.save(folder, show_progress=False)
            frequencies = _frequencies(corpus, index.scores["indices"])
        else:  # bm25s cannot index nothing
            frequencies = np.zeros(0, np.uint16)
        np.save(folder / "lengths.npy", lengths)
        np.save(folder / "frequencies.npy", frequencies)

    @classmethod
    def load(cls, folder: Path) -> "SealedPostings":
        """Open bm25s's files, memory-mapped, without bm25s.

        Args:
            folder: As given to ``build``.

        Returns:
            The postings.
        """
        lengths = np.load(folder / "lengths.npy")
        frequencies = np.load(folder / "frequencies.npy", mmap_mode="r" if lengths.sum() else None)
        if not len(frequencies):
            return cls({}, np.zeros(1, np.int64), np.zeros(0, np.int32), frequencies, lengths)
        vocabulary = msgspec.json.decode(
            (folder / "vocab.index.json").read_bytes(), type=dict[str, int]
        )
        indptr = np.load(folder / "indptr.csc.index.npy")
        indices = np.load(folder / "indices.csc.index.npy", mmap_mode="r")
        # Plain arrays over the same maps: a memmap costs 2 us at every slice.
        return cls(vocabulary, indptr, np.asarray(indices), np.asarray(frequencies), lengths)

    @classmethod
    def empty(cls) -> "SealedPostings":
        """Return postings of no documents."""
        return cls(
            {}, np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.uint16), np.zeros(0)
        )

    def frequency(self, term: str) -> int:
        """Count the living documents that hold a term."""
        row = self._vocabulary.get(term)
        if row is None:
            return 0
        return int(self._indptr[row + 1] - self._indptr[row]) - self._gone[term]

    def postings(self, term: str) -> tuple[np.ndarray, np.ndarray]:
        """Return a term's documents and frequencies, dead documents included."""
        row = self._vocabulary.get(term)
        if row is None:
            return EMPTY
        part = slice(self._indptr[row], self._indptr[row + 1])
        return self._indices[part], self._frequencies[part]

    def counts(self, document: int) -> Counter[str]:
        """Return a document's term counts, by a scan over all postings.

        Args:
            document: Its number.

        Returns:
            Occurrences by term.
        """
        if self._names is None:
            self._names = sorted(self._vocabulary, key=self._vocabulary.__getitem__)
        at = np.flatnonzero(self._indices == document)
        rows = np.searchsorted(self._indptr, at, side="right") - 1
        return Counter(
            {
                self._names[row]: int(count)
                for row, count in zip(rows, self._frequencies[at], strict=True)
            }
        )

    def bury(self, counts: Counts) -> None:
        """Take a dead document's terms out of the statistics.

        Args:
            counts: What ``counts`` returned for it.
        """
        self._gone.update(counts.keys())


def _frequencies(corpus: Sequence[Sequence[int]], indices: np.ndarray) -> np.ndarray:
    """Count each posting's occurrences, in bm25s's order: by term, then by document."""
    terms = np.fromiter(chain.from_iterable(corpus), np.int64)
    documents = np.repeat(np.arange(len(corpus)), [len(tokens) for tokens in corpus])
    postings, frequencies = np.unique(terms * len(corpus) + documents, return_counts=True)
    if not np.array_equal(postings % len(corpus), indices):
        raise IndexDamagedError("bm25s stores its postings in an order that we do not know")
    return np.minimum(frequencies, 65_535).astype(np.uint16)


class LexicalView:
    """One view's two generations, scored together."""

    def __init__(self, sealed: SealedPostings, k1: float, b: float) -> None:
        """Start with an empty tail.

        Args:
            sealed: The immutable generation.
            k1: BM25's k1.
            b: BM25's b.
        """
        self._sealed, self._k1, self._b = sealed, k1, b
        self._tail = TailPostings(len(sealed.lengths))
        self._lengths = sealed.lengths.astype(np.float32)  # by document, grows with the tail
        self._used = len(sealed.lengths)
        self._total = float(sealed.lengths.sum())
        self._living = len(sealed.lengths)

    def add(self, document: int, counts: Counts) -> None:
        """Add a document; numbers are given in rising order.

        Args:
            document: Its number, the next one.
            counts: Occurrences by term.
        """
        if document >= len(self._lengths):
            self._lengths = np.append(
                self._lengths, np.zeros(max(256, len(self._lengths)), np.float32)
            )
        self._used = document + 1
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
        """Take a document out of the ranking and of the statistics.

        Args:
            document: Its number.

        Returns:
            Its term counts.
        """
        if document < self._tail.base:
            counts = self._sealed.counts(document)
            self._sealed.bury(counts)
        else:
            counts = self._tail.remove(document)
        self._total -= float(self._lengths[document])
        self._lengths[document] = 0
        self._living -= 1
        return counts

    def counts(self, document: int) -> Counter[str]:
        """Return a document's term counts.

        Args:
            document: Its number.

        Returns:
            Occurrences by term; not to be changed.
        """
        if document < self._tail.base:
            return self._sealed.counts(document)
        return self._tail.documents[document]

    def scores(self, terms: Iterable[str], *, sealed: bool = True) -> np.ndarray:
        """Score every document for a query. Dead documents are scored too: mask them.

        Args:
            terms: The query's tokens; repeated ones count once.
            sealed: False leaves the sealed generation out, for a turn that is out of time.

        Returns:
            Shape (documents,), float32, 0 where no term occurs.
        """
        out = np.zeros(self._used, np.float32)
        if not self._living or self._total <= 0:
            return out
        scale = self._k1 * self._b * self._living / self._total
        floor = self._k1 * (1 - self._b)
        parts = (self._sealed, self._tail) if sealed else (self._tail,)
        for term in dict.fromkeys(terms):
            idf = self._idf(term)
            for part in parts:
                documents, frequency = part.postings(term)
                if len(documents):
                    norm = floor + scale * self._lengths[documents]
                    out[documents] += idf * (frequency / (frequency + norm))
        return out

    def ceiling(self, terms: Iterable[str]) -> float:
        """Bound the score of any document for a query.

        Args:
            terms: The query's tokens.

        Returns:
            The sum of their idf, words that nobody has said yet included.
        """
        return sum(self._idf(term) for term in dict.fromkeys(terms))

    def _idf(self, term: str) -> float:
        found = self._sealed.frequency(term) + self._tail.frequency(term)
        return math.log(1 + (self._living - found + 0.5) / (found + 0.5))
