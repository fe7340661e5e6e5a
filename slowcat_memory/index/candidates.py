"""Candidate documents for a query: the best of each view, with all data that fusion needs."""

from collections.abc import Mapping, Sequence, Set

import numpy as np
from msgspec import Struct

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


class Chosen(Struct, frozen=True):
    """The proposed documents that may answer.

    Attributes:
        numbers: Rising, shape (n,), int64.
        block: As of ``Frame``; the rows of keys are not filled.
        fresh: How many of the living ones were not visible.
        saying: How many of these say something of their own.
    """

    numbers: np.ndarray
    block: np.ndarray
    fresh: int
    saying: int


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
        count = self._options.candidates
        if vector is None or not len(self._dense):
            vector = own = None
        barred, seen = ([*map(self._table.find, ids)] for ids in (exclude, visible))
        while True:
            proposed = self._propose(lexical, vector, count)
            self._lookup.score(lexical)
            found = self._choose(
                proposed, lexical.known, barred, seen, query=vector, own=own, talk=talk
            )
            if 2 * found.saying >= found.fresh or count >= len(self._table):
                break  # else copies of a question may have taken the places of its answer
            count *= WIDER
            lexical = self._lookup.widened(lexical, count)
        known = set(lexical.best)
        if vector is not None:
            known.add("dense")
            known |= self._score_keys(vector, found, vector if own is None else own)
        ids = IdSequence(self._table.ids, found.numbers)
        return Candidates(block=found.block, known=frozenset(known), ids=ids)

    def _propose(self, lexical: Lexical, vector: np.ndarray | None, count: int) -> np.ndarray:
        """Return the best documents of each view, not unique."""
        proposed = list(lexical.best.values())
        if vector is not None:
            proposed.append(self._dense.nearest(vector, count))
            keys = (view for view in self._keys.values() if len(view.dense))
            proposed += (view.nearest(vector, count) for view in keys)
        return np.concatenate(proposed)

    def _choose(
        self,
        proposed: np.ndarray,
        known: int,
        barred: Sequence[int],
        seen: Sequence[int],
        *,
        query: np.ndarray | None,
        own: np.ndarray | None,
        talk: bool,
    ) -> Chosen:
        table, numbers = self._table, np.unique(proposed)
        numbers = numbers[table.alive.take(numbers) & (numbers < known)]
        numbers = numbers[~np.isin(numbers, barred)]
        visible = np.isin(numbers, seen)
        says = np.ones(len(numbers), bool) if talk else table.says(numbers)
        fresh, saying = int((~visible).sum()), int((says & ~visible).sum())
        numbers, visible = numbers[says], visible[says]
        block = np.full((len(Row), len(numbers)), np.nan)
        for name, scores in self._lookup.scores(numbers).items():
            block[VIEWS[name]] = scores
        if query is not None:
            block[Row.DENSE] = self._dense.cosines(query, numbers)
            block[Row.COSINE] = (
                block[Row.DENSE] if own is None else self._dense.cosines(own, numbers)
            )
        parts = split_rows(numbers, table.sealed_count)
        block[Row.BEFORE] = _positions(numbers, table.before.gather(*parts))
        block[Row.AFTER] = _positions(numbers, table.after.gather(*parts))
        block[Row.VISIBLE] = visible
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
        return Chosen(numbers, block, fresh, saying)

    def _score_keys(self, vector: np.ndarray, found: Chosen, own: np.ndarray) -> set[str]:
        """Score by keys and return the names of these views, of those that have any keys.

        Judged queries are compared with the query alone.
        """
        known, written, asked = set(), self._keys[KEYS], self._keys[ASKED]
        if len(written.dense):
            found.block[Row.KEYS] = written.best_cosines(vector, found.numbers)
            known.add(KEYS)
        if len(asked.dense):
            votes = asked.sum_votes(own, found.numbers, self._options.same)
            found.block[Row.ASKED] = votes
            known.add(ASKED)
        return known


def _positions(numbers: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Return each wanted number's position in the sorted ``numbers``, -1 if missing."""
    if not len(numbers):
        return np.zeros(0, np.int64)
    at = np.searchsorted(numbers, wanted)
    at[at == len(numbers)] = 0
    return np.where(numbers[at] == wanted, at, -1)
