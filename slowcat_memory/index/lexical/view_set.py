"""All lexical views of a namespace: the terms of each document in each view.

A view's terms are a document's own and, in a window, those of its neighbours. A sealed document
never changes: before a change it is copied to the tail, and the original tombstoned.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from slowcat_memory.core.text.normalize import Tokenizer
from slowcat_memory.index.files.arrays import open_array
from slowcat_memory.index.files.document import Document, Pointer, key_text
from slowcat_memory.index.files.header import Header
from slowcat_memory.index.lexical.bm25 import LexicalView
from slowcat_memory.index.lexical.forward_index import NONE, ForwardIndex
from slowcat_memory.index.lexical.postings import Counts, SealedPostings
from slowcat_memory.index.options import IndexOptions


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
