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
from slowcat_memory.kernels.lexical import distinct

WIDER = 4  # factor on the number of candidates, where most of them say nothing
Found = tuple[np.ndarray, np.ndarray]
"""Document numbers and cosines, unordered, shape (n,) each."""


class Candidates(Struct, frozen=True):
    """The n documents that a search proposes, for fusion. Arrays have shape (n,).

    Attributes:
        ids: Memory ids; most are only made when they are read.
        views: Raw scores by view. Without a query vector "dense", "keys" and "asked" are missing.
            "dense" is NaN where a memory has no vector yet. "keys" is the cosine of a memory's best
            key, NaN without one, and "asked" the sum of the votes of judged queries: both only if
            the namespace has any.
        cosine: Cosines with the query's own words, where ``views`` has those with a vector that the
            dialogue turned; None without a query vector.
        before: Position of the previous neighbour among these, -1 when there is none.
        after: The same for the next one.
        at: Seconds since the epoch.
        importance: 0 to 1.
        substance: Share of each one's words that say something, above 0 to 1.
        agent: Whether each is the agent's words.
        session: A number for each one's session.
        speaker: A number for each one's speaker.
        about_from: Start of the time that each mentions, seconds since the epoch; NaN for none.
        about_until: The same for its end.
        visible: Whether the caller has each already, bool.
    """

    ids: Sequence[str]
    views: dict[str, np.ndarray]
    cosine: np.ndarray | None
    before: np.ndarray
    after: np.ndarray
    at: np.ndarray
    importance: np.ndarray
    substance: np.ndarray
    agent: np.ndarray
    pinned: np.ndarray
    session: np.ndarray
    speaker: np.ndarray
    about_from: np.ndarray
    about_until: np.ndarray
    visible: np.ndarray


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
        table, dense, count = self._table, self._dense, self._options.candidates
        if vector is None or not len(dense):
            vector = None
        while True:
            near, by_keys = None, list[np.ndarray]()
            if vector is not None:
                near = dense.nearest(vector, count)
                by_keys = [
                    keys.nearest(vector, count) for keys in self._keys.values() if len(keys.dense)
                ]
            numbers = self._choose(lexical, near, by_keys, exclude)
            seen = self._among(numbers, visible)
            says = np.ones(len(numbers), bool) if talk else table.says(numbers)
            new = says[~seen]
            if 2 * new.sum() >= len(new) or count >= len(table):
                break  # else copies of a question may have taken the places of its answer
            count *= WIDER
            lexical = self._lookup.widened(lexical, count)
        numbers, seen = numbers[says], seen[says]
        views = self._lookup.scores(lexical, numbers)
        if vector is not None and near is not None:
            views["dense"] = self._cosines(vector, numbers, near)
            views |= self._score_keys(vector, numbers, vector if own is None else own)
        cosine = views.get("dense")
        if own is not None and cosine is not None:
            cosine = dense.cosines(own, numbers)
        parts = split_rows(numbers, table.sealed_count)
        return Candidates(
            ids=IdSequence(table.ids, numbers),
            views=views,
            cosine=cosine,
            before=_positions(numbers, table.before.gather(*parts)),
            after=_positions(numbers, table.after.gather(*parts)),
            at=table.at.gather(*parts),
            importance=table.importance.gather(*parts),
            substance=table.substance.gather(*parts),
            agent=table.agent.gather(*parts),
            pinned=table.pinned.gather(*parts),
            session=table.session.gather(*parts),
            speaker=table.speaker.gather(*parts),
            about_from=table.about[0].gather(*parts),
            about_until=table.about[1].gather(*parts),
            visible=seen,
        )

    def _score_keys(
        self, vector: np.ndarray, numbers: np.ndarray, own: np.ndarray
    ) -> dict[str, np.ndarray]:
        """Score by keys, if there are any; judged queries are compared with the query alone."""
        views, written, asked = {}, self._keys[KEYS], self._keys[ASKED]
        if len(written.dense):
            views[KEYS] = written.best_cosines(vector, numbers)
        if len(asked.dense):
            views[ASKED] = asked.sum_votes(own, numbers, self._options.same)
        return views

    def _cosines(self, vector: np.ndarray, numbers: np.ndarray, near: Found) -> np.ndarray:
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
        by_keys: Sequence[np.ndarray],
        exclude: Set[str],
    ) -> np.ndarray:
        chosen = list(lexical.best.values())
        if near is not None:
            chosen += (near[0], *by_keys)
        numbers = distinct(np.concatenate(chosen))
        wanted = self._table.alive.take(numbers)
        if near is not None:
            wanted = wanted & (numbers < lexical.known)
        return numbers[wanted & ~self._among(numbers, exclude)]

    def _among(self, numbers: np.ndarray, ids: Set[str]) -> np.ndarray:
        """Return which of the numbers are those of some ids, bool."""
        if not ids:
            return np.zeros(len(numbers), bool)
        return np.isin(numbers, [self._table.find(memory_id) for memory_id in ids])


def _positions(numbers: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Return each wanted number's position in the sorted ``numbers``, -1 if missing."""
    if not len(numbers):
        return np.zeros(0, np.int64)
    at = np.searchsorted(numbers, wanted)
    at[at == len(numbers)] = 0
    return np.where(numbers[at] == wanted, at, -1)
