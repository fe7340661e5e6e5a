"""A recall over a few memories, without store, threads or clock."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest.mock import Mock

import numpy as np

from slowcat_memory.core.ranking.score import FuseOptions, RankOptions
from slowcat_memory.core.ranking.token_codes import encode
from slowcat_memory.core.text.normalize import Tokenizer
from slowcat_memory.index import IndexOptions, Searcher
from slowcat_memory.metrics import Metrics
from slowcat_memory.providers import Encoded
from slowcat_memory.records import Memory
from slowcat_memory.runtime.namespaces.known_facts import Overtaken
from slowcat_memory.runtime.namespaces.live_index import Space, document
from slowcat_memory.runtime.namespaces.registry import Fetch
from slowcat_memory.runtime.recall.choosing import Recall
from slowcat_memory.runtime.recall.query import Query, RecallOptions, Recollection, RetrievalOptions
from slowcat_memory.runtime.recall.service import Retrieval
from slowcat_memory.testing import HashEmbedder
from tests.support.said import memory_at

NOW = datetime(2026, 5, 12, 12, tzinfo=UTC)  # a Tuesday
EMBEDDER = HashEmbedder(2048, token_dim=256)  # wide enough that no two words collide
PLAIN = RankOptions(importance=0, recency=0, pinned=0, named=0, when=0)  # no priors


def memory(id_: str, text: str, days: float = 0, **more: Any) -> Memory:
    return memory_at(id_, text, NOW - timedelta(days=days), **{"kind": "chunk", **more})


def query(text: str, **how: object) -> Query:
    return Query(**{"text": text, "scope": "anna", "now": NOW, "k": 5, **how})  # type: ignore[arg-type]


SAID = (
    memory("dog", "My dog is called Max"),
    memory("tea", "I drink green tea every morning"),
    memory("trip", "We flew to Lisbon in May"),
)


Embed = Callable[[str], Encoded | None]


class FakeEmbedding:
    """The model of a ``Mind``."""

    space = Space("hash", EMBEDDER.dim)

    def __init__(self, embed: Embed, *, tokens: bool) -> None:
        self.embed, self.token_key = embed, "hash" if tokens else ""

    def query(self, text: str, *, passing: bool) -> Encoded | None:
        encoded = self.embed(text)
        return encoded if self.token_key or not encoded else Encoded(encoded.vector)


class FakeNamespace:
    """A namespace that holds its memories in a dictionary."""

    scope, space = "anna", FakeEmbedding.space

    def __init__(self, searcher: Searcher) -> None:
        self.searcher = searcher
        self.memories: dict[str, Memory] = {}
        self.ended: dict[str, tuple[Overtaken, ...]] = {}
        self.told: dict[str, tuple[str, ...]] = {}
        self.changes: list[str] = []
        self.fetched: list[str] = []
        self.facts = self

    def endings(self, memory_id: str, now: datetime) -> tuple[Overtaken, ...]:
        return self.ended.get(memory_id, ())

    def written(self, memory_id: str) -> tuple[str, ...]:
        return self.told.get(memory_id, ())

    def changing(self, keys: Iterable[str]) -> list[str]:
        return self.changes

    def stating(self, query: str, now: datetime) -> list[str]:
        return []

    def read_times(self) -> None:
        """Do nothing: the times are there."""

    def fetch(self, ids: Sequence[str]) -> dict[str, Memory]:
        self.fetched += ids
        return {i: self.memories[i] for i in ids if i in self.memories}

    recent = fetch

    @contextmanager
    def reading(self) -> Iterator[Fetch]:
        yield self.fetch


class FakeStore:
    """A store of token vectors only."""

    def __init__(self, vectors: dict[str, np.ndarray]) -> None:
        self.vectors = vectors
        self.fetched: list[str] = []

    @contextmanager
    def snapshot(self) -> "Iterator[FakeStore]":
        yield self

    def tokens(self, space: str, scope: str, ids: Sequence[str]) -> list[np.ndarray | None]:
        self.fetched += ids
        return [self.vectors.get(i) for i in ids]


class Mind:
    """A recall over a few memories; without a floor by default."""

    def __init__(
        self,
        *memories: Memory,
        embed: Embed = EMBEDDER.encode_query,
        vectors: bool = True,
        tokens: dict[str, np.ndarray] | None = None,
        fusing: FuseOptions = FuseOptions(),
        recalling: RecallOptions = RecallOptions(floor=0, keep_share=0),
    ) -> None:
        self.searcher = Searcher(Tokenizer(), IndexOptions(), EMBEDDER.dim)
        self.namespace = FakeNamespace(self.searcher)
        self.embedding = FakeEmbedding(embed, tokens=tokens is not None)
        self.store = FakeStore({id: encode(rows) for id, rows in (tokens or {}).items()})
        options = RetrievalOptions(recall=recalling, fuse=fusing, rank=PLAIN)
        embedding: Any = self.embedding
        parts = Mock(store=self.store), embedding, Mock(), Metrics(), UTC, options
        self.retrieval = Retrieval(*parts, while_recalling=Mock(), look_soon=Mock())
        for m in memories or SAID:
            self.memories[m.id] = m
            self.searcher.add(document(m, "english"))
            if vectors:
                self.searcher.put_vector(m.id, EMBEDDER.encode_query(m.text).vector)

    @property
    def memories(self) -> dict[str, Memory]:
        return self.namespace.memories

    def begin(self, asked: Query) -> Recall:
        return Recall(self.namespace, asked, self.retrieval.options, UTC, self.searcher)  # type: ignore[arg-type]

    def run(self, asked: Query) -> Recollection:
        return self.retrieval.run(self.begin(asked))

    def ids(self, text: str, **how: object) -> list[str]:
        return [hit.memory.id for hit in self.run(query(text, **how)).hits]
