"""A query's words, looked up in every lexical view: the first stage of a search."""

from collections.abc import Sequence
from weakref import ReferenceType, ref

import numpy as np
from msgspec import Struct

from slowcat_memory.core.text.normalize import Tokenizer
from slowcat_memory.index.lexical.view_set import LexicalViews
from slowcat_memory.index.options import WINDOW, IndexOptions


class Lexical(Struct, frozen=True, eq=False, weakref=True):
    """The first stage of a search: the best documents by words.

    The scores of all the others stay in the searcher until its next query; after that they are
    computed again on request.

    Attributes:
        also: Words possibly meant, each with its share of their weight.
        sealed: Whether the sealed part was searched too.
        best: Document numbers by view, unordered.
        ceiling: Upper bound of all scores of the window view: every word, saturated.
        weights: The query's tokens, each with its idf.
        known: How many document numbers existed: later documents are not proposed.
    """

    text: str
    also: tuple[tuple[str, float], ...]
    sealed: bool
    best: dict[str, np.ndarray]
    ceiling: float
    weights: dict[str, float]
    known: int


class TermLookup:
    """Searches the lexical views. Not safe to use from several threads."""

    def __init__(self, words: LexicalViews, tokenizer: Tokenizer, options: IndexOptions) -> None:
        self._words, self._options = words, options
        self._tokenize = tokenizer.for_queries()  # without the cache: a query's words are not kept
        # The query whose scores are in the views; its words are freed with it.
        self._scored: ReferenceType[Lexical] | None = None

    def best(
        self,
        text: str,
        also: tuple[tuple[str, float], ...],
        *,
        sealed: bool,
        known: int,
        count: int = 0,
    ) -> Lexical:
        """Find the best documents by the words of a query.

        Args:
            also: Words possibly meant, each with its share of their weight.
            sealed: False searches the tail only.
            known: How many document numbers exist.
            count: How many each view proposes; 0 for the option's.
        """
        tokens = list(dict.fromkeys(self._tokenize(text)))
        own = len(tokens)
        tokens, shares = self._add(tokens, also)
        self._scored = None
        rows = self._words.forward.vocabulary.rows(tokens)
        best, ceiling, weights = {}, 0.0, dict[str, float]()
        for view in self._words.chosen:
            best[view.name], idf = self._words.views[view.name].search(
                tokens, rows, count or self._options.candidates, sealed=sealed, shares=shares
            )
            if view is WINDOW:  # the meant word replaces the spoken one: it counts once
                ceiling = sum(idf[:own])
                weights = dict(zip(tokens, idf, strict=True))
        found = Lexical(text, also, sealed, best, ceiling, weights, known)
        self._scored = ref(found)
        return found

    def _add(
        self, tokens: list[str], also: tuple[tuple[str, float], ...]
    ) -> tuple[list[str], list[float]]:
        """Add the tokens of more words; return all with their shares, none without additions."""
        if not also:
            return tokens, []
        shares = dict.fromkeys(tokens, 1.0)
        for word, share in also:
            for token in self._tokenize(word):
                shares.setdefault(token, share)
        return list(shares), list(shares.values())

    def widened(self, lexical: Lexical, count: int) -> Lexical:
        """Return the result for the same query with more documents by view."""
        return self.best(
            lexical.text, lexical.also, sealed=lexical.sealed, known=lexical.known, count=count
        )

    def forget(self) -> None:
        self._scored = None

    def score(self, lexical: Lexical) -> None:
        """Make the views hold the scores of a query, again if another one came between."""
        if self._scored is None or self._scored() is not lexical:
            self.best(lexical.text, lexical.also, sealed=lexical.sealed, known=lexical.known)
            self._scored = ref(lexical)

    def scores(self, numbers: np.ndarray) -> dict[str, np.ndarray]:
        """Return the scores of living documents by view for the query of ``score``.

        ``numbers`` has shape (n,), each result too, float32.
        """
        return {name: view.scores(numbers) for name, view in self._words.views.items()}

    def unknown(self, words: Sequence[str]) -> list[bool]:
        """Return which words of a query never occurred here; False for stop words."""
        tokenized = [self._tokenize(word) for word in words]
        tokens = list(dict.fromkeys(token for each in tokenized for token in each))
        rows = self._words.forward.vocabulary.rows(tokens)
        window = self._words.views[WINDOW.name]
        new = {
            token
            for token, row in zip(tokens, rows, strict=True)
            if row < 0 and not window.tail_frequency(token)
        }
        return [bool(each) and new.issuperset(each) for each in tokenized]

    def knows(self, word: str) -> bool:
        tokens = self._tokenize(word)
        rows = self._words.forward.vocabulary.rows(tokens)
        frequency = self._words.views[WINDOW.name].frequency
        return not tokens or any(map(frequency, tokens, rows))

    def postings(self, text: str) -> int:
        tokens = list(dict.fromkeys(self._tokenize(text)))
        rows = self._words.forward.vocabulary.rows(tokens)
        return sum(
            view.sealed_frequency(row) for view in self._words.views.values() for row in rows
        )
