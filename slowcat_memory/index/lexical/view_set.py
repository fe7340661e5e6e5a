"""All lexical views of a namespace: the terms of each document in each view.

A view's terms are a document's own and, in a window, those of its neighbours. A sealed document
never changes: before a change it is copied to the tail, and the original tombstoned.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from slowcat_memory.core.text.normalize import Tokenizer
from slowcat_memory.index.files.arrays import Column, open_array
from slowcat_memory.index.files.document import Document, Pointer, key_text
from slowcat_memory.index.files.header import Header
from slowcat_memory.index.lexical.forward_index import NONE, Counts, ForwardIndex
from slowcat_memory.index.options import IndexOptions

Run = tuple[np.ndarray, np.ndarray]
"""A term's documents (int32), and for each its score or the term's occurrences (float32)."""
NO_RUN: Run = (np.zeros(0, np.int32), np.zeros(0, np.float32))


def idf(frequency: int, documents: int) -> float:
    """Return the idf of a term from its document frequency; always positive."""
    return math.log(1 + (documents - frequency + 0.5) / (frequency + 0.5))


class SealedPostings:
    """For each term a run of documents, with bm25s's score for each: its CSC arrays."""

    FILES = ("indptr", "documents", "scores", "lengths")

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
    def open(cls, folder: Path, view: str) -> "SealedPostings":
        return cls(*(open_array(folder / f"{view}.{name}.npy") for name in cls.FILES))

    @classmethod
    def empty(cls, terms: int = 0, lengths: np.ndarray | None = None) -> "SealedPostings":
        """Return postings of no terms: of no documents, or of documents without tokens."""
        lengths = np.zeros(0, np.int32) if lengths is None else lengths
        indptr, documents = np.zeros(terms + 1, np.int64), np.zeros(0, np.int32)
        return cls(indptr, documents, np.zeros(0, np.float32), lengths)

    def write(self, folder: Path, view: str) -> None:
        for name in self.FILES:
            np.save(folder / f"{view}.{name}.npy", getattr(self, name))

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


# ------------------------------------------------------------------- one view
# BM25 over two generations of postings, with one set of statistics.
#
# Theory of operation. A view (say, "window") has *sealed* postings, in files, and *tail* postings,
# plain dictionaries to which a document is added with its turn. Document frequency and document count
# are those of both together (with statistics per part, the top ten agree by 0.8). The mean length is
# that of both for the tail, and that at sealing for sealed documents (see ``postings``), so with an
# empty tail the scores are bm25s's own. A sealed document never changes: it is *tombstoned*, which
# removes it from ranking and statistics.
#
# The formula is bm25s's "lucene" (Robertson with an idf that cannot be negative):
# ``idf * tf / (tf + k1 * (1 - b + b * length / average))``.


class LexicalView:
    """One view's two generations, scored together."""

    def __init__(self, sealed: SealedPostings, total: float, options: IndexOptions) -> None:
        """Start with an empty tail; ``total`` is the sum of the sealed documents' lengths."""
        self._sealed, self._tail, self._options = sealed, TailPostings(), options
        self._lengths = Column(np.int32, sealed.lengths)
        self._alive: np.ndarray | None = None  # by sealed document, once one is dead
        self._dead: Counter[int] = Counter()  # dead sealed documents by term
        self._scores = np.zeros(0, np.float32)  # of the latest query
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

    def sealed_frequency(self, row: int) -> int:
        """Return the number of sealed documents with a term, dead ones too; 0 for row -1."""
        return self._sealed.frequency(row) if row >= 0 else 0

    def frequency(self, term: str, row: int) -> int:
        """Return the number of living documents with a term; ``row`` is as in ``search``."""
        return self._tail.frequency(term) + self.sealed_frequency(row) - self._dead[row]

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
        self._scores = np.zeros(len(self._lengths), np.float32)
        frequencies = map(self.frequency, terms, rows)
        weights = [
            share * idf(frequency, self.living)
            for frequency, share in zip(frequencies, shares or [1.0] * len(terms), strict=True)
        ]
        for term, row, weight in zip(terms, rows, weights, strict=True):
            if sealed and row >= 0:
                self._add_sealed(row, weight)
            self._add_tail(*self._tail.postings(term), weight)
        if self._alive is not None:
            self._scores[: len(self._alive)] *= self._alive
        documents = np.flatnonzero(self._scores)
        if len(documents) > k:
            documents = documents[np.argpartition(-self._scores[documents], k - 1)[:k]]
        return documents, weights

    def _add_sealed(self, row: int, weight: float) -> None:
        documents, scores = self._sealed.postings(row)
        # Half the time of ``[...] +=``, which reads and writes through a copy.
        np.add.at(self._scores, documents, scores * np.float32(weight / self._sealed.idf(row)))

    def _add_tail(self, documents: np.ndarray, times: np.ndarray, weight: float) -> None:
        if len(documents):
            k1, b = self._options.k1, self._options.b
            lengths = self._lengths.tail[documents - len(self._sealed.lengths)]
            norm = k1 * (1 - b) + k1 * b * self.living / self.total * lengths
            self._scores[documents] += weight * (times / (times + norm))

    def scores(self, documents: np.ndarray) -> np.ndarray:
        """Return documents' scores for the latest query.

        The result has shape (n,), float32, 0 for documents without a term and for later ones.
        """
        scores = np.zeros(len(documents), np.float32)
        known = documents < len(self._scores)
        scores[known] = self._scores[documents[known]]
        return scores


class DocumentTerms(NamedTuple):
    """A document's occurrences by term: its own, and those of its keys."""

    own: Counts
    keys: Counts


class LexicalViews:
    """The lexical views, and the forward index that they are made from."""

    def __init__(
        self,
        tokenizer: Tokenizer,
        options: IndexOptions,
        sealed: Path | None,
        header: Header | None,
    ) -> None:
        """Open the sealed part, or start empty. Queries must use the same tokenizer."""
        self._tokenizer = tokenizer
        self.chosen = options.views
        self._with_keys = any(view.keys for view in self.chosen)
        self.forward = ForwardIndex(sealed)
        self.views = {
            view.name: LexicalView(
                SealedPostings.open(sealed, view.name) if sealed else SealedPostings.empty(),
                header.views[view.name] if header else 0.0,
                options,
            )
            for view in self.chosen
        }
        # The neighbours at sealing: their terms are in a sealed document's window.
        self._before = open_array(sealed / "before.npy") if sealed else np.zeros(0, np.int32)
        self._after = open_array(sealed / "after.npy") if sealed else np.zeros(0, np.int32)

    def count(self, document: Document) -> DocumentTerms:
        return DocumentTerms(
            Counter(self._tokenizer(document.text)), self.count_keys(document.keys) or NONE
        )

    def count_keys(self, keys: Sequence[Pointer]) -> Counter[str]:
        """Count the terms of a document's keys; none if no view counts them."""
        text = key_text(keys) if self._with_keys else ""
        return Counter(self._tokenizer(text) if text else ())

    def terms(self, number: int) -> DocumentTerms:
        return DocumentTerms(self.forward.own(number), self.forward.keys(number))

    def add(self, number: int, terms: DocumentTerms) -> None:
        """Add a document without neighbours to the tail; its number is the next one."""
        self.forward.add(number, *terms)
        for view in self.chosen:
            self.views[view.name].add(number, terms.own)
            if view.keys:
                self.views[view.name].change(number, terms.keys)

    def has_keys(self, number: int, terms: DocumentTerms) -> bool:
        """Return whether the terms of a document's keys already equal those of ``terms``."""
        return self.forward.keys(number) == terms.keys

    def set_keys(self, number: int, terms: Counts) -> None:
        for view in self.chosen:
            if view.keys:
                self.views[view.name].change(number, self.forward.keys(number), -1)
                self.views[view.name].change(number, terms)
        self.forward.set_keys(number, terms)

    def remove(self, number: int) -> None:
        """Remove a tail document, whose links are cut, from every view."""
        for view in self.views.values():
            view.remove(number)

    def tombstone(self, number: int) -> dict[str, Counts]:
        """Remove a sealed document from every view; return the terms it had by view.

        Terms of its keys and neighbours are included.
        """
        found: dict[str, Counts] = {}
        for view in self.chosen:
            members = [number]
            if view.before and (before := int(self._before[number])) >= 0:
                members.append(before)
            if view.after and (after := int(self._after[number])) >= 0:
                members.append(after)
            found[view.name], rows = self.forward.sum_sealed(members, [number] if view.keys else [])
            self.views[view.name].tombstone(number, rows)
        return found

    def forget(self, number: int) -> None:
        """Drop the terms of a tail document that is in no view any more."""
        self.forward.remove(number)

    def add_neighbour_terms(
        self, number: int, sealed: Mapping[str, Counts], terms: DocumentTerms
    ) -> None:
        """Add the window terms that its neighbours contributed to a promoted document.

        ``sealed`` are all terms that it had in the sealed part, from ``tombstone``; ``terms`` its
        own, which are in the tail already.
        """
        for view in self.chosen:
            contributed = Counter(sealed[view.name])
            contributed.subtract(terms.own)
            if view.keys:
                contributed.subtract(terms.keys)
            self.views[view.name].change(number, +contributed)

    def exchange_terms(self, before: int, after: int, sign: int) -> None:
        """Add two neighbours' terms to each other's windows (``sign`` 1), or remove them (-1).

        Both are in the tail; ``before`` precedes ``after`` in the session.
        """
        own = self.forward.own
        for view in self.chosen:
            if view.after:
                self.views[view.name].change(before, own(after), sign)
            if view.before:
                self.views[view.name].change(after, own(before), sign)
