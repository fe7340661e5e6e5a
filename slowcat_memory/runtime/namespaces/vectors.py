"""Vectors of memories: made once, on the thread that embeds.

With a model that returns them, the token vectors are made and stored together with the vector. A text
that changes loses both, and gets new ones.
"""

import threading
from collections.abc import Callable, Sequence
from typing import cast

import numpy as np
from msgspec import Struct

from slowcat_memory.core.memory import chunk, chunk_id, indexed_text
from slowcat_memory.core.text.normalize import digest
from slowcat_memory.providers import Embedded, Embedder, TokenEmbedder, sends_texts_away
from slowcat_memory.records import Key, Memory, TokenVectors, Vector, WriteBatch
from slowcat_memory.runtime.namespaces.documents import Space
from slowcat_memory.runtime.namespaces.embedding import Embedding
from slowcat_memory.runtime.namespaces.registry import Namespaces
from slowcat_memory.store import Store

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

    def __init__(self, embedding: Embedding, namespaces: Namespaces, store: Store) -> None:
        self._embedding, self._namespaces, self._store = embedding, namespaces, store
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

    def embed(self, scope: str, memory_ids: Sequence[str]) -> None:
        """Make the vectors that the index lacks of memories and their keys."""
        namespace = self._namespaces.get(scope)
        found = namespace.recent(memory_ids)  # for those that are not stored yet
        with self._store.snapshot() as snapshot:
            found |= {id_: m for id_ in memory_ids if (m := snapshot.read(scope, id_))}
            keys = [key for id_ in memory_ids for key in snapshot.keys(scope, id_)]
        memories = (found[id_] for id_ in memory_ids if id_ in found)
        every = [*map(_passage_of, memories), *map(_passage_of_key, keys)]
        self._embed(scope, [one for one in every if not namespace.searcher.has_vector(one.id)])

    def embed_missing(self, scope: str) -> None:
        """Make every vector that the index of a namespace lacks."""
        if self._embedding.embedder is None:
            return
        self.embed(scope, self._namespaces.get(scope).searcher.incomplete())

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

            def is_local(one: Passage) -> bool:
                context = snapshot.context(scope, one.owner or one.id)
                turns = map(chunk_id, (*one.sources, *(context.sources if context else ())))
                origins = namespace.fetch([one.owner or one.id, *turns])  # saved or not
                return any(memory.local_only for memory in origins.values())

            return [one for one in passages if not is_local(one)]

    def _missing(self, scope: str) -> list[Passage]:
        key, token_key = self._namespaces.get(scope).space.key, self._embedding.token_key
        with self._store.snapshot() as snapshot:
            done = {vector.memory for vector in snapshot.vectors(key, scope)}
            pointing = [_passage_of_key(one) for one in snapshot.keys(scope) if one.id not in done]
            if token_key:
                done &= snapshot.has_tokens(token_key, scope)
            notes = [m for m in snapshot.memories(scope) if not m.retired_at]
            chunks = (chunk(turn) for turn in snapshot.turns(scope) if not turn.aside)
            every = {memory.id: memory for memory in (*chunks, *notes)}
            lines = (snapshot.in_context(m) for id_, m in every.items() if id_ not in done)
            return [*map(_passage_of, lines), *pointing]

    def _store_vectors(
        self, scope: str, space: Space, passages: Sequence[Passage], made: Embedded
    ) -> None:
        """Store vectors; the store drops those whose text has changed since it was read."""
        of = [digest(one.text) for one in passages]
        vectors = tuple(
            Vector(scope=scope, memory=one.id, values=values, of=hashed)
            for one, values, hashed in zip(passages, made.vectors, of, strict=True)
        )
        tokens = tuple(
            TokenVectors(scope=scope, memory=one.id, values=values, of=hashed)
            for one, values, hashed in zip(passages, made.tokens, of, strict=False)
            if not one.owner  # of a key, the tokens of its memory count
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
