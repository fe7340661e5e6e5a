"""Candidate documents for a query: the best of each view, with all data that fusion needs."""

from collections.abc import Mapping, Sequence, Set

import numpy as np
from msgspec import Struct

from slowcat_memory.index.files.arrays import split_rows
from slowcat_memory.index.files.document import ASKED, KEYS
from slowcat_memory.index.files.ids import IdSequence
from slowcat_memory.index.lexical.term_lookup import Lexical, TermLookup
from slowcat_memory.index.options import IndexOptions
from slowcat_memory.index.table import Table
from slowcat_memory.index.vectors.key_view import KeyView
from slowcat_memory.index.vectors.vector_view import VectorView
from slowcat_memory.kernels import candidates as kernel
from slowcat_memory.kernels.candidates import Chosen
from slowcat_memory.kernels.lexical import distinct
from slowcat_memory.kernels.ranking import VIEWS, Row

WIDER = 4  # factor on the number of candidates, where most of them say nothing


class Candidates(Struct, frozen=True):
    """The n documents that a search proposes, for fusion.

    Attributes:
        ids: Memory ids; most are only made when they are read.
        block: All that ranking reads of them, shape (len(Row), n), float64; see ``Row``.
        known: Names of the views that the query has; the rows of the others are undefined. Without
            a query vector "dense", "keys" and "asked" are missing, and the last two also if the
            namespace has no such keys.
    """

    ids: Sequence[str]
    block: np.ndarray
    known: frozenset[str]

    @property
    def views(self) -> dict[str, np.ndarray]:
        """Raw scores by view, shape (n,)."""
        return {name: self.block[row] for name, row in VIEWS.items() if name in self.known}

    @property
    def cosine(self) -> np.ndarray | None:
        """Cosines with the query's own words, shape (n,); None without a query vector.

        The view "dense" has those with a vector that the dialogue turned.
        """
        return self.block[Row.COSINE] if "dense" in self.known else None

    @property
    def pinned(self) -> np.ndarray:
        """Whether a user pinned each, shape (n,), bool."""
        return self.block[Row.PINNED] > 0

    @property
    def visible(self) -> np.ndarray:
        """Whether the caller has each already, shape (n,), bool."""
        return self.block[Row.VISIBLE] > 0


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
        return Candidates(IdSequence(self._table.ids, found.numbers), found.block, frozenset(known))

    def _propose(self, lexical: Lexical, vector: np.ndarray | None, count: int) -> np.ndarray:
        """Return the best documents of each view, not unique."""
        proposed = list(lexical.best.values())
        if vector is not None:
            proposed.append(self._dense.nearest(vector, count)[0])
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
        call = kernel.compiled()
        if call is None:
            return self._choose_by_numpy(proposed, known, barred, seen, query, own, talk)
        return kernel.choose(
            call,
            self._table.fields(),
            self._dense.arrays.at,
            self._lookup.cells(),
            proposed,
            known,
            excluded=barred,
            visible=seen,
            talk=talk,
            query=query,
            own=own,
        )

    def _choose_by_numpy(
        self,
        proposed: np.ndarray,
        known: int,
        barred: Sequence[int],
        seen: Sequence[int],
        query: np.ndarray | None,
        own: np.ndarray | None,
        talk: bool,
    ) -> Chosen:
        """Choose among documents as the compiled library does: this is the definition."""
        table, numbers = self._table, distinct(proposed)
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
