"""The embedding model in each of its states: missing, to be exported, or ready; and what it makes.

Queries are embedded while a turn waits, behind a cache, and not at all for a while after failures.
Until a model is available there are no vectors, and recall is by words. Vectors of memories are made
once, on the thread that embeds, with a model that returns them together with their token vectors. A
text that changes loses both, and gets new ones.
"""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import cast

import numpy as np
from loguru import logger
from msgspec import Struct

from slowcat_memory import providers
from slowcat_memory.clock import Clock, seconds_of
from slowcat_memory.core.memory import chunk, chunk_id, indexed_text
from slowcat_memory.core.ranking.token_codes import encode
from slowcat_memory.core.text.normalize import digest
from slowcat_memory.errors import SlowcatError
from slowcat_memory.metrics import Metrics
from slowcat_memory.providers import (
    Embedded,
    Embedder,
    EmbedderOptions,
    EmbedderReport,
    Encoded,
    TokenEmbedder,
    sends_texts_away,
    token_key_of,
)
from slowcat_memory.records import Key, Memory, TokenCodes, Vector, WriteBatch
from slowcat_memory.runtime.namespaces.documents import Space
from slowcat_memory.runtime.namespaces.registry import Namespaces

FAILURES, REST_S = 3, 60.0  # failures in a row after which no query is embedded, and for how long
LATE_S = 0.5  # an answer as slow as this delays the recalls behind it: it counts as a failure


@dataclass(eq=False, repr=False)
class Embedding:
    """The configured model, or ``given`` for everything.

    A model or an endpoint that cannot be used costs the vectors, and one warning.

    Attributes:
        watch: Seconds, of how long an answer takes. Not ``clock``: a clock that is set, or a
            machine that was suspended meanwhile, does not make an answer late.
        space: Of its vectors.
        token_key: Key of the space of token vectors, "" when none are made.
    """

    options: EmbedderOptions
    cache_size: int
    clock: Clock
    metrics: Metrics
    given: Embedder | None
    watch: Callable[[], float] = time.perf_counter

    def __post_init__(self) -> None:
        self._cached = lru_cache(self.cache_size)(self._encode)
        self._seconds = seconds_of(self.clock)
        self._failures, self._failed_at = 0, 0.0  # in a row, and when the last one was
        self.embedder: Embedder | None = None
        self.space, self.token_key = Space(), ""
        self.open()

    @property
    def is_own(self) -> bool:
        """Whether the query model runs in this process, for this engine alone."""
        return self.given is None and self.options.kind == "local" and self.embedder is not None

    @property
    def needs_export(self) -> bool:
        """Whether the model has not been exported, without which it does not answer."""
        return self.report.state == "needs export"

    def open(self) -> None:
        embedder = self.given
        if embedder is not None:
            self.report = EmbedderReport(state="ready", source=embedder.name, key=embedder.key)
        else:
            embedder, self.report = self._open_configured()
        if embedder is not None:
            self.embedder, self.space = embedder, Space(embedder.key, embedder.dim)
            self.token_key = token_key_of(embedder) if self.options.token_vectors else ""
            self.forget()
            self._failures = 0

    def _open_configured(self) -> tuple[Embedder | None, EmbedderReport]:
        try:
            embedder, report = providers.open_query_embedder(self.options)
        except Exception as error:  # of a URL, a model's files, or a library that reads them
            failed = f"{self.options.model} cannot be opened: {type(error).__name__}"
            embedder = None
            report = EmbedderReport(
                state="missing",
                source=error.message if isinstance(error, SlowcatError) else failed,
                hint=getattr(error, "hint", "") or "slowcat-memory doctor says what is wrong",
            )
        if report.state == "missing":
            logger.warning(f"memory: search is by words alone: {report.source}. {report.hint}")
        return embedder, report

    def query(self, text: str, *, passing: bool = False) -> Encoded | None:
        """Embed a query; return None instead of raising: at worst a turn has no vectors.

        After failures in a row, or answers as late as ``LATE_S``, every answer is None at once for
        a while. Then the next query is tried again.

        Args:
            passing: It may never be asked: no cache may keep its words.
        """
        rested = self._seconds() - self._failed_at
        if self.embedder is None or (self._failures >= FAILURES and 0 <= rested < REST_S):
            return None
        began = self.watch()
        try:
            encoded = self._encode(text) if passing else self._cached(text)
        except Exception as error:  # any error of a model or an endpoint
            self._fail(type(error).__name__)
            return None
        if self.watch() - began < LATE_S:
            self._failures = 0
        else:
            self._fail("late")
        return encoded

    def _fail(self, problem: str) -> None:
        self._failures, self._failed_at = self._failures + 1, self._seconds()
        self.metrics.count("embedding_failures")
        logger.warning(f"memory: embedding a query failed: {problem}")

    def _encode(self, text: str) -> Encoded:
        if self.token_key:
            return cast(TokenEmbedder, self.embedder).encode_query_tokens(text)
        return Encoded(cast(Embedder, self.embedder).encode_query(text))

    def export(self) -> None:
        """Export the model and open it. Blocks for some seconds, in a child process.

        Raises:
            ProviderError: It could not be exported.
        """
        providers.export_model(self.options)
        self.open()

    def forget(self) -> None:
        """Drop the queries in the cache."""
        self._cached.cache_clear()


# ------------------------------------------------------------------- vectors of memories


SLICE = 16  # texts embedded between two looks whether the memory closes, and stored together
Told = Callable[[str, int, int], None]
"""Progress callback: what is being done, how many are done, of how many."""


class Passage(Struct, frozen=True):
    """A text to embed: a memory's line in its context, or an index key.

    ``owner`` is the memory that a key points to, "" for a memory; ``sources`` are log ids of the
    turns that a key was made from.
    """

    id: str
    text: str
    owner: str = ""
    sources: tuple[int, ...] = ()


class DocumentVectors:
    """Embeds memories and index keys, stores the vectors, and adds them to the indexes."""

    def __init__(self, embedding: Embedding, namespaces: Namespaces) -> None:
        self._embedding, self._namespaces, self._store = embedding, namespaces, namespaces.store
        self.closing = threading.Event()  # once set, a call ends with its next slice

    def encode(self, texts: Sequence[str]) -> Embedded:
        """Embed texts. Blocks, some milliseconds a text. Empty without a model.

        Empty also for a model on another machine: it is not known here whose texts these are.
        ``embed`` makes such vectors, from the memories.
        """
        embedder = self._embedding.embedder
        if embedder is None or sends_texts_away(embedder):
            return Embedded(np.zeros((0, 0), np.float32), [])
        return self._encode(embedder, texts)

    def _encode(self, embedder: Embedder, texts: Sequence[str]) -> Embedded:
        if self._embedding.token_key:
            return cast(TokenEmbedder, embedder).encode_tokens(texts)
        return Embedded(embedder.encode(texts), [])

    def embed(self, scope: str, memory_ids: Sequence[str] | None = None) -> None:
        """Make the vectors that the index lacks of memories and their keys, of some or of all."""
        if self._embedding.embedder is None:
            return
        namespace = self._namespaces.get(scope)
        if memory_ids is None:
            memory_ids = namespace.searcher.incomplete()
        found = namespace.recent(memory_ids)  # for those that are not stored yet
        with self._store.snapshot() as snapshot:
            found |= {id_: m for id_ in memory_ids if (m := snapshot.read(scope, id_))}
            keys = [key for id_ in memory_ids for key in snapshot.keys(scope, id_)]
        memories = (found[id_] for id_ in memory_ids if id_ in found)
        every = [*map(_passage_of, memories), *map(_passage_of_key, keys)]
        self._embed(scope, [m for m in every if not namespace.searcher.has_vector(m.id)])

    def embed_all(self, scope: str, told: Told) -> None:
        """Make every vector and token vector that the store lacks. Reads the namespace.

        Raises:
            ProviderError: The embedder failed; the vectors it finished are stored.
        """
        if self._embedding.embedder is not None:
            self._embed(scope, self._missing(scope), told)
            self._store.flush(None)

    def _embed(self, scope: str, passages: Sequence[Passage], told: Told | None = None) -> None:
        embedder, space = self._embedding.embedder, self._namespaces.get(scope).space
        if embedder is None or space.key != embedder.key or self._store.readonly:
            return
        wanted = self._sendable(scope, embedder, passages)
        for start in range(0, len(wanted), SLICE):
            if start and self.closing.is_set():
                return
            if told:
                told("embed", start, len(wanted))
            part = wanted[start : start + SLICE]
            self._store_vectors(scope, space, part, self._encode(embedder, [p.text for p in part]))
        if told:
            told("embed", len(wanted), len(wanted))

    def _sendable(
        self, scope: str, embedder: Embedder, passages: Sequence[Passage]
    ) -> list[Passage]:
        """Return the passages that may be passed to an embedder.

        For one on another machine, passages of local-only memories are left out, and those whose
        context or key was made from a local-only turn.
        """
        if not sends_texts_away(embedder):
            return list(passages)
        namespace = self._namespaces.get(scope)
        with self._store.snapshot() as snapshot:

            def is_local(passage: Passage) -> bool:
                context = snapshot.context(scope, passage.owner or passage.id)
                turns = map(chunk_id, (*passage.sources, *(context.sources if context else ())))
                origins = namespace.fetch([passage.owner or passage.id, *turns])  # saved or not
                return any(memory.local_only for memory in origins.values())

            return [passage for passage in passages if not is_local(passage)]

    def _missing(self, scope: str) -> list[Passage]:
        key, token_key = self._namespaces.get(scope).space.key, self._embedding.token_key
        with self._store.snapshot() as snapshot:
            done = {vector.memory for vector in snapshot.vectors(key, scope)}
            pointing = [_passage_of_key(key) for key in snapshot.keys(scope) if key.id not in done]
            if token_key:
                done &= snapshot.has_tokens(token_key, scope)
            notes = [m for m in snapshot.memories(scope) if not m.retired_at]
            chunks = (chunk(turn) for turn in snapshot.turns(scope) if not turn.aside)
            every = {memory.id: memory for memory in (*chunks, *notes)}
            lines = (snapshot.in_context(m) for id_, m in every.items() if id_ not in done)
            return [*map(_passage_of, lines), *pointing]

    def _store_vectors(
        self, scope: str, space: Space, passages: Sequence[Passage], embedded: Embedded
    ) -> None:
        """Store vectors; the store drops those whose text has changed since it was read."""
        of = [digest(passage.text) for passage in passages]
        vectors = tuple(
            Vector(scope=scope, memory=passage.id, values=values, of=hashed)
            for passage, values, hashed in zip(passages, embedded.vectors, of, strict=True)
        )
        tokens = tuple(
            TokenCodes(scope=scope, memory=passage.id, codes=encode(rows), of=hashed)
            for passage, rows, hashed in zip(passages, embedded.tokens, of, strict=False)
            if not passage.owner  # of a key, the tokens of its memory count
        )
        token_key = self._embedding.token_key
        batch = WriteBatch(vectors=vectors, embedder=space.key, tokens=tokens, token_key=token_key)
        self._store.apply("embed", batch)
        namespace = self._namespaces.get(scope)  # it may have been reloaded meanwhile
        if namespace.space == space:
            for vector in vectors:
                namespace.put_vector(vector.memory, vector.values, vector.of)


def _passage_of(memory: Memory) -> Passage:
    return Passage(memory.id, indexed_text(memory))


def _passage_of_key(key: Key) -> Passage:
    return Passage(key.id, key.text, key.memory, key.sources)
