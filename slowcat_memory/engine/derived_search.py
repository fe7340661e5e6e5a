"""Searches memories that no index holds: summaries, topics, episodes, facts, by words and meaning.

A memory is scored by its own text, and by the turns that it was made from: these have vectors
already, as facts have. Only the most promising ones are read, and embedded where they have none;
these vectors are kept for the next search.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

import numpy as np

from slowcat_memory.core.catalogue import searched_text
from slowcat_memory.core.disclosure import is_derived_local
from slowcat_memory.core.facts.fact import is_fact, key_id
from slowcat_memory.core.memory import EPISODE, FACT, NOTE, SUMMARY
from slowcat_memory.core.ranking.offering import probability
from slowcat_memory.core.summaries.summary import KINDS
from slowcat_memory.core.text.normalize import fingerprint
from slowcat_memory.errors import ConfigError
from slowcat_memory.providers import sends_texts_away
from slowcat_memory.records import Disclosed, Hit
from slowcat_memory.runtime.namespaces.embedding import Embedding
from slowcat_memory.store import Snapshot

SEARCHED = (SUMMARY, *KINDS, EPISODE, FACT, NOTE)  # kinds that can be asked for
EMBEDDED = 96  # texts that one search embeds at most: a second or so, once
KEPT_VECTORS = 2000
OWN = 0.7  # weight of a memory's own text; the rest is that of its turns
TURNS = 50  # hits among turns that count for what was made from them
FAINT = 0.02  # a lower score is no hit

Found = tuple[
    Disclosed, float, float
]  # with its share of the query's words, and its turns' likelihood


def kinds_of(names: Iterable[str]) -> tuple[str, ...]:
    """Return the kinds that names mean: "topic" and "summary/topic" are one.

    Raises:
        ConfigError: There is no such kind.
    """
    found = []
    for name in names:
        kind = next((one for one in SEARCHED if name in (one, one.partition("/")[2])), None)
        if kind is None:
            known = ", ".join(one.partition("/")[2] or one for one in SEARCHED)
            raise ConfigError(f"there is no kind {name!r}", hint=f"Kinds: {known}")
        found.append(kind)
    return tuple(found)


class DerivedSearch:
    """Ranks the derived memories of a namespace for a query. Safe to use from several threads."""

    def __init__(self, embedding: Embedding) -> None:
        self._embedding = embedding
        self._vector: Callable[[str, str], np.ndarray] = lru_cache(KEPT_VECTORS)(self._embed)

    def rank(self, query: str, found: Sequence[Found], snapshot: Snapshot) -> list[Hit]:
        """Return the memories that match, best first, without a text that is there already.

        Args:
            found: The most promising ones, best first.
        """
        cosines = self._cosines(query, [one for one, _, _ in found], snapshot)
        likely = probability(np.array([share for _, share, _ in found]), cosines)
        hits = [
            Hit(
                memory=one,
                score=round(OWN * own + (1 - OWN) * behind, 4),
                probability=max(own, behind),
                coverage=round(share, 4),
                cosine=None if np.isnan(cosine) else cosine,
            )
            for (one, share, behind), own, cosine in zip(
                found, likely.tolist(), cosines.tolist(), strict=True
            )
        ]
        best = [hit for hit in sorted(hits, key=lambda hit: hit.score) if hit.score >= FAINT]
        once = {fingerprint(hit.memory.text): hit for hit in best}  # of equal texts, the best hit
        return sorted(once.values(), key=lambda hit: -hit.score)

    def _cosines(self, query: str, memories: Sequence[Disclosed], snapshot: Snapshot) -> np.ndarray:
        """Return the cosines of the query with memories; NaN for one that has none."""
        cosines = np.full(len(memories), np.nan)
        asked = self._embedding.query(query) if self._embedding.query else None
        if asked is None:
            return cosines
        away, space = sends_texts_away(self._embedding.embedder), self._embedding.space.key
        for place, one in enumerate(memories[:EMBEDDED]):
            if away and (one.local_only or is_derived_local(one, snapshot.memory)):
                continue
            stored = snapshot.vector(space, one.scope, key_id(one)) if is_fact(one) else None
            values = stored.values if stored else self._vector(space, searched_text(one))
            cosines[place] = values @ asked.vector
        return cosines

    def _embed(self, key: str, text: str) -> np.ndarray:
        """Return the vector of a text in the space ``key``, which is that of the model in use."""
        return self._embedding.embedder.encode([text])[0]  # type: ignore[union-attr]  # a query was embedded

    def forget(self) -> None:
        """Drop the kept vectors and their texts."""
        self._vector.cache_clear()  # type: ignore[attr-defined]  # of lru_cache
