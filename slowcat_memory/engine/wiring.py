"""Builds the components of an engine, in order."""

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from functools import lru_cache, partial
from typing import Any

from msgspec import structs

from slowcat_memory.clock import Clock
from slowcat_memory.config import Config, time_zone, tokenizer
from slowcat_memory.config.config import retrieval_options
from slowcat_memory.core.catalogue import Catalogue
from slowcat_memory.core.disclosure import Reader
from slowcat_memory.core.memory import CHUNK, chunk_id
from slowcat_memory.engine.availability import Availability
from slowcat_memory.engine.expiry import ClockGuard
from slowcat_memory.idle.events import OnMemory, events_of, notify
from slowcat_memory.idle.scheduler.idle_gate import IdleGate
from slowcat_memory.idle.working_set import WorkingSet
from slowcat_memory.index.table import release_pages
from slowcat_memory.metrics import Metrics
from slowcat_memory.providers import QueryEmbedder
from slowcat_memory.records import EventKind, MemoryEvent, Turn, WriteBatch
from slowcat_memory.runtime.commands.undo_log import UndoLog
from slowcat_memory.runtime.conversation.audience import UserNames, guest_scope, reader_of
from slowcat_memory.runtime.namespaces.embedding import Embedding
from slowcat_memory.runtime.namespaces.indexer import Indexer
from slowcat_memory.runtime.namespaces.registry import Namespaces, PageCache
from slowcat_memory.runtime.namespaces.sealing import SealOrder
from slowcat_memory.runtime.namespaces.vectors import DocumentVectors
from slowcat_memory.runtime.recall.query import RetrievalOptions
from slowcat_memory.runtime.recall.service import Retrieval
from slowcat_memory.runtime.session_head import Heads, Icebreakers
from slowcat_memory.store import Ack, Snapshot, Store
from slowcat_memory.store.disk.folder import or_undo

PERSON = "person"
RECALL = "recall"  # the activity of a recall
CATALOGUES = 8  # scopes whose catalogues are kept, the latest used


class MemoryEvents:
    """Writes batches and passes on what happened. Safe to use from several threads.

    ``listeners`` run on the thread on which it happened: the caller's, the store's or a worker's.
    """

    def __init__(self, store: Store, clock: Clock, metrics: Metrics) -> None:
        self._store, self._clock, self._metrics = store, clock, metrics
        self.listeners: list[OnMemory] = []

    def write(self, job: str, batch: WriteBatch) -> None:
        """Write a batch, wait until it is durable, and pass on what it changed.

        Raises:
            StoreError: It could not be saved.
        """
        events: tuple[MemoryEvent, ...] = ()
        if self.listeners:
            with self._store.snapshot() as before:
                events = events_of(job, batch, before, self._clock())
        self._store.apply(job, batch).wait(None)
        self.send(events)

    def send(self, events: Iterable[MemoryEvent]) -> None:
        """Pass events on; a listener that fails is counted, and disturbs nobody."""
        if failures := notify(self.listeners, events):
            self._metrics.count("listener_failures", failures)

    def tell(self, what: EventKind, scope: str, ids: Sequence[str], **more: Any) -> None:
        """Pass on what happened to memories, if there are any and somebody listens."""
        if self.listeners and ids:
            self.send((MemoryEvent(what=what, scope=scope, ids=tuple(ids), **more),))

    def stored(self, ack: Ack) -> None:
        """Pass on, once it is on disk, that a turn was stored; voice commands are no memories.

        Called on event loops: the event is made on the store's thread.
        """
        turn = ack.event
        if self.listeners and isinstance(turn, Turn) and not turn.aside:
            ack.future.add_done_callback(partial(self._on_stored, turn))

    def _on_stored(self, turn: Turn, future: Future[None]) -> None:
        if future.exception() is None:
            more: dict[str, Any] = {"session": turn.session, "turn": turn.id, "at": turn.at}
            self.tell("stored", turn.scope, (chunk_id(turn.id),), kind=CHUNK, **more)


class EngineWiring:
    """One store, its indexes and its embedder, wired together.

    Starts no threads but the store's writer and the embedder's own.
    Internal to the engine; tests and benchmarks may look inside.
    """

    def __init__(
        self,
        config: Config,
        availability: Availability,
        readonly: bool,
        clock: Clock,
        embedder: QueryEmbedder | None,
        metrics: Metrics | None,
        open_store: Callable[..., Store] | None,
    ) -> None:
        self.config, self.readonly, self.clock = config, readonly, clock
        self._catalogues = lru_cache(CATALOGUES)(lambda scope: (threading.Lock(), WorkingSet()))
        self.metrics = metrics or Metrics()
        self.zone, self.tokenizer = time_zone(config), tokenizer(config)
        self.guest_scope = guest_scope(config.people)
        self.gate = IdleGate(config.idle)  # closed by every recall, whoever asks for it
        self.store = (open_store or Store.open)(
            config.folder,
            readonly=readonly,
            options=config.store,
            on_trouble=availability.fail,
            on_back=availability.recover,
            metrics=self.metrics,
        )
        with or_undo(self.store.close):  # or this process would keep it from every later try
            self._connect(embedder)

    def _connect(self, embedder: QueryEmbedder | None) -> None:
        config, clock = self.config, self.clock
        self.embedding = Embedding(
            config.embedding, config.memory.embedding_cache_size, clock, self.metrics, embedder
        )
        self.query_caches = [self.embedding.forget, self.tokenizer.forget]
        self.clock_guard = ClockGuard(clock, self.store)
        self.namespaces = self.namespaces_of(self.store)
        self.vectors = DocumentVectors(self.embedding, self.namespaces, self.store)
        self.indexer = Indexer(self.namespaces, self.vectors, self.metrics)
        self.page_cache = PageCache(
            config.memory.mapped_mb,
            config.memory.mapped_after_s,
            (release_pages, self.store.release),
            self.indexer.later,
            warn_mb=config.memory.warn_mb,
        )
        user = config.memory.user_name
        self.users = UserNames(self.store.snapshot, user)
        self.retrieval = self.retrieval_of(retrieval_options(config))
        self.icebreakers = Icebreakers(self.store, self.zone, clock, config.icebreakers, user)
        self.heads = Heads(
            self.store,
            self.catalogue,
            self.icebreakers,
            self.zone,
            clock,
            config.head,
            self.users,
            config.memory.language,
        )
        self.events = MemoryEvents(self.store, clock, self.metrics)
        # Of ``OtherProcesses``, which looks at what they write.
        self.look_soon: Callable[[], None] = lambda: None
        self.forgot: Callable[[], None] = lambda: None
        write = partial(self.events.write, "command")
        self.undo_log = UndoLog(self.store, write, self.indexer.put, clock, self.clock_guard.doubt)

    @contextmanager
    def catalogue(self, scope: str, snapshot: Snapshot) -> Iterator[Catalogue]:
        """Lend a scope's catalogue, as new as a snapshot, to one thread at a time."""
        lock, views = self._catalogues(scope)
        with lock:
            yield views.view(Catalogue, snapshot, scope, self.tokenizer)

    def reader(self, *scopes: str, local: bool = False, muted: bool = False) -> Reader:
        """Return who reads some namespaces, and under which names; see ``audience.reader_of``."""
        reader = reader_of(self.config.people, *scopes, local=local, muted=muted)
        return structs.replace(reader, called=self.users.loaded(*reader.scopes))

    def namespaces_of(self, store: Store) -> Namespaces:
        """Build the indexes of a store; each is loaded when first used."""
        memory, options = self.config.memory, self.config.index
        return Namespaces(
            store,
            lambda scope: SealOrder(
                scope, self.embedding.space, memory.time_zone, self.tokenizer.language, options
            ),
            self.tokenizer,
            memory.hot_cache_size,
            self.guest_scope,
            self._give_way,
        )

    def forget_queries(self) -> None:
        """Clear queries from the caches."""
        for forget in self.query_caches:
            forget()

    def _give_way(self) -> None:
        """Let a recall go first, nearly: a load goes on slowly beside recalls that never pause."""
        if self.gate.is_active(RECALL):
            time.sleep(0.001)

    def retrieval_of(
        self,
        options: RetrievalOptions,
        namespaces: Namespaces | None = None,
        store: Store | None = None,
    ) -> Retrieval:
        """Build a retrieval with other options, or over other indexes of another store."""
        return Retrieval(
            namespaces or self.namespaces,
            self.embedding,
            self.indexer,
            store or self.store,
            self.metrics,
            self.page_cache,
            self.zone,
            self.tokenizer,
            options,
            self.users,
            partial(self.gate.closed, RECALL),
            lambda: self.look_soon(),
        )

    def close(self) -> None:
        """Save pending writes and close. Takes a few seconds at most; may be called twice."""
        self.page_cache.stop()
        self.indexer.close()
        self.store.close()
