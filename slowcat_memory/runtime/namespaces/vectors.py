"""Vectors of what was said: drafts just after, exact ones when there is time.

A *draft* is made by the query embedder (int8), milliseconds after the turn; the document embedder
(fp32, a child process) replaces it. Both live in one space. With a model that tells them, the
vectors of the single tokens are made and kept together with the vector.
"""

import threading
from collections.abc import Callable, Sequence
from typing import cast

import numpy as np
from msgspec import Struct

from slowcat_memory.core.memory.chunk import chunk, spoken
from slowcat_memory.core.text.normalize import digest
from slowcat_memory.errors import ProviderError
from slowcat_memory.providers import (
    DocumentEmbedder,
    Embedded,
    Embedder,
    TokenEmbedder,
    token_key_of,
)
from slowcat_memory.records import Key, Memory, TokenVectors, Vector, WriteBatch
from slowcat_memory.runtime.namespaces.embedding import Embedding
from slowcat_memory.runtime.namespaces.namespace import Space
from slowcat_memory.runtime.namespaces.registry import Namespaces
from slowcat_memory.store import Store

DRAFTS = 16  # texts embedded between two looks at whether to stop
EXACT = 64  # texts embedded between two words about progress, and written together
GENTLE = 16  # the same while somebody may begin to speak: a third of a second in the child process
Told = Callable[[str, int, int], None]
"""Told what is being done, how much is done, and of how much."""
Stop = Callable[[], bool]


class Passage(Struct, frozen=True):
    """A text that is embedded: a memory's line in its context, or a key.

    Attributes:
        id: The memory's or the key's.
        text: The text.
        owner: The memory that a key points to, "" for a memory.
    """

    id: str
    text: str
    owner: str = ""

    @property
    def tokens(self) -> bool:
        """Whether its tokens are wanted too: a key points at a memory, whose own tokens count."""
        return not self.owner


class Made(Struct, frozen=True):
    """A passage, embedded."""

    passage: Passage
    vector: np.ndarray
    tokens: np.ndarray | None = None


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

    def encode(self, texts: Sequence[str]) -> Embedded:
        """Embed texts as drafts are embedded. Blocks, 2 ms a text.

        Args:
            texts: The texts.

        Returns:
            Their vectors; empty without a model.
        """
        embedder = self._embedding.embedder
        if embedder is None:
            return Embedded(np.zeros((0, 0), np.float32), [])
        if self._token_key(embedder):
            return cast(TokenEmbedder, embedder).encode_tokens(texts)
        return Embedded(embedder.encode(texts), [])

    def draft(self, scope: str, memory_ids: Sequence[str]) -> None:
        """Embed those memories, and keys to them, that have no vector, with the query model.

        Args:
            scope: Their namespace.
            memory_ids: The memories' ids.
        """
        embedder, namespace = self._embedding.embedder, self._namespaces.get(scope)
        if embedder is None or namespace.space.key != embedder.key:
            return
        with self._store.snapshot() as snapshot:
            keys = [key for id_ in memory_ids for key in snapshot.keys(scope, id_)]
        every = [*self._lines(scope, memory_ids), *map(_key, keys)]
        wanted = [one for one in every if not namespace.searcher.has_vector(one.id)]
        if wanted:
            self._keep(scope, namespace.space, self._made(embedder, wanted), draft=True)

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
        searcher = namespace.searcher
        missing = list(dict.fromkeys((*searcher.missing_vectors(), *searcher.missing_keys())))
        for start in range(0, len(missing), DRAFTS):
            if stop.is_set():
                return
            self.draft(scope, missing[start : start + DRAFTS])

    def due(self, scope: str) -> bool:
        """Tell whether anything lacks an exact vector, and could have one. Reads the namespace.

        Args:
            scope: The namespace.

        Returns:
            Whether ``embed`` would make any; False when documents cannot be embedded here.
        """
        if self._embedding.embedder is None:
            return False
        opened, _ = self._embedding.open_documents()
        if opened is None:
            return False
        try:
            same = opened.key == self._namespaces.get(scope).space.key
            return same and bool(self._inexact(scope, self._token_key(opened)))
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

        A vector that lacks those of its tokens counts as missing.

        Args:
            scope: The namespace.
            told: Told about the progress.
            embedder: Whose owner closes it; None opens one for this call, which costs seconds.
            stop: Asked between two slices, which are small then; True ends it.

        Raises:
            ProviderError: The document embedder failed; what it finished is kept.
        """
        if self._embedding.embedder is None:
            return
        if embedder is not None:
            self._embed_with(embedder, scope, told, stop)
            return
        opened, report = self._embedding.open_documents()
        if opened is None:
            raise ProviderError(report.source, hint=report.hint)
        try:
            self._embed_with(opened, scope, told, stop)
        finally:
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
        missing = self._inexact(scope, self._token_key(embedder))
        size = GENTLE if stop else EXACT
        for start in range(0, len(missing), size):
            if stop and stop():
                break
            told("embed", start, len(missing))
            made = self._made(embedder, missing[start : start + size])
            self._keep(scope, space, made, draft=False)
        else:
            told("embed", len(missing), len(missing))
        self._store.flush(None)

    def _token_key(self, embedder: Embedder) -> str:
        """Return the key of the token vectors that are wanted and that the embedder makes."""
        wanted = self._embedding.token_key
        return wanted if token_key_of(embedder) == wanted else ""

    def _made(self, embedder: Embedder, passages: Sequence[Passage]) -> list[Made]:
        """Embed texts, with their tokens where these are wanted."""
        tokens = bool(self._token_key(embedder))
        made: list[Made] = []
        for whole in (True, False):
            part = [one for one in passages if (tokens and one.tokens) is whole]
            if not part:
                continue
            texts = [one.text for one in part]
            if whole:
                found = cast(TokenEmbedder, embedder).encode_tokens(texts)
                made += map(Made, part, found.vectors, found.tokens)
            else:
                made += map(Made, part, embedder.encode(texts))
        return made

    def _inexact(self, scope: str, token_key: str) -> list[Passage]:
        """List what has no exact vector, or whose tokens have none."""
        key = self._namespaces.get(scope).space.key
        with self._store.snapshot() as snapshot:
            done = {vector.memory for vector in snapshot.vectors(key, scope) if not vector.draft}
            pointing = [_key(one) for one in snapshot.keys(scope) if one.id not in done]
            if token_key:
                done &= snapshot.has_tokens(token_key, scope, drafts=False)
            notes = [m for m in snapshot.memories(scope) if not m.retired_at]
            chunks = (chunk(turn) for turn in snapshot.turns(scope) if not turn.aside)
            every = {memory.id: memory for memory in (*chunks, *notes)}
            lines = (snapshot.in_context(m) for id_, m in every.items() if id_ not in done)
            return [*map(_line, lines), *pointing]

    def _keep(self, scope: str, space: Space, made: Sequence[Made], *, draft: bool) -> None:
        """Keep vectors, but those of a text that has changed since it was read."""
        namespace = self._namespaces.get(scope)  # it may have been loaded anew meanwhile
        if draft:  # exact by now
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

    def _lines(self, scope: str, memory_ids: Sequence[str]) -> list[Passage]:
        """Read memories as they are stored; what is not in the store yet, as it is at hand."""
        found = self._namespaces.get(scope).recent(memory_ids)
        with self._store.snapshot() as snapshot:
            for id_ in memory_ids:
                if memory := snapshot.read(scope, id_):
                    found[id_] = memory
        return [_line(found[id_]) for id_ in memory_ids if id_ in found]


def _line(memory: Memory) -> Passage:
    return Passage(memory.id, spoken(memory))


def _key(key: Key) -> Passage:
    return Passage(key.id, key.text, key.memory)
