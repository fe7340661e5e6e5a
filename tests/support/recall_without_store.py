"""A recall over a few memories, without store, threads or clock."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import numpy as np

from slowcat_memory.core.query.understand import Ask, AskOptions, understand
from slowcat_memory.core.ranking.fusion import FuseOptions
from slowcat_memory.core.ranking.priors import RankOptions
from slowcat_memory.core.text.normalize import Tokenizer
from slowcat_memory.index import IndexOptions, Searcher
from slowcat_memory.records import Memory
from slowcat_memory.runtime.namespaces.documents import Reading, document
from slowcat_memory.runtime.namespaces.embedding import Embed
from slowcat_memory.runtime.recall.query import Query
from slowcat_memory.runtime.recall.stages import Recall
from slowcat_memory.testing import HashEmbedder

NOW = datetime(2026, 5, 12, 12, tzinfo=UTC)  # a Tuesday
EMBEDDER = HashEmbedder(2048, token_dim=256)  # wide enough that no two words meet
PLAIN = RankOptions(importance=0, recency=0, pinned=0, named=0, when=0)  # no priors
READING = Reading(UTC, "english")


def memory(id_: str, text: str, days: float = 0, **more: object) -> Memory:
    facts = {"kind": "chunk", "scope": "anna", "speaker": "Anna"}
    at = NOW - timedelta(days=days)
    return Memory(id=id_, text=text, **{"valid_from": at, **facts, **more})  # type: ignore[arg-type]


def query(text: str, **how: object) -> Query:
    return Query(**{"text": text, "scope": "anna", "now": NOW, "k": 5, **how})  # type: ignore[arg-type]


SAID = (
    memory("dog", "My dog is called Max"),
    memory("tea", "I drink green tea every morning"),
    memory("trip", "We flew to Lisbon in May"),
)


class Mind:
    """A recall over a few memories, with what it was asked to do."""

    def __init__(
        self,
        *memories: Memory,
        embed: Embed | None = EMBEDDER.encode_query,
        vectors: bool = True,
        tokens: dict[str, np.ndarray] | None = None,
        ranking: RankOptions = PLAIN,
        fusing: FuseOptions = FuseOptions(),
        asking: AskOptions = AskOptions(),
        options: IndexOptions = IndexOptions(),
    ) -> None:
        self.searcher = Searcher(Tokenizer(), options, EMBEDDER.dim)
        self.memories: dict[str, Memory] = {}
        self.fetched: list[str] = []
        self.fetched_tokens: list[str] = []
        self.tokens, self.asking = tokens or {}, asking
        for m in memories or SAID:
            self.add(m, vector=vectors)
        fetch_tokens = None if tokens is None else self.fetch_tokens
        self.recall = Recall(
            self.searcher,
            self.fetch,
            self.understand,
            embed,
            fetch_tokens,
            fusing,
            ranking,
            asking.dialogue,
        )

    def add(self, m: Memory, before: str = "", *, vector: bool = True) -> None:
        self.memories[m.id] = m
        self.searcher.add(document(m, READING, before))
        if vector:
            self.searcher.put_vector(m.id, EMBEDDER.encode_query(m.text))

    def fetch(self, scope: str, ids: Sequence[str]) -> dict[str, Memory]:
        self.fetched += ids
        return {i: self.memories[i] for i in ids if i in self.memories}

    def fetch_tokens(self, scope: str, ids: Sequence[str]) -> list[np.ndarray | None]:
        self.fetched_tokens += ids
        return [self.tokens.get(i) for i in ids]

    def understand(self, asked: Query, searcher: Searcher) -> Ask:
        return understand(
            asked.text,
            asked.now,
            UTC,
            speakers=searcher.speakers,
            heard=searcher.heard(asked.text) if self.asking.sounds else (),
            dialogue=asked.dialogue,
            options=self.asking,
        )

    def ids(self, text: str, **how: object) -> list[str]:
        return [hit.memory.id for hit in self.recall.run(query(text, **how)).hits]

    def scores(self, text: str, **how: object) -> dict[str, float]:
        return {hit.memory.id: hit.score for hit in self.recall.run(query(text, **how)).hits}
