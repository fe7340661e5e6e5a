"""The memory engine: wires the rooms, and is all that the doors know of them.

Threads. ``recall`` and everything that changes an index run on one worker, in order, so that a
turn is findable by whatever is asked after it. Embedding of new turns and rebuilding run on a
second one. Durable writes belong to the store's own thread. The event loop only waits, and never
for a write.
"""

import asyncio
import hashlib
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
from loguru import logger
from msgspec.structs import replace

from slowcat_memory.config import Config
from slowcat_memory.core.chunks import chunk
from slowcat_memory.core.head import head
from slowcat_memory.core.pack import Packed, pack
from slowcat_memory.core.text import Tokenizer, clean
from slowcat_memory.errors import ConfigError, StoreError
from slowcat_memory.metrics import Metrics
from slowcat_memory.providers import DocumentEmbedder, EmbedderReport, QueryEmbedder
from slowcat_memory.records import (
    Cursor,
    Event,
    Forget,
    Forgotten,
    LedgerEntry,
    Memory,
    Offer,
    Session,
    SessionEdge,
    Turn,
    WriteBatch,
)
from slowcat_memory.runtime.documents import DocumentVectors, Told
from slowcat_memory.runtime.embedding import Embedding
from slowcat_memory.runtime.namespace import read_memory
from slowcat_memory.runtime.namespaces import Namespaces, check_scope
from slowcat_memory.runtime.recall import Progress, Query, Recall, Recollection
from slowcat_memory.store import Ack, Store

__all__ = ["MemoryEngine", "check_names", "check_scope"]
CLOSE_S = 2.0  # how long each worker may finish what it has when the engine closes
_shared: dict[Path, "tuple[MemoryEngine, int]"] = {}
_shared_lock = threading.Lock()


class MemoryEngine:
    """One store, its indexes and its embedder; shareable by many processors of one process."""

    def __init__(
        self,
        config: Config,
        *,
        readonly: bool = False,
        on_trouble: Callable[[StoreError], None] | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        embedder: QueryEmbedder | None = None,
    ) -> None:
        """Open the store, and the embedder if its model is at hand.

        Takes up to a second, more after an unclean stop: call it from a thread.

        Args:
            config: The configuration.
            readonly: Only read, beside a process that writes.
            on_trouble: Told once when the store cannot save, and why.
            clock: The time, aware; for tests.
            embedder: Used for queries and documents, instead of the configured model.

        Raises:
            StoreError: The store cannot be opened.
            ConfigError: The time zone does not exist.
        """
        self.config, self.readonly, self.clock = config, readonly, clock
        self.metrics = Metrics()
        self.zone = _zone(config.memory.time_zone)
        tokenizer = _tokenizer(config.index.language)
        self._embedding = Embedding(
            config.embedding, config.memory.embedding_cache_size, clock, self.metrics, embedder
        )
        self.store = Store.open(
            config.folder,
            readonly=readonly,
            options=config.store,
            on_trouble=on_trouble,
            metrics=self.metrics,
        )
        self._namespaces = Namespaces(
            self.store,
            tokenizer,
            config.index,
            config.memory.hot_cache_size,
            lambda: self._embedding.space,
        )
        self._vectors = DocumentVectors(self._embedding, self._namespaces, self.store)
        self._closing = threading.Event()
        self._held: deque[tuple[Turn, Ack]] = deque()  # not indexed before their own recall
        self._talk = ThreadPoolExecutor(1, "slowcat-recall")
        self._back = ThreadPoolExecutor(1, "slowcat-embed")
        if not readonly:
            self._close_orphans()
            if self._embedding.needs_export:
                self._later(self._export)

    @property
    def embedding(self) -> EmbedderReport:
        """Which embedding model is in use, and from where."""
        return self._embedding.report

    # ---------------------------------------------------------------- life

    @classmethod
    def acquire(
        cls, config: Config, on_trouble: Callable[[StoreError], None] | None = None
    ) -> "MemoryEngine":
        """Share the engine of a store among the processors of this process.

        Args:
            config: The configuration; that of the first to come counts.
            on_trouble: As in the constructor; that of the first to come counts.

        Returns:
            The engine; give it back with ``release``.

        Raises:
            StoreError: The store cannot be opened.
        """
        key = config.folder.absolute()
        with _shared_lock:
            engine, users = _shared.get(key, (None, 0))
            engine = engine or cls(config, on_trouble=on_trouble)
            _shared[key] = (engine, users + 1)
            return engine

    def release(self) -> None:
        """Give a shared engine back; the last one closes it."""
        key = self.config.folder.absolute()
        with _shared_lock:
            engine, users = _shared.get(key, (self, 1))
            if users > 1:
                _shared[key] = (engine, users - 1)
                return
            _shared.pop(key, None)
        self.close()

    def close(self) -> None:
        """Save what waits, and close. Takes a few seconds at most; may be called twice."""
        if not self._closing.is_set():
            # Talk first and before closing begins: the last turns are embedded too.
            self._index_held()
            wait((self._talk.submit(lambda: None),), CLOSE_S)
            self._closing.set()
            wait((self._back.submit(lambda: None),), CLOSE_S)
        self._talk.shutdown(wait=False)
        self._back.shutdown(wait=False, cancel_futures=True)
        self.store.close()

    def drain(self) -> None:
        """Wait until what was said so far is indexed and embedded. Blocks; the store need not be."""
        self._index_held()
        for pool in (self._talk, self._back):  # in this order: the first one feeds the second
            pool.submit(lambda: None).result()

    def prepare(self, scope: str) -> None:
        """Load a scope's index, so that its first recall is as fast as the others. Blocks.

        Args:
            scope: The scope.

        Raises:
            ConfigError: That is not a scope's name.
        """
        namespace = self._namespaces.get(scope)
        if self._embedding.query is not None:
            self._embedding.query("warm up")
        self._run(Query(text="warm up", scope=scope, now=self.clock(), k=1))
        if not self.readonly:
            self._later(self._vectors.draft_missing, scope, self._closing)
            if namespace.seal_due():
                self._later(namespace.reseal)

    def _close_orphans(self) -> None:
        """End the sessions that a crash left open, at their last word."""
        with self.store.snapshot() as snapshot:
            orphans = [session for session in snapshot.sessions() if session.ended is None]
        for session in orphans:
            self.store.append(
                SessionEdge(
                    session=session.id,
                    scope=session.scope,
                    kind="end",
                    at=session.last,
                    reason="crash",
                )
            )
        if orphans:
            self.store.flush(CLOSE_S)  # who looks for the latest session must see it ended

    def _later(self, work: Callable[..., None], *arguments: Any) -> Future[None] | None:
        """Run background work; what it raises is logged, never shown to a turn."""
        if self._closing.is_set():
            return None
        return self._back.submit(self._guarded, work, *arguments)

    def _guarded(self, work: Callable[..., None], *arguments: Any) -> None:
        try:
            work(*arguments)
        except Exception as error:  # a worker thread has nobody to raise to
            if not self._closing.is_set():
                self.metrics.count("background_failures")
                logger.warning(f"memory: {work.__name__.strip('_')} failed: {type(error).__name__}")

    # ---------------------------------------------------------------- writing

    def append(self, event: Event, *, draft: bool = True) -> Ack:
        """Log an event, and make a turn findable. Neither blocks nor waits.

        Args:
            event: An unnumbered turn or session edge.
            draft: Whether to embed it soon; False when bulk embedding follows.

        Returns:
            Resolves once the event is durable; carries its number.

        Raises:
            StoreFullError: So much waits to be saved that nothing more is taken.
            ConfigError: Its scope is not a scope's name.
        """
        check_scope(event.scope)
        ack = self._index([self.store.append(event)], draft)[0]
        if isinstance(event, SessionEdge) and event.reason == "silence":
            self._later(self._seal_if_due, event.scope)
        return ack

    def append_all(
        self, events: Sequence[Event], cursor: Cursor | None = None, *, draft: bool = False
    ) -> list[Ack]:
        """Log events in one transaction.

        Args:
            events: Unnumbered, in order.
            cursor: Moved in the same transaction.
            draft: As in ``append``.

        Returns:
            An ack for each event.
        """
        for event in events:
            check_scope(event.scope)
        return self._index(self.store.append_all(events, cursor), draft)

    def _index(self, acks: list[Ack], draft: bool) -> list[Ack]:
        turns = [(ack.event, ack) for ack in acks if isinstance(ack.event, Turn)]
        self._index_held()
        if draft and turns and turns[-1][0].role == "user":
            self._held.extend(turns)
        elif turns:
            self._talk.submit(self._guarded, self._take, turns, draft)
        return acks

    def _index_held(self, but: frozenset[str] = frozenset()) -> None:
        """Index what a person said last: after its own recall, which it would only distort.

        A question matches itself best: its copy would set the scale for every other memory, lend
        its words to its neighbours' windows, and be embedded while its recall waits.

        Args:
            but: Ids of chunks to hold on to: those that the recall at hand excludes.
        """
        while self._held and chunk(self._held[0][0]).id not in but:
            self._talk.submit(self._guarded, self._take, [self._held.popleft()], True)

    def _take(self, turns: list[tuple[Turn, Ack]], draft: bool) -> None:
        for turn, ack in turns:
            namespace = self._namespaces.get(turn.scope)
            if chunk(turn).id not in namespace.searcher:  # the load may have read it already
                namespace.add_turn(turn, ack)
            if draft:
                self._later(self._vectors.draft, turn.scope, [chunk(turn)])

    def remember(
        self,
        text: str,
        scope: str,
        *,
        speaker: str = "",
        pinned: bool = False,
        importance: float = 0.8,
        at: datetime | None = None,
    ) -> Memory:
        """Keep a statement that nobody said in a conversation.

        Args:
            text: The statement.
            scope: Its namespace.
            speaker: Whom it is about.
            pinned: Whether it always counts.
            importance: 0 to 1.
            at: Since when it holds; None for now.

        Returns:
            The memory, durable.

        Raises:
            ValueError: The statement is empty.
            ConfigError: That is not a scope's name.
        """
        kept, _ = clean(text)
        if not kept:
            raise ValueError("there is nothing to remember")
        digest = hashlib.blake2b(f"{scope}\0{kept}".encode(), digest_size=8).hexdigest()
        now = self.clock()
        return self._put(
            Memory(
                id=f"note/{digest}",
                kind="note",
                scope=check_scope(scope),
                speaker=speaker or self.config.memory.user_name,
                text=kept,
                valid_from=at or now,
                recorded_at=now,
                pinned=pinned,
                importance=importance,
            )
        )

    def pin(self, scope: str, memory_id: str, pinned: bool = True) -> Memory | None:
        """Make a memory always count, or no longer.

        Args:
            scope: Its namespace.
            memory_id: Its id.
            pinned: Which.

        Returns:
            The changed memory, or None when there is no such memory.
        """
        with self.store.snapshot() as snapshot:
            memory = read_memory(snapshot, scope, memory_id)
        return self._put(replace(memory, pinned=pinned)) if memory else None

    def _put(self, memory: Memory) -> Memory:
        self.store.apply("person", WriteBatch(memories=(memory,))).wait(None)
        self._index_held()
        self._talk.submit(self._take_memory, memory).result()  # after the turns that came before
        return memory

    def _take_memory(self, memory: Memory) -> None:
        self._namespaces.get(memory.scope).put_memory(memory)
        self._later(self._vectors.draft, memory.scope, [memory])

    def forget(self, what: Forget) -> Forgotten:
        """Delete for good: turns, what was derived from them, index entries, caches. Blocks.

        Args:
            what: Which.

        Returns:
            What is gone.
        """
        self._index_held()
        gone = self.store.forget(what, erase=False)  # which may take long: out of the ears first
        scopes = {scope for scope, _ in gone.memories}
        self._embedding.forget()
        for scope in scopes:
            self._namespaces.forget(scope, (id_ for s, id_ in gone.memories if s == scope))
            self._talk.submit(self._namespaces.reload, scope).result()  # behind the turns it takes
        return replace(gone, erased=self.store.erase())

    # ---------------------------------------------------------------- recall

    async def recall(
        self,
        text: str,
        scope: str,
        *,
        now: datetime | None = None,
        exclude: frozenset[str] = frozenset(),
        exclude_words: frozenset[str] = frozenset(),
        vector: np.ndarray | None = None,
    ) -> Recollection:
        """Recall for a turn that waits: within the deadline, whatever is ready by then.

        Args:
            text: The user's words.
            scope: The namespace.
            now: The time of the question; None for now.
            exclude: Ids of memories not to return.
            exclude_words: Fingerprints of texts not to return.
            vector: The text's vector, when it was embedded ahead.

        Returns:
            The hits worth offering, and how far recall came.

        Raises:
            ConfigError: That is not a scope's name.
        """
        options = self.config.recall
        query = Query(
            text=text,
            scope=scope,
            now=now or self.clock(),
            k=self.config.pack.memories,
            exclude=exclude,
            exclude_words=exclude_words,
            floor=options.floor,
            keep_share=options.keep_share,
            vector=vector,
        )
        if scope not in self._namespaces:
            self._talk.submit(self._namespaces.get, check_scope(scope))
            self.metrics.count("recall_none")
            return Recollection()
        self._index_held(but=exclude)
        progress = Progress()
        running = asyncio.get_running_loop().run_in_executor(self._talk, self._run, query, progress)
        running.add_done_callback(_swallow)
        self._index_held()  # behind it
        try:
            done, _ = await asyncio.wait({running}, timeout=options.deadline_ms / 1e3)
        except asyncio.CancelledError:
            progress.abandoned = True
            raise
        found = running.result() if done else self._recall(scope).settle(query, progress)
        self.metrics.count(f"recall_{found.stage}")
        return found

    def search(
        self,
        text: str,
        scope: str,
        k: int = 10,
        *,
        now: datetime | None = None,
        floor: float = 0.0,
    ) -> Recollection:
        """Recall without a deadline and without a threshold. Blocks.

        Args:
            text: What is asked.
            scope: The namespace.
            k: How many hits.
            now: The time of the question; None for now.
            floor: Least relevance of a hit.

        Returns:
            The hits, best first.
        """
        self._index_held()
        query = Query(text=text, scope=scope, now=now or self.clock(), k=k, floor=floor)
        return self._talk.submit(self._run, query).result()

    def _run(self, query: Query, progress: Progress | None = None) -> Recollection:
        return self._recall(query.scope).run(query, progress)

    def _recall(self, scope: str) -> Recall:
        namespace = self._namespaces.get(scope)
        return Recall(
            namespace.searcher,
            lambda _, ids: namespace.fetch(ids),
            self._embedding.query if namespace.space == self._embedding.space else None,
            self.config.fuse,
            self.config.rank,
        )

    def pack(self, found: Recollection, now: datetime | None = None) -> Packed:
        """Write a recollection as the block for the LLM.

        Args:
            found: From ``recall``.
            now: The time of the question; None for now.

        Returns:
            The block, inside the budget.
        """
        return pack(found.hits, now or self.clock(), self.zone, self.config.pack)

    def note_recall(self, turn: Turn, found: Recollection, packed: Packed) -> None:
        """Enter into the ledger what was put before the LLM.

        Args:
            turn: The user's turn, numbered.
            found: What recall returned.
            packed: What was injected of it.
        """
        offers = tuple(Offer(hit.memory.id, hit.score, hit.views) for hit in packed.hits)
        self.store.record(
            LedgerEntry(
                turn=turn.id,
                scope=turn.scope,
                session=turn.session,
                at=turn.at,
                stage=found.stage,
                offers=offers,
                tokens=packed.tokens,
                timings=found.timings,
            )
        )

    # ---------------------------------------------------------------- reading

    def latest_session(self, scope: str) -> Session | None:
        """Find the scope's session that was active last.

        Args:
            scope: The scope.

        Returns:
            The session, or None when there was none.
        """
        with self.store.snapshot() as snapshot:
            return max(snapshot.sessions(scope), key=lambda session: session.last, default=None)

    def session_context(self, scope: str) -> str:
        """Write what stays the same during a session, for the system instruction.

        Byte-stable while nothing is pinned or unpinned: put it there before the session starts, so
        that it costs the LLM's prefix cache nothing.

        Args:
            scope: The scope.

        Returns:
            A few lines, "" when there is nothing to say.
        """
        with self.store.snapshot() as snapshot:
            sessions = [s for s in snapshot.sessions(scope) if s.ended is not None]
            pinned = [m for m in snapshot.memories(scope) if m.pinned and not m.retired_at]
        last = max((session.last for session in sessions), default=None)
        return head(len(sessions), last, pinned, self.zone)

    def why(self, turn: int) -> tuple[LedgerEntry, dict[str, Memory]] | None:
        """Tell what was put before the LLM at a turn.

        Args:
            turn: Log id of the user's turn.

        Returns:
            The ledger's entry, and the memories that still exist, by id; None without an entry.
        """
        with self.store.snapshot() as snapshot:
            entry = snapshot.ledger(turn)
            if entry is None:
                return None
            read = ((o.memory, read_memory(snapshot, entry.scope, o.memory)) for o in entry.offers)
            return entry, {id_: memory for id_, memory in read if memory}

    def stats(self) -> dict[str, Any]:
        """Count what there is.

        Returns:
            Plain values: ``counts`` by table, ``scopes``, ``sessions``, ``disk_bytes``,
            ``embedding``, ``index`` by loaded scope, ``unsaved``, ``counters``, ``latency_ms``.
        """
        with self.store.snapshot() as snapshot:
            counts, scopes = snapshot.counts(), snapshot.scopes()
        files = (path for path in self.config.folder.rglob("*") if path.is_file())
        return {
            "path": str(self.config.folder),
            "counts": counts,
            "scopes": scopes,
            "disk_bytes": sum(path.stat().st_blocks * 512 for path in files),
            "embedding": self.embedding.source,
            "index": {
                namespace.scope: {
                    "memories": len(namespace.searcher),
                    "sealed": namespace.searcher.sealed_count,
                    "tail": namespace.searcher.tail_count,
                    "vectors": len(namespace.searcher.dense),
                }
                for namespace in self._namespaces
            },
            "unsaved": self.store.unsaved(),
            "counters": self.metrics.counts(),
            "latency_ms": self.metrics.summary(),
        }

    # ---------------------------------------------------------------- slow work

    def _export(self) -> None:
        """Make the model ready, then go over from words alone to words and vectors."""
        if not self._embedding.needs_export:
            return  # asked for twice: at the start, and by ``tidy``
        self._embedding.export()
        for namespace in self._namespaces:
            self._talk.submit(self._namespaces.reload, namespace.scope).result()
            self._vectors.draft_missing(namespace.scope, self._closing)

    def _seal_if_due(self, scope: str) -> None:
        namespace = self._namespaces.get(scope)
        if namespace.seal_due():
            namespace.reseal()

    def tidy(self, scope: str, progress: Told | None = None) -> None:
        """Embed what has no exact vector yet, and rebuild the sealed index. Blocks, for minutes.

        Args:
            scope: The scope.
            progress: Told what is being done, how much is done, and of how much.

        Raises:
            ProviderError: The document embedder failed; what it finished is kept.
        """
        if self._embedding.needs_export:
            self._back.submit(self._export).result()
        told = progress or _tell_nobody
        self.embed(scope, told)
        told("index", 0, 1)
        self.seal(scope)
        told("index", 1, 1)

    def embed(
        self,
        scope: str,
        progress: Told | None = None,
        embedder: DocumentEmbedder | None = None,
    ) -> None:
        """Embed exactly what has no exact vector yet; nothing without a model. Blocks, for minutes.

        Args:
            scope: The scope.
            progress: As in ``tidy``.
            embedder: Of the configured model, and its owner closes it; None opens one for this
                call, which costs seconds.

        Raises:
            ProviderError: The document embedder failed; what it finished is kept.
        """
        self._index_held()
        self.store.flush(None)
        self._vectors.embed(scope, progress or _tell_nobody, embedder)

    def seal(self, scope: str) -> None:
        """Rebuild a scope's sealed index from the log and the vectors there are. Blocks, for seconds.

        Args:
            scope: The scope.

        Raises:
            IndexDamagedError: The build failed; the present index goes on.
        """
        self._namespaces.get(scope).reseal()


def check_names(config: Config) -> None:
    """Refuse a configuration that names what does not exist.

    Args:
        config: The configuration.

    Raises:
        ConfigError: No such scope, time zone, or language.
    """
    check_scope(config.memory.user_id)
    _zone(config.memory.time_zone)
    _tokenizer(config.index.language)


def _tokenizer(language: str) -> Tokenizer:
    try:
        return Tokenizer(language)
    except ValueError as error:
        raise ConfigError(f"index.language: {error}") from error


def _zone(name: str) -> tzinfo:
    if not name:
        return datetime.now().astimezone().tzinfo or UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise ConfigError(
            f"memory.time_zone: there is no {name!r}",
            hint="Take an IANA name such as Europe/Lisbon",
        ) from error


def _swallow(future: "asyncio.Future[Any]") -> None:
    """Read a late result's exception, so that asyncio does not complain that nobody did."""
    if not future.cancelled():
        future.exception()


def _tell_nobody(what: str, done: int, total: int) -> None:
    """Stand for a progress that nobody watches."""
