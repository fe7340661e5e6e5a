"""The memory engine: wires the rooms, and is all that the doors know of them.

The event loop only waits for a recall, at most until its deadline, and never for a write: durable
writes belong to the store's thread, everything else to the two workers of ``runtime.indexer``.
"""

import asyncio
import hashlib
import threading
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any, cast

import numpy as np
from msgspec.structs import asdict, replace

from slowcat_memory.config import Config, time_zone, tokenizer
from slowcat_memory.core.belief import believed
from slowcat_memory.core.extract import relevant
from slowcat_memory.core.pack import Cut, Packed, pack
from slowcat_memory.core.queries import Said
from slowcat_memory.core.text import clean
from slowcat_memory.errors import ConfigError, StoreError
from slowcat_memory.index import Searcher, mapped
from slowcat_memory.metrics import Metrics
from slowcat_memory.providers import DocumentEmbedder, EmbedderReport, Encoded, QueryEmbedder
from slowcat_memory.records import (
    Aged,
    Cursor,
    Event,
    Forget,
    Forgotten,
    Hit,
    Hotword,
    LedgerEntry,
    Memory,
    Session,
    SessionEdge,
    Turn,
    WriteBatch,
)
from slowcat_memory.runtime import ledger, scan
from slowcat_memory.runtime.as_of import AsOf
from slowcat_memory.runtime.audience import expired, guest_scope
from slowcat_memory.runtime.documents import DocumentVectors, Told
from slowcat_memory.runtime.embedding import Embedding
from slowcat_memory.runtime.heads import Heads
from slowcat_memory.runtime.hiding import Hiding
from slowcat_memory.runtime.icebreakers import Icebreakers
from slowcat_memory.runtime.indexer import CLOSE_S, Indexer
from slowcat_memory.runtime.namespaces import Namespaces, check_scope
from slowcat_memory.runtime.prefetch import Attempt, Prefetch
from slowcat_memory.runtime.query import Query, Recollection
from slowcat_memory.runtime.residence import Residence
from slowcat_memory.runtime.retention import Retention
from slowcat_memory.runtime.retrieval import Retrieval, RetrievalOptions
from slowcat_memory.runtime.silence import Silence
from slowcat_memory.store import Ack, Snapshot, Store

FILTERED = 100  # hits of which those are kept that were said at the right time, or by the right one

NOTED = 0.8  # importance of what a person asked to keep
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
        self.zone = time_zone(config)
        self._guest = guest_scope(config.people)
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
        self._tokenizer = tokenizer(config)
        self._namespaces = self._namespaces_of(self.store)
        self._vectors = DocumentVectors(self._embedding, self._namespaces, self.store)
        self._indexer = Indexer(self._namespaces, self._vectors, self.metrics)
        self._residence = Residence(
            config.memory.mapped_mb,
            config.memory.mapped_after_s,
            (mapped.release, self.store.release),
            self._indexer.later,
        )
        self._retrieval = self.retrieval(retrieval_options(config))
        user = config.memory.user_name
        self.icebreakers = Icebreakers(self.store, self.zone, clock, config.icebreakers, user)
        self._heads = Heads(self.store, self.icebreakers, self.zone, clock, config.head, user)
        self.hiding = Hiding(self.store, self._indexer.put, clock)
        self._silence = Silence(
            0.0 if readonly else config.tiers.ageing_interval_s,
            lambda: self._indexer.later(self._age_in_silence),
        )
        self._retention = Retention(
            bool(self._guest) and not readonly,
            self._silence.since,
            lambda: self._indexer.later(self.erase_guests),
        )
        if not readonly:
            self._close_orphans()
            if self._guest:
                self._indexer.later(self.erase_guests)
            self._indexer.later(self.erase_due)
            if self._embedding.needs_export:
                self._indexer.later(self._export)

    def _namespaces_of(self, store: Store) -> Namespaces:
        return Namespaces(
            store,
            self._tokenizer,
            self.config.index,
            self.config.memory.hot_cache_size,
            lambda: self._embedding.space,
            self.config.memory.time_zone,
            self._guest,
        )

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
        self._silence.stop()
        self._retention.stop()
        self._residence.stop()
        self._indexer.close()
        self.store.close()

    def rest(self) -> None:
        """Give back what is mapped of files if it is too much, as after a while without recalls."""
        self._residence.trim()

    def drain(self) -> None:
        """Wait until what was said so far is indexed and embedded. Blocks; the store need not be."""
        self._indexer.drain()

    def prepare(self, scope: str) -> None:
        """Load a scope's index, so that its first recall is as fast as the others. Blocks.

        Args:
            scope: The scope.

        Raises:
            ConfigError: That is not a scope's name, or it is the guests'.
        """
        namespace = self._namespaces.get(scope)
        namespace.wait_vectors()
        namespace.local_only()
        if self._embedding.query is not None:
            self._embedding.query("warm up")
        self._retrieval.run(Query(text="warm up", scope=scope, now=self.clock(), k=1))
        namespace.searcher.warm()
        if not self.readonly:
            self._indexer.later(self._vectors.draft_missing, scope, self._indexer.closing)
            if namespace.seal_due():
                self._indexer.later(namespace.reseal)

    def _close_orphans(self) -> None:
        """End the sessions that a crash left open, at their last word."""
        with self.store.snapshot() as snapshot:
            orphans = snapshot.unended()
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
        if event.scope not in self._namespaces:
            check_scope(event.scope)
        self._silence.broken()
        ack = self.store.append(event, quiet=True)
        self._indexer.add((ack,), draft=draft)
        self._soon()
        if isinstance(event, SessionEdge) and event.kind == "end":
            self._indexer.later(self.erase_due)
            if event.reason == "silence":
                self._indexer.later(self._seal_if_due, event.scope)
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
        self._silence.broken()
        acks = self.store.append_all(events, cursor)
        self._indexer.add(acks, draft=draft)
        self._soon()
        return acks

    def _soon(self) -> None:
        """Wake the writer and the indexer: on an event loop, once the caller has gone on.

        Waking two threads costs 0.1 ms, which a frame need not wait for. It also lets a turn's own
        recall, asked before the loop runs on, go ahead of the turn (see ``Indexer.release``).
        """
        try:
            asyncio.get_running_loop().call_soon(self._wake)
        except RuntimeError:  # not on an event loop
            self._wake()

    def _wake(self) -> None:
        self.store.ring()
        self._indexer.release()

    def remember(
        self,
        text: str,
        scope: str,
        *,
        speaker: str = "",
        pinned: bool = False,
        importance: float = NOTED,
        at: datetime | None = None,
        local_only: bool = False,
    ) -> Memory:
        """Keep a statement that nobody said in a conversation.

        Args:
            text: The statement.
            scope: Its namespace.
            speaker: Whom it is about.
            pinned: Whether it always counts.
            importance: 0 to 1.
            at: Since when it holds; None for now.
            local_only: Whether it must never go before an LLM on another machine.

        Returns:
            The memory, durable.

        Raises:
            ValueError: The statement is empty.
            ConfigError: That is not a scope's name, or it is the guests'.
        """
        note = self.note(text, scope, speaker=speaker, at=at)
        kept_here = local_only or note.local_only
        return self._put(replace(note, pinned=pinned, importance=importance, local_only=kept_here))

    def note(
        self,
        text: str,
        scope: str,
        *,
        speaker: str = "",
        sources: tuple[int, ...] = (),
        at: datetime | None = None,
    ) -> Memory:
        """Make a note without keeping it yet.

        Args:
            text: The statement.
            scope: Its namespace.
            speaker: Whom it is about.
            sources: Log ids of the turns that it comes from.
            at: Since when it holds; None for now.

        Returns:
            The memory, as it may be kept.

        Raises:
            ValueError: The statement is empty.
            ConfigError: That is not a scope's name.
        """
        kept, _ = clean(text)
        if not kept:
            raise ValueError("there is nothing to remember")
        digest = hashlib.blake2b(f"{scope}\0{kept}".encode(), digest_size=8).hexdigest()
        now, id_ = self.clock(), f"note/{digest}"
        with self.store.snapshot() as snapshot:
            before = snapshot.memory(check_scope(scope), id_)
        return Memory(
            id=id_,
            kind="note",
            scope=scope,
            speaker=speaker or self.config.memory.user_name,
            text=kept,
            valid_from=at or now,
            recorded_at=now,
            sources=sources,
            importance=NOTED,
            local_only=bool(before and before.local_only),
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
            memory = snapshot.read(scope, memory_id)
        return self._put(replace(memory, pinned=pinned)) if memory else None

    def keep_local(self, scope: str, memory_id: str, on: bool = True) -> Memory | None:
        """Keep a memory from every LLM on another machine, or no longer.

        Args:
            scope: Its namespace.
            memory_id: Its id.
            on: Which.

        Returns:
            The changed memory, or None when there is no such memory.
        """
        with self.store.snapshot() as snapshot:
            memory = snapshot.read(scope, memory_id)
        return self._put(replace(memory, local_only=on)) if memory else None

    def _put(self, memory: Memory) -> Memory:
        if self._namespaces.is_guests(memory.scope):
            raise ConfigError(
                f"{self._guest!r} is the guests' scope, of which nothing is remembered",
                hint="Say whose memory it is, or name them in the speakers of your agent",
            )
        self.store.apply("person", WriteBatch(memories=(memory,))).wait(None)
        self._indexer.put(memory)
        return memory

    def forget(self, what: Forget) -> Forgotten:
        """Delete for good: turns, what was derived from them, index entries, caches. Blocks.

        Args:
            what: Which.

        Returns:
            What is gone.
        """
        self._indexer.release()
        gone = self.store.forget(what, erase=False)  # which may take long: out of the ears first
        scopes = {scope for scope, _ in gone.memories}
        self._forget_queries()
        for scope in scopes:
            self._namespaces.forget(scope, (id_ for s, id_ in gone.memories if s == scope))
            self._indexer.reload(scope)
        return replace(gone, erased=self.store.erase())

    def forget_queries(self) -> None:
        """Drop what recalls leave in caches, once those that run are done. Does not wait."""
        self._indexer.talk.submit(self._forget_queries)

    def _forget_queries(self) -> None:
        """Drop the vectors of queries, and their words."""
        self._embedding.forget()
        self._tokenizer.forget()
        for namespace in self._namespaces:
            namespace.searcher.forget_query()

    def erase_guests(self) -> Forgotten:
        """Erase what guests said longer ago than it is kept. Blocks; cheap when there is nothing.

        Returns:
            What is gone.
        """
        what = expired(self.config.people, self.clock())
        with self.store.snapshot() as snapshot:
            oldest = next(snapshot.turns(self._guest), None) if self._guest else None
        due = oldest is not None and what.until is not None and oldest.at < what.until
        return self.forget(what) if due else Forgotten(erased=True)

    def erase_due(self) -> int:
        """Erase for good what was forgotten by order and can no longer be undone. Blocks.

        Runs by itself when the store is opened, when a session ends, and in silence.

        Returns:
            How many orders were finished.
        """
        return self.hiding.erase_due(self.forget)

    # ---------------------------------------------------------------- recall

    async def recall(
        self,
        text: str,
        scope: str,
        *,
        also: Sequence[str] = (),
        local: bool = False,
        now: datetime | None = None,
        exclude: frozenset[str] = frozenset(),
        exclude_words: frozenset[str] = frozenset(),
        vector: Encoded | np.ndarray | None = None,
        dialogue: Sequence[Said] = (),
        prefetch: Prefetch | None = None,
    ) -> Recollection:
        """Recall for a turn that waits: within the deadline, whatever is ready by then.

        Args:
            text: The user's words.
            scope: The namespace.
            also: Other namespaces that are read beside it.
            local: Whether the LLM is on this machine: else what is local-only is left out.
            now: The time of the question; None for now.
            exclude: Ids of memories not to return.
            exclude_words: Fingerprints of texts not to return.
            vector: What ``encode`` returned for the text, when it was embedded ahead.
            dialogue: The turns before, oldest first.
            prefetch: What was recalled ahead for this turn; it is taken, and costs no wait.

        Returns:
            The hits worth offering, and how far recall came.

        Raises:
            ConfigError: That is not a scope's name.
        """
        query = self.query(
            text,
            scope,
            also=also,
            local=local,
            now=now,
            exclude=exclude,
            exclude_words=exclude_words,
            vector=vector,
            dialogue=dialogue,
        )
        return await self._retrieval.recall(query, prefetch)

    def query(
        self,
        text: str,
        scope: str,
        *,
        also: Sequence[str] = (),
        local: bool = False,
        now: datetime | None = None,
        exclude: frozenset[str] = frozenset(),
        exclude_words: frozenset[str] = frozenset(),
        vector: Encoded | np.ndarray | None = None,
        dialogue: Sequence[Said] = (),
    ) -> Query:
        """Say what a turn asks; for ``recall``, and for what is recalled ahead of it.

        Args:
            text: The user's words.
            scope: The namespace.
            also: As in ``recall``.
            local: As in ``recall``.
            now: As in ``recall``.
            exclude: As in ``recall``.
            exclude_words: As in ``recall``.
            vector: As in ``recall``.
            dialogue: As in ``recall``.

        Returns:
            The query.
        """
        options = self.config.recall
        return Query(
            text=text,
            scope=scope,
            now=now or self.clock(),
            k=self.config.pack.memories,
            exclude=exclude,
            exclude_words=exclude_words,
            floor=options.floor,
            keep_share=options.keep_share,
            vector=vector,
            dialogue=tuple(dialogue),
            also=tuple(also),
            local=local,
        )

    def prefetch(self, ask: Callable[[str], Query | None]) -> Prefetch:
        """Return what recalls ahead of one speaker. To be called, and used, on an event loop.

        Args:
            ask: Says what a turn of these words would ask, as of now; None for nothing.

        Returns:
            Told what is heard; then handed to ``recall``.
        """
        loop = asyncio.get_running_loop()

        def begin(text: str) -> Attempt | None:
            query = ask(text)
            return None if query is None else self._retrieval.begin(query, self.pack)

        return Prefetch(begin, self.config.prefetch, loop.time, loop.call_later)

    def searcher(self, scope: str) -> Searcher:
        """Return a scope's index, for who measures it. Blocks while it is loaded.

        Args:
            scope: The scope.

        Returns:
            The index in use now.
        """
        return self._namespaces.get(scope).searcher

    def search(
        self,
        text: str,
        scope: str,
        k: int = 10,
        *,
        also: Sequence[str] = (),
        local: bool = False,
        now: datetime | None = None,
        floor: float = 0.0,
        exclude: frozenset[str] = frozenset(),
        dialogue: Sequence[Said] = (),
    ) -> Recollection:
        """Recall without a deadline and, if not told otherwise, without a threshold. Blocks.

        Args:
            text: What is asked.
            scope: The namespace.
            k: How many hits.
            also: Other namespaces that are read beside it.
            local: Whether the hits stay on this machine: else what is local-only is left out.
            now: The time of the question; None for now.
            floor: Least probability of the likeliest of the best hits; below it, only pinned ones.
            exclude: Ids of memories not to return.
            dialogue: The turns before, oldest first.

        Returns:
            The hits, best first.
        """
        return self._retrieval.search(
            Query(
                text=text,
                scope=scope,
                now=now or self.clock(),
                k=k,
                floor=floor,
                exclude=exclude,
                dialogue=tuple(dialogue),
                also=tuple(also),
                local=local,
            )
        )

    def search_within(
        self,
        text: str,
        scope: str,
        k: int = 10,
        *,
        speaker: str = "",
        since: datetime | None = None,
        until: datetime | None = None,
        exclude: frozenset[str] = frozenset(),
        local: bool = False,
    ) -> list[Hit]:
        """Search what one speaker said, or what was said in a time. Blocks.

        Args:
            text: What is asked.
            scope: The namespace.
            k: How many hits.
            speaker: Whose words, or a part of the name; "" for anybody's.
            since: Said at or after; None for any time.
            until: Said before; None for any time.
            exclude: Ids of memories not to return.
            local: As in ``search``.

        Returns:
            The hits, best first.
        """
        wanted = scan.within(speaker, since, until)

        def said(snapshot: Snapshot) -> Iterator[Memory]:
            every = scan.said_between(snapshot, scope, since, until)
            return (memory for memory in every if memory.id not in exclude)

        return self._search_all(text, scope, k, None, wanted, said, exclude=exclude, local=local)

    def as_of(
        self, text: str, scope: str, at: datetime, k: int = 10, *, local: bool = False
    ) -> list[Hit]:
        """Search what was believed at a moment, retired memories included. Blocks.

        Args:
            text: What is asked.
            scope: The namespace.
            at: The moment, aware.
            k: How many hits.
            local: As in ``search``.

        Returns:
            What had been recorded by then, and was neither retired nor over; best first.
        """

        def then(snapshot: Snapshot) -> Iterator[Memory]:
            return scan.said_between(snapshot, scope, None, at)

        def retired(snapshot: Snapshot) -> Iterator[Memory]:
            return scan.retired(snapshot, scope, at)

        return self._search_all(
            text, scope, k, at, lambda m: believed(m, at), then, retired, local=local
        )

    def _search_all(
        self,
        text: str,
        scope: str,
        k: int,
        now: datetime | None,
        keep: scan.Keep,
        said: Callable[[Snapshot], Iterator[Memory]],
        unindexed: Callable[[Snapshot], Iterator[Memory]] = lambda _: iter(()),
        exclude: frozenset[str] = frozenset(),
        local: bool = False,
    ) -> list[Hit]:
        """Search the index and what it lacks; where too few of its hits are wanted, all that was said."""
        found = self.search(text, scope, max(k, FILTERED), now=now, exclude=exclude, local=local)
        hits = [hit for hit in found.hits if keep(hit.memory)]
        with self.store.snapshot() as snapshot:
            others = chain(unindexed(snapshot), said(snapshot) if len(hits) < k else ())
            allowed = (memory for memory in others if local or not memory.local_only)
            read = scan.scan(filter(keep, allowed), found.words, self._tokenizer, k)
        return scan.merged(hits, read, k)

    def hotwords(self, scope: str, n: int = 100) -> list[Hotword]:
        """List the names of a scope, and the words that are frequent there and rare elsewhere.

        Args:
            scope: The scope.
            n: How many at most.

        Returns:
            For a recogniser, the most telling first.

        Raises:
            ConfigError: That is not a scope's name.
        """
        return self._namespaces.get(scope).searcher.hotwords(n)

    def retrieval(self, options: RetrievalOptions) -> Retrieval:
        """Recall in another way over the same memory, for who compares ways.

        Args:
            options: How to recall.

        Returns:
            What asks this engine's namespaces so.
        """
        return self._retrieval_from(self._namespaces, self.store, options)

    def retrieval_before(self, turn: Turn) -> Retrieval:
        """Recall from what was there before a turn.

        Its index is made anew, in memory: a second and 60 MB for 10,000 turns.

        Args:
            turn: A numbered turn.

        Returns:
            What asks the memory as it was; use its ``run``.
        """
        store = cast(Store, AsOf(self.store, turn))  # as far as a namespace looks
        return self._retrieval_from(
            self._namespaces_of(store), store, retrieval_options(self.config)
        )

    def _retrieval_from(
        self, namespaces: Namespaces, store: Store, options: RetrievalOptions
    ) -> Retrieval:
        return Retrieval(
            namespaces,
            self._embedding,
            self._indexer,
            store,
            self.metrics,
            self._residence,
            self.zone,
            options,
        )

    def encode(self, text: str, scope: str, dialogue: Sequence[Said] = ()) -> Encoded | None:
        """Embed a query ahead of its recall. Takes milliseconds: call it from a thread.

        Args:
            text: The user's words, so far.
            scope: The namespace.
            dialogue: The turns before, oldest first, which a follow-up takes words from.

        Returns:
            For ``recall``; None without a model.
        """
        return self._retrieval.encode(self.query(text, scope, dialogue=dialogue))

    def pack(self, found: Recollection, now: datetime | None = None) -> Packed:
        """Write a recollection as the block for the LLM.

        Args:
            found: From ``recall``.
            now: The time of the question; None for now.

        Returns:
            The block, inside the budget.
        """
        return pack(
            found.hits,
            now or self.clock(),
            self.zone,
            self.config.pack,
            self._cut(found),
            language=self.config.index.language,
            unknown=found.unknown,
            asks_time=found.asks_time,
        )

    def _cut(self, found: Recollection) -> Cut:
        """Cut a long memory to what was asked for."""
        return lambda text, limit: relevant(
            text, found.words, self._tokenizer, limit, self.config.extract
        )

    def note_recall(self, turn: Turn, found: Recollection, packed: Packed) -> None:
        """Enter into the ledger what was put before the LLM, and what was not.

        Of guests, nothing is entered. On an event loop, the row is made on the recall worker once the caller has gone on.

        Args:
            turn: The user's turn, numbered.
            found: What recall returned.
            packed: What was injected of it.
        """
        if self._namespaces.is_guests(turn.scope):
            return
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:  # not on an event loop
            self._record(turn, found, packed)
        else:
            loop.call_soon(self._indexer.soon, self._record, turn, found, packed)

    def _record(self, turn: Turn, found: Recollection, packed: Packed) -> None:
        self.store.record(ledger.entry(turn, found, packed))

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

    def session_context(self, scope: str, *, local: bool = False) -> str:
        """Write what stays the same during a session, for the system instruction.

        Byte-stable while nothing is pinned or unpinned: put it there before the session starts, so
        that it costs the LLM's prefix cache nothing. Takes an icebreaker from the queue, if one may
        be used; asked for again in the same session, it is the same one. Blocks.

        Args:
            scope: The scope.
            local: Whether the LLM is on this machine: else what is local-only is left out.

        Returns:
            A few lines, "" when there is nothing to say, and for guests.
        """
        return "" if self._namespaces.is_guests(scope) else self._heads.write(scope, local=local)

    def push_icebreaker(
        self,
        scope: str,
        text: str,
        *,
        priority: float = 0.5,
        expires: datetime | None = None,
        quiet: bool = True,
    ) -> Memory | None:
        """Let the agent bring something up by itself, once, in a later session. Blocks.

        ``icebreakers`` lists and drops what waits.

        Args:
            scope: Whose agent.
            text: What, for the LLM to say in its own words.
            priority: 0 to 1; the highest is used first.
            expires: When it is no longer worth saying; None for as configured.
            quiet: Whether it keeps the quiet hours.

        Returns:
            The memory; None when it is not taken (see ``Icebreakers.push``).

        Raises:
            ValueError: There is no text, the priority is none, or it has expired already.
            ConfigError: That is not a scope's name.
            StoreError: It cannot be saved.
        """
        return self.icebreakers.push(scope, text, priority=priority, expires=expires, quiet=quiet)

    def why(self, turn: int) -> tuple[LedgerEntry, dict[str, Memory]] | None:
        """Tell what was put before the LLM at a turn.

        Args:
            turn: Log id of the user's turn.

        Returns:
            The ledger's entry, and its memories that still exist, by id; None without an entry.
        """
        with self.store.snapshot() as snapshot:
            entry = snapshot.ledger(turn)
            if entry is None:
                return None
            elsewhere = {offer.memory: offer.scope for offer in entry.offers if offer.scope}
            read = (
                (id_, snapshot.read(elsewhere.get(id_, entry.scope), id_)) for id_ in entry.memories
            )
            return entry, {id_: memory for id_, memory in read if memory}

    def stats(self) -> dict[str, Any]:
        """Count what there is.

        Returns:
            Plain values: ``counts`` by table, ``scopes``, ``sessions``, ``disk_bytes``,
            ``tiers``, ``embedding``, ``index`` by loaded scope, ``unsaved``, ``counters``,
            ``latency_ms``.
        """
        with self.store.snapshot() as snapshot:
            counts, scopes = snapshot.counts(), snapshot.scopes()
            tiers = snapshot.tiers()
        files = (path for path in self.config.folder.rglob("*") if path.is_file())
        return {
            "path": str(self.config.folder),
            "counts": counts,
            "scopes": scopes,
            "disk_bytes": sum(path.stat().st_blocks * 512 for path in files),
            "tiers": {name: asdict(held) for name, held in tiers.items()},
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
            self._indexer.reload(namespace.scope)
            self._vectors.draft_missing(namespace.scope, self._indexer.closing)

    def _seal_if_due(self, scope: str) -> None:
        if not self._namespaces.is_guests(scope) and self._namespaces.get(scope).seal_due():
            self.seal(scope)

    def age(self, scope: str | None = None, stop: Callable[[], bool] = lambda: False) -> Aged:
        """Move what was said long ago into blocks that take less room. Blocks.

        Nothing that can be found or read changes by it.

        Args:
            scope: The scope; None for every one.
            stop: Asked between two short transactions; True ends it.

        Returns:
            What moved.

        Raises:
            StoreError: The disk is full; what moved until then stays moved.
            ConfigError: That is not a scope's name.
        """
        if scope is None:
            with self.store.snapshot() as snapshot:
                scopes = snapshot.scopes()
        else:
            scopes = [check_scope(scope)]
        hot, options = self.config.memory.hot_cache_size, self.config.tiers
        moved = [
            self.store.age(name, hot=hot, options=options, now=self.clock(), stop=stop)
            for name in scopes
        ]
        return Aged(
            warmed=sum(aged.warmed for aged in moved),
            cooled=sum(aged.cooled for aged in moved),
            trained=sum(aged.trained for aged in moved),
            done=all(aged.done for aged in moved),
        )

    def _age_in_silence(self) -> None:
        """Age everything, until somebody speaks."""
        self.erase_due()
        began = self._silence.since()
        self.age(stop=lambda: self._silence.since() != began or self._indexer.closing.is_set())

    def tidy(self, scope: str, progress: Told | None = None) -> None:
        """Embed what has no exact vector yet, rebuild the sealed index, age. Blocks, for minutes.

        Args:
            scope: The scope.
            progress: Told what is being done, how much is done, and of how much.

        Raises:
            ProviderError: The document embedder failed; what it finished is kept.
        """
        if self._embedding.needs_export:
            self._indexer.back.submit(self._export).result()
        told = progress or _tell_nobody
        self.embed(scope, told)
        told("index", 0, 1)
        self.seal(scope)
        told("index", 1, 1)
        told("tiers", 0, 1)
        self.age(scope)
        self.store.shrink()
        told("tiers", 1, 1)

    def embed(
        self,
        scope: str,
        progress: Told | None = None,
        embedder: DocumentEmbedder | None = None,
    ) -> None:
        """Embed exactly what has no exact vector yet; nothing without a model, nothing of guests.

        Blocks, for minutes.

        Args:
            scope: The scope.
            progress: As in ``tidy``.
            embedder: Of the configured model, and its owner closes it; None opens one for this
                call, which costs seconds.

        Raises:
            ProviderError: The document embedder failed; what it finished is kept.
        """
        if self._namespaces.is_guests(scope):
            return
        self._indexer.catch_up()  # an index passes over vectors of what it does not hold yet
        self.store.flush(None)
        self._vectors.embed(scope, progress or _tell_nobody, embedder)

    def seal(self, scope: str) -> None:
        """Rebuild a scope's sealed index from the log and the vectors there are. Blocks, for seconds.

        Args:
            scope: The scope.

        Raises:
            IndexDamagedError: The build failed; the present index goes on.
        """
        if not self._namespaces.is_guests(scope):
            self._namespaces.get(scope).reseal()


def retrieval_options(config: Config) -> RetrievalOptions:
    """Gather what a configuration says about recall.

    Args:
        config: The configuration.

    Returns:
        The options.
    """
    return RetrievalOptions(
        recall=config.recall,
        prefetch=config.prefetch,
        ask=config.ask,
        fuse=config.fuse,
        rank=config.rank,
        gate=config.gate,
        language=config.index.language,
    )


def _tell_nobody(what: str, done: int, total: int) -> None:
    """Stand for a progress that nobody watches."""
