"""Postings that change: of what was said since the last seal."""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

Counts = Mapping[str, int]


class TailPostings:
    """Documents from ``base`` on, and counts that change."""

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
                self._drop(term, document)

    def remove(self, document: int) -> Counter[str]:
        """Take a document out.

        Args:
            document: Its number.

        Returns:
            Its term counts.
        """
        counts = self.documents.pop(document)
        for term in counts:
            self._drop(term, document)
            self._arrays.pop(term, None)
        return counts

    def _drop(self, term: str, document: int) -> None:
        held = self._terms.get(term)
        if held is not None:
            held.pop(document, None)
            if not held:
                del self._terms[term]

    def frequency(self, term: str) -> int:
        """Count the documents that hold a term."""
        return len(self._terms.get(term, ()))

    def postings(self, terms: Sequence[str]) -> list[tuple[int, np.ndarray, np.ndarray]]:
        """Return where terms occur.

        Args:
            terms: The terms.

        Returns:
            For each term that occurs: its place in ``terms``, its documents, and its frequency in
            each, both of shape (n,).
        """
        return [(n, *self._postings(t)) for n, t in enumerate(terms) if t in self._terms]

    def _postings(self, term: str) -> tuple[np.ndarray, np.ndarray]:
        arrays = self._arrays.get(term)
        if arrays is None:
            held = self._terms[term]
            arrays = (
                np.fromiter(held.keys(), np.int64, len(held)),
                np.fromiter(held.values(), np.float32, len(held)),
            )
            self._arrays[term] = arrays
        return arrays
