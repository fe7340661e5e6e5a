"""Candidate documents for a query: the best of each view, with all data that fusion needs."""

from collections.abc import Mapping, Sequence, Set

import numpy as np

from slowcat_memory.core.ranking.frame import VIEWS, Frame, Row
from slowcat_memory.index.files.arrays import split_rows
from slowcat_memory.index.files.document import ASKED, KEYS
from slowcat_memory.index.files.ids import IdSequence
from slowcat_memory.index.lexical.term_lookup import Lexical, TermLookup
from slowcat_memory.index.options import IndexOptions
from slowcat_memory.index.table import Table
from slowcat_memory.index.vectors.key_view import KeyView
from slowcat_memory.index.vectors.vector_view import VectorView

WIDER = 4  # factor on the number of candidates, where most of them say nothing


class Candidates(Frame, frozen=True, eq=False, kw_only=True):
    """The documents that a search proposes, for fusion.

    Attributes:
        ids: Memory ids; most are only made when they are read.
    """

    ids: Sequence[str]


class CandidateSelector:
    """Chooses candidates. Not safe to use from several threads."""

    def __init__(
        self,
        table: Table,
        lookup: TermLookup,
        dense: VectorView,
        keys: Mapping[str, KeyView],
        options: IndexOptions,
    ) -> None:
        """Connect the parts; ``keys`` are the key views by name."""
        self._table, self._lookup, self._options = table, lookup, options
        self._dense, self._keys = dense, keys

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
            numbers = numbers[table.alive.take(numbers) & (numbers < lexical.known)]
            numbers = numbers[~np.isin(numbers, barred)]
            fresh = ~np.isin(numbers, seen)
            says = np.ones(len(numbers), bool) if talk else table.says(numbers)
            if 2 * (says & fresh).sum() >= fresh.sum() or count >= len(table):
                break  # else copies of a question may have taken the places of its answer
            count *= WIDER
            lexical = self._lookup.widened(lexical, count)
        self._lookup.score(lexical)
        numbers, known = numbers[says], set(lexical.best)
        block = self._columns(numbers)
        block[Row.VISIBLE] = ~fresh[says]
        for name, scores in self._lookup.scores(numbers).items():
            block[VIEWS[name]] = scores
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
        proposed = list(lexical.best.values())
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
