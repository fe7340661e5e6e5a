"""Embeds and indexes logged turns and stored memories, in order, on threads of its own.

Two workers. Recall and every change of an index run on the first (``talk``), so that every later
query finds a turn; many turns are indexed in slices, between which recalls run. Embedding of new
turns and rebuilding run on the second (``back``), so that they never delay a recall. Indexes are
loaded on threads of their own (``opener``): what changes meanwhile is applied afterwards. Two
workers only recall: one ahead of a turn (``ahead``), one for a turn that is out of time and cannot
wait for the first (``late``). What the last one recalls is thrown away: it keeps the rest warm
(``warm``).

The embedding model may be missing, to be exported, or ready. Queries are embedded while a turn waits,
behind a cache, and not at all for a while after failures. Until a model is available there are no
vectors, and recall is by words. Vectors of memories are made once, on the thread that embeds, with a
model that returns them together with their token vectors. A text that changes loses both, and gets
new ones.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from operator import methodcaller
from typing import Any, TypeVar, cast

import numpy as np
from loguru import logger
from msgspec import Struct

from slowcat_memory import providers
from slowcat_memory.clock import Clock, seconds_of
from slowcat_memory.core.memory import chunk_id, indexed_text
from slowcat_memory.core.ranking.token_codes import encode
from slowcat_memory.core.text.normalize import digest
from slowcat_memory.errors import SlowcatError, describe_error
from slowcat_memory.metrics import Metrics
from slowcat_memory.providers import (
    Embedded,
    Embedder,
    EmbedderOptions,
    EmbedderReport,
    Encoded,
    sends_texts_away,
)
from slowcat_memory.records import TokenCodes, Turn, Vector, WriteBatch
from slowcat_memory.runtime.namespaces.live_index import Space
from slowcat_memory.runtime.namespaces.registry import Namespace, Namespaces
from slowcat_memory.store import Ack
from slowcat_memory.store.bookkeeping import changed_by
from slowcat_memory.store.disk import codec

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
        embedder, self.report = self._opened()
        if embedder is not None:
            self.embedder, self.space = embedder, Space(embedder.key, embedder.dim)
            self.token_key = embedder.token_key if self.options.token_vectors else ""
            self.forget()
            self._failures = 0

    def _opened(self) -> tuple[Embedder | None, EmbedderReport]:
        if (given := self.given) is not None:
            return given, EmbedderReport(state="ready", source=given.name, key=given.key)
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
        encoded = cast(Embedder, self.embedder).encode_query(text)
        return encoded if self.token_key else Encoded(encoded.vector)

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


PART = 16  # texts embedded between two looks whether the memory closes, and stored together
OnProgress = Callable[[str, int, int], None]
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


# ------------------------------------------------------------------- the workers


T = TypeVar("T")
Change = Callable[[Namespace], None]
Logged = tuple[Turn, Ack | None]
"""A turn and its receipt; None for one of another process, which makes its vector."""
SLICE = 8  # turns or memories that are indexed before a recall may run: 3 ms
CLOSE_S = 2.0  # how long each worker may finish its work at the end


class Indexer:
    """Passes turns and memories to the indexes, and makes and stores their vectors."""

    def __init__(self, namespaces: Namespaces, embedding: Embedding, metrics: Metrics) -> None:
        self._namespaces, self._embedding, self._metrics = namespaces, embedding, metrics
        self._store = namespaces.store
        self._waiting: deque[Logged] = deque()  # see ``release``
        self._releasing = threading.Lock()
        # The rest belongs to ``talk``: turns to index; namespaces that are being loaded, and for
        # each the one that was in use when that began, and the changes since.
        self._ready: deque[Logged] = deque()
        self._opening: dict[Future[Any], str] = {}
        self._missed: dict[str, tuple[Namespace | None, list[Change]]] = {}
        self.closing = threading.Event()  # once set, embedding ends with its next slice
        self.talk = ThreadPoolExecutor(1, "slowcat-recall")
        self.back = ThreadPoolExecutor(1, "slowcat-embed")
        self.opener = ThreadPoolExecutor(16, "slowcat-open")
        self.ahead = ThreadPoolExecutor(1, "slowcat-ahead")
        self.late = ThreadPoolExecutor(1, "slowcat-late")
        self.warm = ThreadPoolExecutor(1, "slowcat-warm")

    def add(self, acks: Sequence[Ack]) -> None:
        """Queue turns, to be indexed and embedded by ``release``. Does not block.

        Of ``acks`` those of turns count, except a guest's.
        """
        self._waiting.extend(
            (ack.event, ack)
            for ack in acks
            if isinstance(ack.event, Turn)
            and not ack.event.aside
            and not self._namespaces.is_guests(ack.event.scope)
        )

    def release(self, upto: int = 1 << 62, but: frozenset[str] = frozenset()) -> None:
        """Index the queued turns, so that every later query finds them.

        A turn is held back until its own recall has been passed to the worker. Indexed, it would
        match itself best, distort normalisation for every other memory, add its terms to its
        neighbours' windows, and be embedded while its recall waits.

        ``upto`` is the log id of the last turn to index, for a caller that knows no later one.
        ``but`` are ids of chunks to hold back: those that the current recall excludes.
        """
        ready, waiting = [], self._waiting
        with self._releasing:  # by one thread at a time, so that they keep their order
            while waiting and waiting[0][0].id <= upto and chunk_id(waiting[0][0].id) not in but:
                ready.append(waiting.popleft())
            if ready:
                self.talk.submit(self._index_turns, ready)

    def _index_turns(self, turns: Sequence[Logged] = ()) -> None:
        self._ready.extend(turns)
        parts: dict[str, list[Logged]] = {}
        for _ in range(min(SLICE, len(self._ready))):
            part = self._ready.popleft()
            parts.setdefault(part[0].scope, []).append(part)
        for scope, some in parts.items():
            self._change(scope, partial(self._guarded, self._add_turns, some), load=True)
        if self._ready:
            self.soon(self._index_turns)
        self._namespaces.drop_unused()

    def _index_rest(self) -> None:
        while self._ready and not self.closing.is_set():
            self._index_turns()

    def _add_turns(self, turns: Sequence[Logged], namespace: Namespace) -> None:
        for turn, ack in turns:
            if chunk_id(turn.id) not in namespace.searcher:  # loading may have read it already
                namespace.add_turn(turn, ack)
        if unembedded := [chunk_id(turn.id) for turn, ack in turns if ack]:
            self.later(self.embed, namespace.scope, unembedded)

    def _change(self, scope: str, work: Change, *, load: bool = False) -> None:
        """Change a namespace if it is loaded, and again after a load that runs: it reads the past.

        With ``load`` it is loaded first if it is not. One that was loaded just now has missed
        earlier changes: ``_end_opening`` makes all of them, in their order.
        """
        if scope not in self._missed and (load or self._namespaces.is_loading(scope)):
            if not self._namespaces.loaded(scope):
                self.open(scope, self._namespaces.get)
        namespace = self._namespaces.loaded(scope)
        if scope in self._missed:
            before, missed = self._missed[scope]
            missed.append(work)
            namespace = before if before is namespace else None
        if namespace is not None:
            work(namespace)

    def open(self, scope: str, load: Callable[[str], T]) -> "Future[T]":
        """Load a namespace on a thread of its own; a failure is logged. Call it on the first worker."""
        self._missed.setdefault(scope, (self._namespaces.loaded(scope), []))
        opened = self.opener.submit(load, scope)
        self._opening[opened] = scope
        opened.add_done_callback(partial(self.soon, self._end_opening, scope))
        return opened

    def _end_opening(self, scope: str, opened: "Future[Any]") -> None:
        self._guarded(partial(opened.result))
        namespace, (_, missed) = self._namespaces.loaded(scope), self._missed.pop(scope)
        for work in missed if namespace else ():
            self._guarded(work, namespace)
        if [*self._opening.values()].count(scope) > 1:
            self._missed[scope] = namespace, missed
        del self._opening[opened]

    def hear(self, scope: str, turns: Sequence[Turn]) -> None:
        """Index turns of another process if their scope is loaded. Call it on the first worker."""
        logged = [(turn, None) for turn in turns]
        self._change(scope, partial(self._guarded, self._add_turns, logged))

    def refresh(self, scope: str, memory_ids: Sequence[str]) -> None:
        """Read memories again if their scope is loaded. Call it on the first worker."""
        self._change(scope, partial(self._guarded, methodcaller("refresh", memory_ids)))

    def take(self, batch: WriteBatch) -> None:
        """Index what a stored batch changed, in the namespaces that are loaded. Blocks."""
        for scope, ids in changed_by(batch, lambda v: codec.owner_of(v.memory) or v.memory).items():
            self.read_again(scope, ids)

    def read_again(self, scope: str, memory_ids: Sequence[str]) -> None:
        """Read memories again if their scope is loaded. Blocks."""
        self.release()
        for start in range(0, len(memory_ids), SLICE):  # a recall may run in between
            index = partial(self._index_again, memory_ids[start : start + SLICE])
            self.talk.submit(self._change, scope, index).result()

    def _index_again(self, memory_ids: Sequence[str], namespace: Namespace) -> None:
        namespace.refresh(memory_ids)
        if unembedded := namespace.searcher.incomplete(memory_ids):
            self.later(self.embed, namespace.scope, unembedded)

    def reload(self, scope: str) -> None:
        """Load a namespace again from the store, after all turns queued before. Blocks.

        Raises:
            StoreError: Turns wait to be saved: they would be missing.
        """
        self.talk.submit(self.open, scope, self._namespaces.reload).result().result()

    def later(self, work: Callable[..., object], *arguments: Any) -> Future[None] | None:
        """Run slow work on the second worker; its exceptions are logged.

        Returns None when the workers are closing.
        """
        if self.closing.is_set():
            return None
        return self.back.submit(self._guarded, work, *arguments)

    def soon(self, work: Callable[..., None], *arguments: Any) -> None:
        """Run quick work on the first worker, after the current recall; see ``later``."""
        if not self.closing.is_set():
            with suppress(RuntimeError):  # it is closed just now
                self.talk.submit(self._guarded, work, *arguments)

    def _guarded(self, work: Callable[..., object], *arguments: Any) -> None:
        try:
            work(*arguments)
        except Exception as error:  # a worker thread has no caller to raise to
            if not self.closing.is_set():
                self._metrics.count("background_failures")
                name = getattr(work, "__name__", "indexing").strip("_")
                hint = getattr(error, "hint", "")  # of our own errors: the remedy
                logger.warning(f"memory: {name} failed: {describe_error(error)} {hint}")

    def catch_up(self) -> None:
        """Wait until everything logged so far is searchable by words. Blocks."""
        self.release()
        self.talk.submit(lambda: None).result()
        while (self._ready or self._opening) and not self.closing.is_set():
            wait(self._opening)
            self.talk.submit(lambda: None).result()
        self.talk.submit(lambda: None).result()  # behind the last slice

    def drain(self) -> None:
        """Wait until everything logged so far is indexed and embedded, and all is open. Blocks."""
        self.catch_up()
        self.back.submit(lambda: None).result()  # the first worker feeds it
        for namespace in self._namespaces:
            namespace.finish_opening()

    def close(self) -> None:
        """Finish the queued work, and stop. Takes a few seconds at most; may be called twice."""
        if not self.closing.is_set():
            # Index first, before closing begins: the last turns are embedded too.
            self.release()
            wait((self.talk.submit(self._index_rest),), CLOSE_S)
            self.closing.set()
            for namespace in self._namespaces:
                namespace.stop()
            wait((self.back.submit(lambda: None),), CLOSE_S)
        self.talk.shutdown(wait=False)
        for pool in (self.back, self.opener, self.ahead, self.late, self.warm):
            pool.shutdown(wait=False, cancel_futures=True)

    # ---------------------------------------------------------------- vectors of memories

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
        embedded = embedder.encode(texts)
        return embedded if self._embedding.token_key else Embedded(embedded.vectors, [])

    def embed(
        self, scope: str, memory_ids: Sequence[str] | None = None, report: OnProgress | None = None
    ) -> None:
        """Make the vectors that the index lacks of memories and their keys, of some or of all.

        With ``report``, token vectors that the store lacks too; all is durable on return.

        Raises:
            ProviderError: The embedder failed; the vectors it finished are stored.
        """
        embedder = self._embedding.embedder
        if embedder is None or self._store.readonly:
            return
        namespace = self._namespaces.get(scope)
        space = namespace.space
        if space.key != embedder.key:
            return
        wanted = namespace.searcher.incomplete() if memory_ids is None else memory_ids
        found, bare = namespace.recent(wanted), set[str]()  # first: those may not be stored yet
        with self._store.snapshot() as snapshot:
            if report and (token_key := self._embedding.token_key):
                bare = {id_ for id_, _ in namespace.searcher.table.items()}
                bare -= snapshot.has_tokens(token_key, scope)
            ids = dict.fromkeys((*wanted, *bare))
            found |= {id_: m for id_ in ids if (m := snapshot.read(scope, id_))}
            keys = [key for id_ in ids for key in snapshot.keys(scope, id_)]
        every = [
            *(Passage(m.id, indexed_text(m)) for m in found.values()),
            *(Passage(key.id, key.text, key.memory, key.sources) for key in keys),
        ]
        lacks = [p for p in every if p.id in bare or not namespace.searcher.has_vector(p.id)]
        passages = self._sendable(namespace, embedder, lacks)
        for start in range(0, len(passages), PART):
            if start and self.closing.is_set():
                return
            if report:
                report("embed", start, len(passages))
            part = passages[start : start + PART]
            self._store_vectors(scope, space, part, self._encode(embedder, [p.text for p in part]))
        if report:
            report("embed", len(passages), len(passages))
            self._store.flush(None)

    def _sendable(
        self, namespace: Namespace, embedder: Embedder, passages: Sequence[Passage]
    ) -> list[Passage]:
        """Return the passages that may be passed to an embedder.

        For one on another machine, passages of local-only memories are left out, and those whose
        context or key was made from a local-only turn.
        """
        if not sends_texts_away(embedder):
            return list(passages)
        with self._store.snapshot() as snapshot:

            def is_local(passage: Passage) -> bool:
                context = snapshot.context(namespace.scope, passage.owner or passage.id)
                turns = map(chunk_id, (*passage.sources, *(context.sources if context else ())))
                origins = namespace.fetch([passage.owner or passage.id, *turns])  # saved or not
                return any(memory.local_only for memory in origins.values())

            return [passage for passage in passages if not is_local(passage)]

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
