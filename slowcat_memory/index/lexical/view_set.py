"""The lexical views of a namespace: which words each document has in each of them.

A view's words are a document's own and, in a window, those of its neighbours. What is sealed does
not change: a sealed document is only ever *buried*, which takes it out of ranking and statistics.
"""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from slowcat_memory.core.text.normalize import Tokenizer
from slowcat_memory.index.files.document import Document
from slowcat_memory.index.files.header import Header
from slowcat_memory.index.files.mapped import open_array
from slowcat_memory.index.lexical.bm25 import LexicalView
from slowcat_memory.index.lexical.forward_index import ForwardIndex
from slowcat_memory.index.lexical.sealed_postings import SealedPostings
from slowcat_memory.index.lexical.tail_postings import Counts
from slowcat_memory.index.lexical.views import SOURCES, keyed, sources, views
from slowcat_memory.index.options import IndexOptions


class Counted(NamedTuple):
    """What one source counts of a document: its own terms, and those of its keys."""

    own: Counts
    keys: Counts


class LexicalViews:
    """All lexical views, and what they are counted from."""

    def __init__(
        self,
        tokenizer: Tokenizer,
        options: IndexOptions,
        sealed: Path | None,
        header: Header | None,
    ) -> None:
        """Open what is sealed, or start empty.

        Args:
            tokenizer: The same one for documents and queries.
            options: The index's options.
            sealed: Folder of the sealed index.
            header: What it says of itself.
        """
        self._tokenizer = tokenizer
        self.chosen = views(options)
        self._keyed = keyed(self.chosen)
        self.sources = {name: ForwardIndex(sealed, name) for name in sources(self.chosen)}
        self.views = {
            view.name: LexicalView(
                SealedPostings.open(sealed, view.name) if sealed else SealedPostings.empty(),
                header.views[view.name] if header else 0.0,
                options,
            )
            for view in self.chosen
        }
        # As they were when it was sealed: those whose words are in a sealed document's window.
        self._before = open_array(sealed / "before.npy") if sealed else np.zeros(0, np.int32)
        self._after = open_array(sealed / "after.npy") if sealed else np.zeros(0, np.int32)

    def count(self, document: Document) -> dict[str, Counted]:
        """Count what each source counts.

        Args:
            document: A document.

        Returns:
            Occurrences by term, by source.
        """
        return {name: self._counted(name, document) for name in self.sources}

    def _counted(self, source: str, document: Document) -> Counted:
        own = Counter(SOURCES[source](self._tokenizer, document.text))
        told = document.told if source in self._keyed else ""
        return Counted(own, Counter(SOURCES[source](self._tokenizer, told)) if told else {})

    def own(self, number: int) -> dict[str, Counted]:
        """Return a document's terms.

        Args:
            number: Its number.

        Returns:
            As ``count``.
        """
        return {
            name: Counted(source.counts(number), source.keys(number))
            for name, source in self.sources.items()
        }

    def add(self, number: int, counts: Mapping[str, Counted]) -> None:
        """Add a document without neighbours to the tail.

        Args:
            number: Its number, the next one.
            counts: From ``count``.
        """
        for name, source in self.sources.items():
            source.add(number, *counts[name])
        for view in self.chosen:
            own, keys = counts[view.source]
            self.views[view.name].add(number, own)
            if view.keys:
                self.views[view.name].change(number, keys)

    def has_keys(self, number: int, counts: Mapping[str, Counted]) -> bool:
        """Tell whether the terms of a document's keys are what they are to be.

        Args:
            number: Its number.
            counts: From ``count``.

        Returns:
            Whether nothing is to be done.
        """
        return all(
            source.keys(number) == counts[name].keys for name, source in self.sources.items()
        )

    def set_keys(self, number: int, counts: Mapping[str, Counted]) -> None:
        """Change the terms of a tail document's keys.

        Args:
            number: Its number.
            counts: From ``count``.
        """
        for view in self.chosen:
            if view.keys:
                self.views[view.name].change(number, self.sources[view.source].keys(number), -1)
                self.views[view.name].change(number, counts[view.source].keys)
        for name, source in self.sources.items():
            source.set_keys(number, counts[name].keys)

    def remove(self, number: int) -> None:
        """Take a document of the tail, who has no neighbours any more, out of every view.

        Args:
            number: Its number.
        """
        for view in self.views.values():
            view.remove(number)

    def tombstone(self, number: int) -> dict[str, Counts]:
        """Take a sealed document out of every view.

        Args:
            number: Its number.

        Returns:
            The terms that it had, its keys' and neighbours' included, by view.
        """
        found: dict[str, Counts] = {}
        for view in self.chosen:
            lent = [number]
            if view.before and (before := int(self._before[number])) >= 0:
                lent.append(before)
            if view.after and (after := int(self._after[number])) >= 0:
                lent.append(after)
            found[view.name], rows = self.sources[view.source].joined(
                lent, [number] if view.keys else []
            )
            self.views[view.name].tombstone(number, rows)
        return found

    def forget(self, number: int) -> None:
        """Forget the own terms of a document that is in no view any more.

        Args:
            number: Its number.
        """
        for source in self.sources.values():
            source.remove(number)

    def add_neighbour_terms(
        self, number: int, held: Mapping[str, Counts], own: Mapping[str, Counted]
    ) -> None:
        """Give a document that was lifted out of the sealed part what its neighbours lent it there.

        Args:
            number: Its number in the tail, where it has its own terms already.
            held: From ``bury``.
            own: From ``own``.
        """
        for view in self.chosen:
            lent = Counter(held[view.name])
            lent.subtract(own[view.source].own)
            if view.keys:
                lent.subtract(own[view.source].keys)
            self.views[view.name].change(number, +lent)

    def exchange_terms(self, before: int, after: int, sign: int) -> None:
        """Let two documents' words enter each other's views, or leave them.

        Args:
            before: The one said first, in the tail.
            after: The one said next, in the tail.
            sign: 1 to enter, -1 to leave.
        """
        for view in self.chosen:
            own = self.sources[view.source].counts
            if view.after:
                self.views[view.name].change(before, own(after), sign)
            if view.before:
                self.views[view.name].change(after, own(before), sign)
