"""Which documents may answer a query: the best of each view, with everything known of them."""

from collections.abc import Mapping, Sequence, Set

import numpy as np

from slowcat_memory.index.candidates import Candidates, Lexical
from slowcat_memory.index.files.column import split
from slowcat_memory.index.files.ids import IdSequence
from slowcat_memory.index.files.key_file import ASKED, KEYS
from slowcat_memory.index.lexical.scorer import distinct
from slowcat_memory.index.lexical.term_lookup import TermLookup
from slowcat_memory.index.options import IndexOptions
from slowcat_memory.index.table import Table
from slowcat_memory.index.vectors.key_view import KeyView
from slowcat_memory.index.vectors.vector_view import VectorView

Found = tuple[np.ndarray, np.ndarray]
"""Document numbers and cosines, in no order, shape (n,) each."""


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
        """Wire the parts.

        Args:
            table: The documents.
            lookup: Scores by words.
            dense: Scores by vectors.
            keys: Scores by the vectors of keys, by view.
            options: The index's options.
        """
        self._table, self._lookup, self._options = table, lookup, options
        self._dense, self._keys = dense, keys

    def candidates(
        self,
        lexical: Lexical,
        vector: np.ndarray | None,
        exclude: Set[str],
        own: np.ndarray | None,
    ) -> Candidates:
        """Choose what may answer a query; see ``Searcher.candidates``."""
        table, dense = self._table, self._dense
        if vector is None or not len(dense):
            vector = None
        near = None if vector is None else dense.top(vector, self._options.candidates)
        pointed = (
            []
            if vector is None
            else [
                keys.nearest(vector, self._options.candidates)
                for keys in self._keys.values()
                if len(keys.dense)
            ]
        )
        numbers, excluded = self._choose(lexical, near, pointed, exclude)
        views = self._lookup.scores(lexical, numbers)
        if vector is not None and near is not None:
            views["dense"] = self._cosines(vector, numbers, near)
            views |= self._by_keys(vector, numbers, vector if own is None else own)
        cosine = views.get("dense")
        if own is not None and cosine is not None:
            cosine = dense.cosines(own, numbers)
        parts = split(numbers, table.sealed_count)
        return Candidates(
            ids=IdSequence(table.ids, numbers),
            views=views,
            cosine=cosine,
            before=_positions(numbers, table.before.gather(*parts)),
            after=_positions(numbers, table.after.gather(*parts)),
            at=table.at.gather(*parts),
            importance=table.importance.gather(*parts),
            pinned=table.pinned.gather(*parts),
            agent=table.agent.gather(*parts),
            session=table.session.gather(*parts),
            speaker=table.speaker.gather(*parts),
            about_from=table.about[0].gather(*parts),
            about_until=table.about[1].gather(*parts),
            excluded=IdSequence(table.ids, excluded),
        )

    def _by_keys(
        self, vector: np.ndarray, numbers: np.ndarray, own: np.ndarray
    ) -> dict[str, np.ndarray]:
        """Score by keys, in the views that have any; what was asked is compared by itself."""
        views, written, asked = {}, self._keys[KEYS], self._keys[ASKED]
        if len(written.dense):
            views[KEYS] = written.best(vector, numbers)
        if len(asked.dense):
            views[ASKED] = asked.summed(own, numbers, self._options.same)
        return views

    def _cosines(self, vector: np.ndarray, numbers: np.ndarray, near: Found) -> np.ndarray:
        """Take the cosines that a search told, and work out the others."""
        cosines = np.full(len(numbers), np.nan, np.float32)
        places = _positions(numbers, near[0])
        cosines[places[places >= 0]] = near[1][places >= 0]
        others = np.flatnonzero(np.isnan(cosines))
        cosines[others] = self._dense.cosines(vector, numbers[others])
        return cosines

    def _choose(
        self,
        lexical: Lexical,
        near: Found | None,
        pointed: Sequence[np.ndarray],
        exclude: Set[str],
    ) -> tuple[np.ndarray, np.ndarray]:
        """Choose the documents to propose, and those that are only told to be excluded."""
        chosen = list(lexical.best.values())
        if near is not None:
            chosen += (near[0], *pointed)
        numbers = distinct(np.concatenate(chosen))
        wanted = self._table.alive.take(numbers)
        if near is not None:
            wanted = wanted & (numbers < lexical.known)
        if not exclude:
            return numbers[wanted], numbers[:0]
        barred = np.isin(numbers, [self._table.find(memory_id) for memory_id in exclude])
        return numbers[wanted & ~barred], numbers[wanted & barred]


def _positions(numbers: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Find each wanted number's position in the sorted ``numbers``, -1 where it is not there."""
    if not len(numbers):
        return np.zeros(0, np.int64)
    at = np.searchsorted(numbers, wanted)
    at[at == len(numbers)] = 0
    return np.where(numbers[at] == wanted, at, -1)
