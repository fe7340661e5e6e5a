"""Vectors of memories: drafts at once, exact ones in idle time.

A *draft* is made by the query embedder (int8), milliseconds after the turn; the document embedder
(fp32, a child process) replaces it. Both are in one space. With a model that returns them, the
token vectors are made and stored together with the vector.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import cast

import numpy as np
from msgspec import Struct

from slowcat_memory.core.memory import chunk, chunk_id, indexed_text
from slowcat_memory.core.text.normalize import digest
from slowcat_memory.errors import ProviderError
from slowcat_memory.providers import (
    DocumentEmbedder,
    Embedded,
    Embedder,
    TokenEmbedder,
    sends_texts_away,
    token_key_of,
)
from slowcat_memory.records import Key, Memory, TokenVectors, Vector, WriteBatch
from slowcat_memory.runtime.namespaces.documents import Space
from slowcat_memory.runtime.namespaces.embedding import Embedding
from slowcat_memory.runtime.namespaces.registry import Namespaces
from slowcat_memory.store import Store

DRAFTS = 16  # texts embedded between two checks for a stop
EXACT = 64  # texts embedded between two reports of progress, and written together
GENTLE = 16  # the same while a user may start to speak: a third of a second in the child process
Told = Callable[[str, int, int], None]
"""Progress callback: what is being done, how many are done, of how many."""
Stop = Callable[[], bool]


class Passage(Struct, frozen=True):
    """A text to embed: a memory's line in its context, or an index key.

    ``owner`` is the memory that a key points to, "" for a memory; ``sources`` are log ids of the
    turns that a key was made from.
    """

    id: str
    text: str
    owner: str = ""
    sources: tuple[int, ...] = ()

    @property
    def tokens(self) -> bool:
        """Whether its tokens are embedded too: for a key, the tokens of its memory count."""
        return not self.owner


class EmbeddedPassage(Struct, frozen=True):
    """An embedded passage."""

    passage: Passage
    vector: np.ndarray
    tokens: np.ndarray | None = None


class DocumentVectors:
    """Embeds memories and index keys, stores the vectors, and adds them to the indexes."""

    def __init__(self, embedding: Embedding, namespaces: Namespaces, store: Store) -> None:
        self._embedding, self._namespaces, self._store = embedding, namespaces, store
        self._opened: list[DocumentEmbedder] = []  # those that embed now

    def close(self) -> None:
        """End what embeds now, so that no thread outlives the memory with its texts. Any thread."""
        for embedder in tuple(self._opened):
            embedder.close()

    def encode(self, texts: Sequence[str]) -> Embedded:
        """Embed texts with the query model. Blocks, 2 ms a text. Empty without a model.

        Empty also for a model on another machine: it is not known here whose texts these are.
        ``draft`` and ``embed`` make such vectors, from the memories.
        """
        embedder = self._embedding.embedder
        if embedder is None or sends_texts_away(embedder):
            return Embedded(np.zeros((0, 0), np.float32), [])
        if self._token_key(embedder):
            return cast(TokenEmbedder, embedder).encode_tokens(texts)
        return Embedded(embedder.encode(texts), [])

    def draft(self, scope: str, memory_ids: Sequence[str]) -> None:
        embedder, namespace = self._embedding.embedder, self._namespaces.get(scope)
        if embedder is None or namespace.space.key != embedder.key:
            return
        with self._store.snapshot() as snapshot:
            keys = [key for id_ in memory_ids for key in snapshot.keys(scope, id_)]
        every = [*self._passages(scope, memory_ids), *map(_passage_of_key, keys)]
        wanted = [one for one in every if not namespace.searcher.has_vector(one.id)]
        wanted = self._sendable(scope, embedder, wanted)
        if wanted:
            self._store_vectors(
                scope, namespace.space, self._embed_passages(embedder, wanted), draft=True
            )

    def draft_missing(self, scope: str, stop: threading.Event) -> None:
        """Embed everything in a namespace that has no vector, with the query model.

        Once ``stop`` is set, this stops after the current small batch.
        """
        if self._embedding.embedder is None:
            return
        namespace = self._namespaces.get(scope)
        namespace.wait_vectors()
        searcher = namespace.searcher
        missing = list(dict.fromkeys((*searcher.missing_vectors(), *searcher.missing_keys())))
        for start in range(0, len(missing), DRAFTS):
            if stop.is_set():
                return
            self.draft(scope, missing[start : start + DRAFTS])

    def due(self, scope: str) -> bool:
        """Return whether ``embed`` would make any vector. Reads the namespace.

        False when documents cannot be embedded here.
        """
        if self._embedding.embedder is None:
            return False
        opened, _ = self._embedding.open_documents()
        if opened is None:
            return False
        try:
            same = opened.key == self._namespaces.get(scope).space.key
            return same and bool(self._without_exact(scope, opened))
        finally:
            opened.close()

    def embed(
        self,
        scope: str,
        told: Told,
        embedder: DocumentEmbedder | None = None,
        stop: Stop | None = None,
    ) -> None:
        """Replace drafts by exact vectors, and make the missing ones. Blocks, for minutes.

        A vector without its token vectors counts as missing.

        Args:
            embedder: Closed by its owner; None opens one for this call, which takes seconds.
            stop: Called between two slices, which are small then; True ends it.

        Raises:
            ProviderError: The document embedder failed; the vectors it finished are stored.
        """
        if self._embedding.embedder is None:
            return
        if embedder is not None:
            self._embed_with(embedder, scope, told, stop)
            return
        opened, report = self._embedding.open_documents()
        if opened is None:
            raise ProviderError(report.source, hint=report.hint)
        self._opened.append(opened)
        try:
            self._embed_with(opened, scope, told, stop)
        finally:
            self._opened.remove(opened)
            opened.close()

    def _embed_with(
        self, embedder: DocumentEmbedder, scope: str, told: Told, stop: Stop | None
    ) -> None:
        space = self._namespaces.get(scope).space
        if embedder.key != space.key:
            raise ProviderError(
                f"documents would be embedded as {embedder.key}, not {space.key}",
                hint="The model has changed; start again, and it is exported anew",
            )
        missing = self._without_exact(scope, embedder)
        size = GENTLE if stop else EXACT
        for start in range(0, len(missing), size):
            if stop and stop():
                break
            told("embed", start, len(missing))
            made = self._embed_passages(embedder, missing[start : start + size])
            self._store_vectors(scope, space, made, draft=False)
        else:
            told("embed", len(missing), len(missing))
        self._store.flush(None)

    def _token_key(self, embedder: Embedder) -> str:
        """Return the key of the token vectors in use, "" where the embedder does not make them."""
        wanted = self._embedding.token_key
        return wanted if token_key_of(embedder) == wanted else ""

    def _embed_passages(
        self, embedder: Embedder, passages: Sequence[Passage]
    ) -> list[EmbeddedPassage]:
        tokens = bool(self._token_key(embedder))
        made: list[EmbeddedPassage] = []
        for whole in (True, False):
            part = [one for one in passages if (tokens and one.tokens) is whole]
            if not part:
                continue
            texts = [one.text for one in part]
            if whole:
                found = cast(TokenEmbedder, embedder).encode_tokens(texts)
                made += map(EmbeddedPassage, part, found.vectors, found.tokens)
            else:
                made += map(EmbeddedPassage, part, embedder.encode(texts))
        return made

    def _sendable(
        self, scope: str, embedder: Embedder, passages: Sequence[Passage]
    ) -> list[Passage]:
        """Return the passages that may be passed to an embedder.

        For one on another machine, passages of local-only memories are left out, and those whose
        context or key was made from a local-only turn.
        """
        if not sends_texts_away(embedder):
            return list(passages)
        hidden = self._namespaces.get(scope).local_only()
        with self._store.snapshot() as snapshot:

            def origins(one: Passage) -> Iterator[str]:
                context = snapshot.context(scope, one.owner or one.id)
                yield from (one.id, one.owner)
                yield from map(chunk_id, (*one.sources, *(context.sources if context else ())))

            return [one for one in passages if hidden.isdisjoint(origins(one))]

    def _without_exact(self, scope: str, embedder: Embedder) -> list[Passage]:
        key, token_key = self._namespaces.get(scope).space.key, self._token_key(embedder)
        with self._store.snapshot() as snapshot:
            done = {vector.memory for vector in snapshot.vectors(key, scope) if not vector.draft}
            pointing = [_passage_of_key(one) for one in snapshot.keys(scope) if one.id not in done]
            if token_key:
                done &= snapshot.has_tokens(token_key, scope, drafts=False)
            notes = [m for m in snapshot.memories(scope) if not m.retired_at]
            chunks = (chunk(turn) for turn in snapshot.turns(scope) if not turn.aside)
            every = {memory.id: memory for memory in (*chunks, *notes)}
            lines = (snapshot.in_context(m) for id_, m in every.items() if id_ not in done)
            found = [*map(_passage_of, lines), *pointing]
        return self._sendable(scope, embedder, found)

    def _store_vectors(
        self, scope: str, space: Space, made: Sequence[EmbeddedPassage], *, draft: bool
    ) -> None:
        """Store vectors; the store drops those whose text has changed since it was read."""
        namespace = self._namespaces.get(scope)  # it may have been reloaded meanwhile
        if draft:  # some may have an exact one by now
            made = [one for one in made if not namespace.searcher.has_vector(one.passage.id)]
        digests = {one.passage.id: digest(one.passage.text) for one in made}
        vectors = tuple(
            Vector(scope=scope, memory=id_, values=one.vector, draft=draft, of=digests[id_])
            for one in made
            if (id_ := one.passage.id)
        )
        tokens = tuple(
            TokenVectors(scope=scope, memory=id_, values=one.tokens, draft=draft, of=digests[id_])
            for one in made
            if one.tokens is not None and (id_ := one.passage.id)
        )
        batch = WriteBatch(
            vectors=vectors,
            embedder=space.key,
            tokens=tokens,
            token_key=self._embedding.token_key,
        )
        self._store.apply("embed", batch)
        if namespace.space == space:
            for vector in vectors:
                namespace.put_vector(vector.memory, vector.values, vector.of)

    def _passages(self, scope: str, memory_ids: Sequence[str]) -> list[Passage]:
        """Read memories from the store; those not stored yet from the latest in memory."""
        found = self._namespaces.get(scope).recent(memory_ids)
        with self._store.snapshot() as snapshot:
            for id_ in memory_ids:
                if memory := snapshot.read(scope, id_):
                    found[id_] = memory
        return [_passage_of(found[id_]) for id_ in memory_ids if id_ in found]


def _passage_of(memory: Memory) -> Passage:
    return Passage(memory.id, indexed_text(memory))


def _passage_of_key(key: Key) -> Passage:
    return Passage(key.id, key.text, key.memory, key.sources)
