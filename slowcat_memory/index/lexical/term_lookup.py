"""A query's words, looked up in every lexical view: the first stage of a search."""

from collections.abc import Sequence
from weakref import ReferenceType, ref

import numpy as np

from slowcat_memory.core.text.normalize import Tokenizer
from slowcat_memory.index.candidates import Lexical
from slowcat_memory.index.lexical.view_set import Words
from slowcat_memory.index.lexical.views import SOURCES, WINDOW
from slowcat_memory.index.options import IndexOptions


class Lookup:
    """Asks the lexical views. Not safe to use from several threads."""

    def __init__(self, words: Words, tokenizer: Tokenizer, options: IndexOptions) -> None:
        """Wire the parts.

        Args:
            words: The views.
            tokenizer: That of the documents.
            options: The index's options.
        """
        self._words, self._options = words, options
        self._asking = tokenizer.for_queries()
        # Whose scores the views hold; its words go with it, when the query is done.
        self._scored: ReferenceType[Lexical] | None = None

    def best(
        self, text: str, also: tuple[tuple[str, float], ...], *, sealed: bool, known: int
    ) -> Lexical:
        """Find the best documents by the words of a query.

        Args:
            text: The query.
            also: Words that it may have meant, each with its share of their weight.
            sealed: False looks at the tail only.
            known: How many document numbers were given so far.

        Returns:
            The best by view.
        """
        sources = self._words.sources
        asked = {name: list(dict.fromkeys(SOURCES[name](self._asking, text))) for name in sources}
        own = len(asked["words"])
        shares = self._add(asked["words"], also)
        self._scored = None
        rows = {name: sources[name].vocabulary.rows(asked[name]) for name in asked}
        best, ceiling, weights = {}, 0.0, dict[str, float]()
        for view in self._words.chosen:
            found, idf = self._words.views[view.name].search(
                asked[view.source],
                rows[view.source],
                self._options.candidates,
                sealed=sealed,
                shares=shares if view.source == "words" else (),
            )
            best[view.name] = found
            if view is WINDOW:  # what was meant stands for what was said: it weighs once
                ceiling = sum(idf[:own])
                weights = dict(zip(asked[view.source], idf, strict=True))
        made = Lexical(text, also, sealed, best, ceiling, weights, known)
        self._scored = ref(made)
        return made

    def _add(self, asked: list[str], also: tuple[tuple[str, float], ...]) -> list[float]:
        """Add tokens to those of a query; return each one's share, nothing without additions."""
        if not also:
            return []
        shares = dict.fromkeys(asked, 1.0)
        for word, share in also:
            for token in self._asking(word):
                shares.setdefault(token, share)
        asked[:] = shares
        return list(shares.values())

    def forget(self) -> None:
        """Drop what is held of the last query."""
        self._scored = None

    def scores(self, lexical: Lexical, numbers: np.ndarray) -> dict[str, np.ndarray]:
        """Tell documents' scores by words.

        Args:
            lexical: From ``best``.
            numbers: Document numbers, shape (n,), living ones.

        Returns:
            By view, shape (n,), float32.
        """
        if self._scored is None or self._scored() is not lexical:  # another query came by
            self.best(lexical.text, lexical.also, sealed=lexical.sealed, known=lexical.known)
            self._scored = ref(lexical)
        return {name: view.scores(numbers) for name, view in self._words.views.items()}

    def unknown(self, words: Sequence[str]) -> list[bool]:
        """Tell which words nobody here has ever said.

        Args:
            words: Words of a query.

        Returns:
            For each one; False for stop words.
        """
        made = [self._asking(word) for word in words]
        tokens = list(dict.fromkeys(token for each in made for token in each))
        rows = self._words.sources["words"].vocabulary.rows(tokens)
        tail = self._words.views[WINDOW.name]
        new = {
            token
            for token, row in zip(tokens, rows, strict=True)
            if row < 0 and not tail.tail_frequency(token)
        }
        return [bool(each) and new.issuperset(each) for each in made]

    def knows(self, word: str) -> bool:
        """Tell whether a word was ever said here.

        Args:
            word: A word of a query.

        Returns:
            Whether a living document, or the one next to it, holds it; True for a stop word.
        """
        terms = SOURCES[WINDOW.source](self._asking, word)
        rows = self._words.sources[WINDOW.source].vocabulary.rows(terms)
        frequency = self._words.views[WINDOW.name].frequency
        return not terms or any(map(frequency, terms, rows))

    def postings(self, text: str) -> int:
        """Count the sealed postings that a query walks over, in all views.

        Args:
            text: The query.

        Returns:
            How many.
        """
        total = 0
        for view in self._words.chosen:
            terms = list(dict.fromkeys(SOURCES[view.source](self._asking, text)))
            rows = self._words.sources[view.source].vocabulary.rows(terms)
            total += sum(self._words.views[view.name].sealed_frequency(row) for row in rows)
        return total
