"""Vectors of what was said: drafts just after, exact ones when there is time.

A *draft* is made by the query embedder (int8), milliseconds after the turn; the document embedder
(fp32, a child process) replaces it. Both live in one space. With a model that tells them, the
vectors of the single tokens are made and kept together with the vector.
"""

import threading
from collections.abc import Callable, Sequence
from typing import cast

import numpy as np

from slowcat_memory.core.chunks import chunk, spoken
from slowcat_memory.errors import ProviderError
from slowcat_memory.providers import (
    DocumentEmbedder,
    Embedded,
    Embedder,
    TokenEmbedder,
    token_key_of,
)
from slowcat_memory.records import Memory, TokenVectors, Vector, WriteBatch
from slowcat_memory.runtime.embedding import Embedding
from slowcat_memory.runtime.namespace import Space
from slowcat_memory.runtime.namespaces import Namespaces
from slowcat_memory.store import Store

DRAFTS = 16  # texts embedded between two looks at whether to stop
EXACT = 64  # texts embedded between two words about progress, and written together
Told = Callable[[str, int, int], None]
"""Told what is being done, how much is done, and of how much."""


class DocumentVectors:
    """Makes vectors of memories, keeps them, and puts them into the indexes."""

    def __init__(self, embedding: Embedding, namespaces: Namespaces, store: Store) -> None:
        """Wire the parts.

        Args:
            embedding: The model.
            namespaces: Where vectors are searched.
            store: Where they are kept.
        """
        self._embedding, self._namespaces, self._store = embedding, namespaces, store

    def draft(self, scope: str, memories: Sequence[Memory]) -> None:
        """Embed those memories that have no vector, with the query model.

        Args:
            scope: Their namespace.
            memories: The memories.
        """
        embedder, namespace = self._embedding.embedder, self._namespaces.get(scope)
        if embedder is None or namespace.space.key != embedder.key:
            return
        wanted = [m for m in memories if not namespace.searcher.has_vector(m.id)]
        if not wanted:
            return
        made = self._encode(embedder, [spoken(memory) for memory in wanted])
        searcher = self._namespaces.get(scope).searcher
        late = np.array([searcher.has_vector(memory.id) for memory in wanted])  # exact by now
        if not late.all():
            kept = np.flatnonzero(~late).tolist()
            tokens = [made.tokens[i] for i in kept] if made.tokens else []
            part = Embedded(made.vectors[kept], tokens)
            self._keep(scope, namespace.space, [wanted[i] for i in kept], part, draft=True)

    def draft_missing(self, scope: str, stop: threading.Event) -> None:
        """Embed everything in a namespace that has no vector, with the query model.

        Args:
            scope: The namespace.
            stop: Set when this is to stop between two small batches.
        """
        if self._embedding.embedder is None:
            return
        namespace = self._namespaces.get(scope)
        namespace.wait_vectors()
        missing = namespace.searcher.missing_vectors()
        for start in range(0, len(missing), DRAFTS):
            if stop.is_set():
                return
            self.draft(scope, list(namespace.fetch(missing[start : start + DRAFTS]).values()))

    def embed(self, scope: str, told: Told, embedder: DocumentEmbedder | None = None) -> None:
        """Replace drafts by exact vectors, and make the missing ones. Blocks, for minutes.

        A vector that lacks those of its tokens counts as missing.

        Args:
            scope: The namespace.
            told: Told about the progress.
            embedder: Whose owner closes it; None opens one for this call, which costs seconds.

        Raises:
            ProviderError: The document embedder failed; what it finished is kept.
        """
        if self._embedding.embedder is None:
            return
        if embedder is not None:
            self._embed_with(embedder, scope, told)
            return
        opened, report = self._embedding.open_documents()
        if opened is None:
            raise ProviderError(report.source, hint=report.hint)
        try:
            self._embed_with(opened, scope, told)
        finally:
            opened.close()

    def _embed_with(self, embedder: DocumentEmbedder, scope: str, told: Told) -> None:
        space = self._namespaces.get(scope).space
        if embedder.key != space.key:
            raise ProviderError(
                f"documents would be embedded as {embedder.key}, not {space.key}",
                hint="The model has changed; start again, and it is exported anew",
            )
        missing = self._inexact(scope, self._token_key(embedder))
        for start in range(0, len(missing), EXACT):
            told("embed", start, len(missing))
            part = missing[start : start + EXACT]
            made = self._encode(embedder, [spoken(memory) for memory in part])
            self._keep(scope, space, part, made, draft=False)
        told("embed", len(missing), len(missing))
        self._store.flush(None)

    def _token_key(self, embedder: Embedder) -> str:
        """Return the key of the token vectors that are wanted and that the embedder makes."""
        wanted = self._embedding.token_key
        return wanted if token_key_of(embedder) == wanted else ""

    def _encode(self, embedder: Embedder, texts: Sequence[str]) -> Embedded:
        if self._token_key(embedder):
            return cast(TokenEmbedder, embedder).encode_tokens(texts)
        return Embedded(embedder.encode(texts), [])

    def _inexact(self, scope: str, token_key: str) -> list[Memory]:
        """List the memories without an exact vector, or whose tokens have none."""
        key = self._namespaces.get(scope).space.key
        with self._store.snapshot() as snapshot:
            done = {vector.memory for vector in snapshot.vectors(key, scope) if not vector.draft}
            if token_key:
                done &= snapshot.has_tokens(token_key, scope, drafts=False)
            notes = [m for m in snapshot.memories(scope) if not m.retired_at]
            chunks = (chunk(turn) for turn in snapshot.turns(scope) if not turn.aside)
            every = {memory.id: memory for memory in (*chunks, *notes)}
            return [snapshot.in_context(m) for id_, m in every.items() if id_ not in done]

    def _keep(
        self,
        scope: str,
        space: Space,
        memories: Sequence[Memory],
        made: Embedded,
        *,
        draft: bool,
    ) -> None:
        vectors = tuple(
            Vector(scope=scope, memory=memory.id, values=row, draft=draft)
            for memory, row in zip(memories, made.vectors, strict=True)
        )
        tokens = tuple(
            TokenVectors(scope=scope, memory=memory.id, values=rows, draft=draft)
            for memory, rows in zip(memories, made.tokens, strict=False)  # all of them, or none
        )
        batch = WriteBatch(
            vectors=vectors,
            embedder=space.key,
            tokens=tokens,
            token_key=self._embedding.token_key,
        )
        self._store.apply("embed", batch)
        namespace = self._namespaces.get(scope)  # it may have been loaded anew meanwhile
        if namespace.space == space:
            for vector in vectors:
                namespace.put_vector(vector.memory, vector.values)
