"""Searches memories that no index holds: summaries, topics, episodes, facts, by words and meaning.

There are hundreds of them, not hundred thousands, so they are read one by one. A memory is scored by
its own text, and by the turns that it was made from: these have vectors already. Only the most
promising texts are embedded, and their vectors are kept for the next search.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from heapq import nlargest

import numpy as np

from slowcat_memory.core.memory import EPISODE, FACT, NOTE, SUMMARY, chunk_id
from slowcat_memory.core.ranking.offering import probability
from slowcat_memory.core.summaries.summary import HISTORY, KINDS
from slowcat_memory.core.text.normalize import Tokenizer, fingerprint
from slowcat_memory.errors import ConfigError
from slowcat_memory.providers import sends_texts_away
from slowcat_memory.records import Disclosed, Hit, Memory
from slowcat_memory.runtime.namespaces.embedding import Embedding

SEARCHED = (SUMMARY, *KINDS, EPISODE, FACT, NOTE)  # kinds that can be asked for
EMBEDDED = 96  # texts that one search embeds at most: a second or so, once
KEPT_VECTORS = 2000
OWN = 0.7  # weight of a memory's own text; the rest is that of its turns
TURNS = 50  # hits among turns that count for what was made from them
FAINT = 0.02  # a lower score is no hit

Share = dict[str, float]  # from memory ids to shares of the query's weight


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

    def __init__(self, embedding: Embedding, tokenizer: Tokenizer) -> None:
        self._embedding, self._tokenizer = embedding, tokenizer
        self._vector: Callable[[str, str], np.ndarray] = lru_cache(KEPT_VECTORS)(self._embed)

    def rank(
        self,
        query: str,
        memories: Iterable[Disclosed],
        words: Mapping[str, float],
        turns: Sequence[Hit],
        stays: Callable[[Memory], bool],
    ) -> list[Hit]:
        """Return the current memories that match, best first.

        Args:
            words: The query's weight by token.
            turns: Hits for the query among turns.
            stays: Returns whether a memory was made of local-only ones.
        """
        every = [one for one in memories if _is_current(one)]
        own = self._shares(every, words)
        likely = {hit.memory.id: hit.probability for hit in turns[:TURNS]}
        behind = {one.id: _behind(one, likely) for one in every}
        promising = nlargest(
            EMBEDDED, every, key=lambda one: (own[one.id] + behind[one.id], one.valid_from)
        )
        if sends_texts_away(self._embedding.embedder):
            promising = [one for one in promising if not (one.local_only or stays(one))]
        cosines = self._cosines(query, promising)
        hits = [_hit(one, own[one.id], cosines.get(one.id), behind[one.id]) for one in every]
        best = sorted(hits, key=lambda hit: -hit.score)
        return _distinct(hit for hit in best if hit.score >= FAINT)

    def _shares(self, memories: Iterable[Disclosed], words: Mapping[str, float]) -> Share:
        total = sum(words.values()) or 1.0
        return {
            one.id: sum(words.get(token, 0.0) for token in set(self._tokenizer(_text(one)))) / total
            for one in memories
        }

    def _cosines(self, query: str, memories: Iterable[Disclosed]) -> Share:
        """Return the cosines of the query with memories; none without a model."""
        asked = self._embedding.query(query) if self._embedding.query else None
        if asked is None:
            return {}
        key = self._embedding.space.key
        return {one.id: float(self._vector(key, _text(one)) @ asked.vector) for one in memories}

    def _embed(self, key: str, text: str) -> np.ndarray:
        """Return the vector of a text in the space ``key``, which is that of the model in use."""
        return self._embedding.embedder.encode([text])[0]  # type: ignore[union-attr]  # a query was embedded

    def forget(self) -> None:
        """Drop the kept vectors and their texts."""
        self._vector.cache_clear()  # type: ignore[attr-defined]  # of lru_cache


def _is_current(memory: Memory) -> bool:
    return not (memory.retired_at or HISTORY in memory.id or not memory.text.strip())


def _text(memory: Memory) -> str:
    """Return a memory's text, after its name and topics."""
    named = (memory.facets.get(facet, "") for facet in ("name", "topics"))
    return " ".join(filter(None, (*named, memory.text)))


def _behind(memory: Memory, likely: Mapping[str, float]) -> float:
    return max((likely.get(chunk_id(turn), 0.0) for turn in memory.sources), default=0.0)


def _hit(memory: Disclosed, share: float, cosine: float | None, behind: float) -> Hit:
    vector = None if cosine is None else np.array([cosine])
    own = float(probability(np.array([share]), vector)[0])
    return Hit(
        memory=memory,
        score=round(OWN * own + (1 - OWN) * behind, 4),
        probability=max(own, behind),
        coverage=round(share, 4),
        cosine=cosine,
    )


def _distinct(hits: Iterable[Hit]) -> list[Hit]:
    """Leave out a text that is there already: by rule, a quiet week is its one day's."""
    first: dict[str, Hit] = {}
    for hit in hits:
        first.setdefault(fingerprint(hit.memory.text), hit)
    return list(first.values())
