"""The lexical views of a namespace: which words each document has in each of them.

A view's words are a document's own and, in a window, those of its neighbours. What is sealed does
not change: a sealed document is only ever *buried*, which takes it out of ranking and statistics.
"""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from slowcat_memory.core.text import Tokenizer
from slowcat_memory.index.building import Header
from slowcat_memory.index.lexical import LexicalView
from slowcat_memory.index.mapped import open_array
from slowcat_memory.index.options import IndexOptions
from slowcat_memory.index.postings import SealedPostings
from slowcat_memory.index.source import Source
from slowcat_memory.index.tail import Counts
from slowcat_memory.index.views import SOURCES, sources, views


class Words:
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
        self.sources = {name: Source(sealed, name) for name in sources(self.chosen)}
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

    def count(self, text: str) -> dict[str, Counts]:
        """Count what each source counts.

        Args:
            text: A document's text.

        Returns:
            Occurrences by term, by source.
        """
        return {name: Counter(SOURCES[name](self._tokenizer, text)) for name in self.sources}

    def own(self, number: int) -> dict[str, Counts]:
        """Return a document's own terms.

        Args:
            number: Its number.

        Returns:
            As ``count``.
        """
        return {name: source.counts(number) for name, source in self.sources.items()}

    def add(self, number: int, counts: Mapping[str, Counts]) -> None:
        """Add a document without neighbours to the tail.

        Args:
            number: Its number, the next one.
            counts: From ``count``.
        """
        for name, source in self.sources.items():
            source.add(number, counts[name])
        for view in self.chosen:
            self.views[view.name].add(number, counts[view.source])

    def remove(self, number: int) -> None:
        """Take a document of the tail, who has no neighbours any more, out of every view.

        Args:
            number: Its number.
        """
        for view in self.views.values():
            view.remove(number)

    def bury(self, number: int) -> dict[str, Counts]:
        """Take a sealed document out of every view.

        Args:
            number: Its number.

        Returns:
            The terms that it had, its neighbours' included, by view.
        """
        found: dict[str, Counts] = {}
        for view in self.chosen:
            lent = [number]
            if view.before and (before := int(self._before[number])) >= 0:
                lent.append(before)
            if view.after and (after := int(self._after[number])) >= 0:
                lent.append(after)
            found[view.name], rows = self.sources[view.source].joined(lent)
            self.views[view.name].bury(number, rows)
        return found

    def forget(self, number: int) -> None:
        """Forget the own terms of a document that is in no view any more.

        Args:
            number: Its number.
        """
        for source in self.sources.values():
            source.remove(number)

    def lend(self, number: int, held: Mapping[str, Counts], own: Mapping[str, Counts]) -> None:
        """Give a document that was lifted out of the sealed part what its neighbours lent it there.

        Args:
            number: Its number in the tail, where it has its own terms already.
            held: From ``bury``.
            own: From ``own``.
        """
        for view in self.chosen:
            lent = Counter(held[view.name])
            lent.subtract(own[view.source])
            self.views[view.name].change(number, +lent)

    def share(self, before: int, after: int, sign: int) -> None:
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
