"""Candidate documents for a query: the best of each view, with all data that fusion needs."""

from collections.abc import Mapping, Sequence, Set

import numpy as np
from msgspec import Struct

from slowcat_memory.core.ranking.score import Candidates, Row
from slowcat_memory.core.text.normalize import Tokenizer
from slowcat_memory.index.files.arrays import split_rows
from slowcat_memory.index.files.document import ASKED, KEYS
from slowcat_memory.index.lexical.windows import Windows
from slowcat_memory.index.options import IndexOptions
from slowcat_memory.index.table import IdSequence, Table
from slowcat_memory.index.vectors.key_view import KeyView
from slowcat_memory.index.vectors.vector_view import VectorView


class Lexical(Struct, frozen=True, eq=False):
    """The first stage of a search: all documents by words.

    Attributes:
        scores: Shape (documents,), float32; documents added later are not proposed.
        ceiling: Upper bound of all scores: every word, saturated.
        weights: The query's tokens, each with its idf.
    """

    scores: np.ndarray
    ceiling: float
    weights: dict[str, float]

    def best(self, count: int) -> np.ndarray:
        """Return the numbers of the best documents, unordered."""
        numbers = np.flatnonzero(self.scores)
        if len(numbers) > count:
            numbers = numbers[np.argpartition(-self.scores[numbers], count - 1)[:count]]
        return numbers


WIDER = 4  # factor on the number of candidates, where most of them say nothing


class CandidateSelector:
    """Chooses candidates. Not safe to use from several threads."""

    def __init__(
        self,
        table: Table,
        words: Windows,
        tokenizer: Tokenizer,
        dense: VectorView,
        keys: Mapping[str, KeyView],
        options: IndexOptions,
    ) -> None:
        """Connect the parts; ``keys`` are the key views by name."""
        self._table, self._words, self._options = table, words, options
        self._dense, self._keys = dense, keys
        self._tokenize = tokenizer.for_queries()  # without the cache: a query's words are not kept

    def lexical(self, text: str, also: tuple[tuple[str, float], ...], *, sealed: bool) -> Lexical:
        tokens = list(dict.fromkeys(self._tokenize(text)))
        own = len(tokens)
        tokens, shares = self._add(tokens, also)
        rows = self._words.forward.vocabulary.rows(tokens)
        scores, idf = self._words.view.search(tokens, rows, sealed=sealed, shares=shares)
        # The meant word replaces the spoken one: it counts once.
        return Lexical(scores, sum(idf[:own]), dict(zip(tokens, idf, strict=True)))

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

    def unknown(self, words: Sequence[str]) -> list[bool]:
        """Return which words of a query never occurred here; False for stop words."""
        tokenized = [self._tokenize(word) for word in words]
        tokens = list(dict.fromkeys(token for each in tokenized for token in each))
        rows = self._words.forward.vocabulary.rows(tokens)
        window = self._words.view
        new = {
            token
            for token, row in zip(tokens, rows, strict=True)
            if row < 0 and not window.tail_frequency(token)
        }
        return [bool(each) and new.issuperset(each) for each in tokenized]

    def knows(self, word: str) -> bool:
        tokens = self._tokenize(word)
        rows = self._words.forward.vocabulary.rows(tokens)
        frequency = self._words.view.frequency
        return not tokens or any(map(frequency, tokens, rows))

    def postings(self, text: str) -> int:
        tokens = list(dict.fromkeys(self._tokenize(text)))
        rows = self._words.forward.vocabulary.rows(tokens)
        return sum(map(self._words.view.sealed_frequency, rows))

    def select(
        self,
        lexical: Lexical,
        vector: np.ndarray | None,
        exclude: Set[str],
        own: np.ndarray | None,
        *,
        talk: bool = False,
        visible: Set[str] = frozenset(),
    ) -> Candidates:
        table, count = self._table, self._options.candidates
        if vector is None or not len(self._dense):
            vector = own = None
        barred, seen = ([*map(table.find, ids)] for ids in (exclude, visible))
        while True:
            numbers = np.unique(self._propose(lexical, vector, count))
            numbers = numbers[table.alive.take(numbers) & (numbers < len(lexical.scores))]
            numbers = numbers[~np.isin(numbers, barred)]
            fresh = ~np.isin(numbers, seen)
            says = np.ones(len(numbers), bool) if talk else table.says(numbers)
            if 2 * (says & fresh).sum() >= fresh.sum() or count >= len(table):
                break  # else copies of a question may have taken the places of its answer
            count *= WIDER
        numbers, known = numbers[says], {"window"}
        block = self._columns(numbers)
        block[Row.VISIBLE] = ~fresh[says]
        block[Row.WINDOW] = lexical.scores[numbers]
        if vector is not None:
            own = vector if own is None else own
            block[Row.DENSE] = block[Row.COSINE] = self._dense.cosines(vector, numbers)
            if own is not vector:
                block[Row.COSINE] = self._dense.cosines(own, numbers)
            known |= {"dense"} | self._score_keys(vector, own, numbers, block)
        ids = IdSequence(table.ids, numbers)
        return Candidates(block=block, known=frozenset(known), ids=ids)

    def _propose(self, lexical: Lexical, vector: np.ndarray | None, count: int) -> np.ndarray:
        """Return the best documents of each view, not unique."""
        proposed = [lexical.best(count)]
        if vector is not None:
            proposed.append(self._dense.nearest(vector, count))
            keys = (view for view in self._keys.values() if len(view.dense))
            proposed += (view.nearest(vector, count) for view in keys)
        return np.concatenate(proposed)

    def _columns(self, numbers: np.ndarray) -> np.ndarray:
        """Return a block with what the table has of documents, NaN for all else."""
        table, block = self._table, np.full((len(Row), len(numbers)), np.nan)
        parts = split_rows(numbers, table.sealed_count)
        block[Row.BEFORE] = _positions(numbers, table.before.gather(*parts))
        block[Row.AFTER] = _positions(numbers, table.after.gather(*parts))
        for row, column in {
            Row.AT: table.at,
            Row.IMPORTANCE: table.importance,
            Row.SUBSTANCE: table.substance,
            Row.AGENT: table.agent,
            Row.PINNED: table.pinned,
            Row.SESSION: table.session,
            Row.SPEAKER: table.speaker,
            Row.ABOUT_FROM: table.about[0],
            Row.ABOUT_UNTIL: table.about[1],
        }.items():
            block[row] = column.gather(*parts)
        return block

    def _score_keys(
        self, vector: np.ndarray, own: np.ndarray, numbers: np.ndarray, block: np.ndarray
    ) -> set[str]:
        """Score by keys and return the names of these views, of those that have any keys.

        Judged queries are compared with the query alone.
        """
        known, written, asked = set(), self._keys[KEYS], self._keys[ASKED]
        if len(written.dense):
            block[Row.KEYS] = written.best_cosines(vector, numbers)
            known.add(KEYS)
        if len(asked.dense):
            block[Row.ASKED] = asked.sum_votes(own, numbers, self._options.same)
            known.add(ASKED)
        return known


def _positions(numbers: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Return each wanted number's position in the sorted ``numbers``, -1 if missing."""
    if not len(numbers):
        return np.zeros(0, np.int64)
    at = np.searchsorted(numbers, wanted)
    at[at == len(numbers)] = 0
    return np.where(numbers[at] == wanted, at, -1)
