"""Recall in a conversation: on the talking worker, under the turn's deadline.

The event loop waits for a recall at most until its deadline, then takes what is there; to see what
that is takes a bounded time as well, and is done on another thread. What was recalled ahead costs
no wait at all: see ``prefetch``.
"""

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime, tzinfo
from typing import Any

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from slowcat_memory.core.query.recall_gate import GateOptions, Need
from slowcat_memory.core.query.understand import Ask, AskOptions, understand
from slowcat_memory.core.ranking.abstention import probability
from slowcat_memory.core.ranking.entity_hop import LinkOptions
from slowcat_memory.core.ranking.fusion import FuseOptions
from slowcat_memory.core.ranking.priors import RankOptions
from slowcat_memory.core.ranking.union import union
from slowcat_memory.core.render.memory_block import Packed
from slowcat_memory.index import Searcher
from slowcat_memory.metrics import Metrics
from slowcat_memory.providers import Encoded
from slowcat_memory.runtime.namespaces.embedding import Embed, Embedding
from slowcat_memory.runtime.namespaces.indexer import Indexer
from slowcat_memory.runtime.namespaces.page_cache import PageCache
from slowcat_memory.runtime.namespaces.registry import Namespaces, check_scope
from slowcat_memory.runtime.recall.overviews import Overviews
from slowcat_memory.runtime.recall.prefetch import Attempt, Prefetch, PrefetchOptions, overlap
from slowcat_memory.runtime.recall.query import Query, RecallOptions, Recollection
from slowcat_memory.runtime.recall.reply import answered, looked_up, need_of
from slowcat_memory.runtime.recall.stages import Progress, Recall
from slowcat_memory.store import Store

Pack = Callable[[Recollection, datetime], Packed]


class RetrievalOptions(Struct, frozen=True, kw_only=True):
    """How memories are recalled.

    Attributes:
        recall: What it may cost, and what is good enough.
        prefetch: What is recalled ahead.
        ask: What is read out of a query.
        fuse: How views become one score.
        rank: The priors.
        gate: Which turns need no memory.
        language: Of the words for time, and of the gate's.
    """

    recall: RecallOptions = field(default_factory=RecallOptions)
    prefetch: PrefetchOptions = field(default_factory=PrefetchOptions)
    ask: AskOptions = field(default_factory=AskOptions)
    fuse: FuseOptions = field(default_factory=FuseOptions)
    rank: RankOptions = field(default_factory=RankOptions)
    gate: GateOptions = field(default_factory=GateOptions)
    links: LinkOptions = field(default_factory=LinkOptions)
    language: str = "english"


class Retrieval:
    """Asks namespaces."""

    def __init__(
        self,
        namespaces: Namespaces,
        embedding: Embedding,
        indexer: Indexer,
        store: Store,
        metrics: Metrics,
        page_cache: PageCache,
        zone: tzinfo,
        options: RetrievalOptions,
    ) -> None:
        """Wire the parts.

        Args:
            namespaces: What is asked.
            embedding: The model, in whatever state it is.
            indexer: Its talking worker runs the queries, behind the turns that came before.
            store: Where the vectors of tokens are.
            metrics: Where stages are counted.
            page_cache: Told about each recall.
            zone: The user's time zone.
            options: How to recall.
        """
        self._namespaces, self._embedding, self._indexer = namespaces, embedding, indexer
        self._store, self._metrics, self._page_cache = store, metrics, page_cache
        self._zone, self._options = zone, options
        self._overviews = Overviews(store, zone, options.language)

    def begin(self, query: Query, pack: Pack) -> Attempt | None:
        """Begin a recall ahead of the turn that may ask for it. Neither blocks nor waits.

        Args:
            query: What may be asked.
            pack: Writes the block.

        Returns:
            The recall, under way; None while its scope is not loaded.
        """
        heard, need = query.text, need_of(query, self._options.language, self._options.gate)
        scopes = self._readable(query)
        if not need.query or not scopes or any(name not in self._namespaces for name in scopes):
            return None
        query = looked_up(query, need, self._options.recall.unknown_below)
        self._metrics.count("prefetch_begun")
        namespaces = tuple(self._namespaces.get(scope) for scope in scopes)
        versions = tuple(namespace.version for namespace in namespaces)
        asked = self._each(query, scopes)
        progress = tuple(Progress() for _ in asked)
        running = self._indexer.ahead.submit(self._ahead, query, need, asked, progress, pack)
        return Attempt(heard, need, query, progress, running, namespaces, versions)

    async def recall(self, query: Query, prefetch: Prefetch | None = None) -> Recollection:
        """Recall for a turn that waits: within the deadline, whatever is ready by then.

        Args:
            query: What is asked.
            prefetch: What was recalled ahead for it, if anything: it is taken.

        Returns:
            The hits, and how far recall came; nothing for what needs no memory. Without suspending
            when all was recalled ahead.

        Raises:
            ConfigError: That is not a scope's name.
        """
        attempt = prefetch.take() if prefetch else None
        if attempt and attempt.is_for(query.text):
            need = attempt.need
        else:
            need = need_of(query, self._options.language, self._options.gate)
        if not need.query:
            if attempt:
                attempt.abandon()
            return self._skipped(need)
        below = self._options.recall.unknown_below
        found = await self._in_time(looked_up(query, need, below), attempt)
        self._metrics.count(f"recall_{found.stage}")
        if found.packed is None:
            found = answered(found, need, below)
        if found.unknown:
            self._metrics.count("told_unknown")
        return found

    def answer(self, query: Query) -> Recollection:
        """Recall in one scope as a turn does, without a deadline, on the thread of the caller.

        Args:
            query: What is asked.

        Returns:
            As ``recall``.
        """
        need = need_of(query, self._options.language, self._options.gate)
        if not need.query:
            return self._skipped(need)
        below = self._options.recall.unknown_below
        return answered(self.run(looked_up(query, need, below)), need, below)

    def _skipped(self, need: Need) -> Recollection:
        self._metrics.count("recall_skipped")
        return Recollection(stage="skipped", asks_time=need.asks_time)

    async def _in_time(self, query: Query, attempt: Attempt | None) -> Recollection:
        scopes = self._readable(query)
        for scope in (missing := [name for name in scopes if name not in self._namespaces]):
            self._indexer.talk.submit(self._load, check_scope(scope))
        asked = self._each(query, [scope for scope in scopes if scope not in missing])
        if not asked:
            if attempt:
                attempt.abandon()
            return Recollection()
        if attempt and self._stands(attempt, query, scopes):
            self._metrics.count("prefetch_stood")
            if attempt.running.done():
                return attempt.running.result()
            running = asyncio.wrap_future(attempt.running)
            return await self._wait(running, query, asked, attempt.progress)
        if attempt:
            attempt.abandon()
            vector = self._vector_of(attempt, query)
            asked = [replace(one, vector=vector) for one in asked]
        self._indexer.release(but=query.exclude)
        progress, loop = tuple(Progress() for _ in asked), asyncio.get_running_loop()
        running = loop.run_in_executor(self._indexer.talk, self._run_each, query, asked, progress)
        return await self._wait(running, query, asked, progress)

    def _stands(self, attempt: Attempt, query: Query, scopes: Sequence[str]) -> bool:
        now = [self._namespaces.get(scope) for scope in scopes if scope in self._namespaces]
        same = len(now) == len(attempt.namespaces)
        return (
            same
            and all(a is b for a, b in zip(now, attempt.namespaces, strict=True))
            and attempt.holds(query)
        )

    def _vector_of(self, attempt: Attempt, query: Query) -> Encoded | np.ndarray | None:
        """Take over the vector of a recall that asked nearly the same, if it came that far."""
        encoded, asked = attempt.progress[0].encoded, attempt.progress[0].ask
        same_scope = attempt.query.scope == query.scope and query.scope in self._namespaces
        if encoded is not None and asked is not None and query.vector is None and same_scope:
            namespace = self._namespaces.get(query.scope)
            meaning = self._understand(query, namespace.searcher).meaning
            near = overlap(asked.meaning, meaning) >= self._options.prefetch.overlap
            if near and attempt.namespaces[0].space == namespace.space:
                self._metrics.count("prefetch_vector")
                return encoded
        self._metrics.count("prefetch_redone")
        return query.vector

    async def _wait(
        self,
        running: "asyncio.Future[Recollection]",
        query: Query,
        asked: Sequence[Query],
        progress: Sequence[Progress],
    ) -> Recollection:
        """Wait for a recall until the deadline, then for what it has so far; then no more."""
        options = self._options.recall
        try:
            if await _within(running, options.deadline_ms):
                return running.result()
            loop = asyncio.get_running_loop()
            late = loop.run_in_executor(self._indexer.late, self._settle, query, asked, progress)
            if await _within(late, options.settle_ms):
                return late.result()
        finally:  # also when an interruption cancels the turn
            for left in progress:
                left.abandoned = True
        return self._union(query, [left.settled or Recollection() for left in progress])

    def _settle(
        self, query: Query, asked: Sequence[Query], progress: Sequence[Progress]
    ) -> Recollection:
        """Take what each scope has so far."""
        found = [
            left.done or self._recall(one.scope).settle(one, left)
            for one, left in zip(asked, progress, strict=True)
        ]
        return self._union(query, found)

    def _load(self, scope: str) -> None:
        self._namespaces.get(scope).local_only()  # read while nobody waits

    def _readable(self, query: Query) -> list[str]:
        """List the scopes to read, each once: of guests there is nothing."""
        scopes = dict.fromkeys((query.scope, *query.also))
        return [scope for scope in scopes if not self._namespaces.is_guests(scope)]

    def _each(self, query: Query, scopes: Sequence[str]) -> list[Query]:
        return [self._of(query, scope) for scope in scopes]

    def _of(self, query: Query, scope: str) -> Query:
        """Ask one scope alone, and leave out what must stay on this machine."""
        kept = frozenset() if query.local else self._namespaces.get(scope).local_only()
        if kept:
            self._metrics.count("local_only_withheld")
        return replace(query, scope=scope, also=(), exclude=query.exclude | kept)

    def _union(self, query: Query, found: Sequence[Recollection]) -> Recollection:
        """Merge what scopes found; how far it came is told of the first, the asker's own."""
        first = found[0]
        if len(found) == 1:
            return first
        timings, words = dict[str, float](), dict[str, float]()
        for one in found:
            for lap, ms in one.timings.items():
                timings[lap] = round(timings.get(lap, 0.0) + ms, 4)
            words |= {word: max(weight, words.get(word, 0.0)) for word, weight in one.words.items()}
        hits = union([one.hits for one in found], query.k, self._options.fuse.duplicate)
        told = [one.signs for one in found if one.signs is not None]
        return replace(
            first,
            hits=hits,
            timings=timings,
            words=words,
            signs=max(told, key=probability) if len(told) == len(found) else None,
            names_speaker=any(one.names_speaker for one in found),
        )

    def search(self, query: Query) -> Recollection:
        """Recall without a deadline, once all of the index is open. Blocks.

        Args:
            query: What is asked.

        Returns:
            The hits.
        """
        self._indexer.release()
        scopes = self._readable(query)
        for scope in scopes:
            self._namespaces.get(scope).wait_vectors()
        asked = self._each(query, scopes)
        if not asked:
            return Recollection()
        progress = [Progress() for _ in asked]
        return self._indexer.talk.submit(self._run_each, query, asked, progress).result()

    def _run_each(
        self,
        query: Query,
        asked: Sequence[Query],
        progress: Sequence[Progress],
        embed: Embed | None = None,
    ) -> Recollection:
        """Recall in one scope after the other, on the thread of the caller."""
        found = []
        for one, left in zip(asked, progress, strict=True):
            left.done = self.run(one, left, embed)
            found.append(left.done)
        return self._union(query, found)

    def _ahead(
        self,
        query: Query,
        need: Need,
        asked: Sequence[Query],
        progress: Sequence[Progress],
        pack: Pack,
    ) -> Recollection:
        """Recall what nobody may ever ask, on the thread of the caller: no cache takes its words.

        What a turn would do with it is done as well, the block included.
        """
        found = self._run_each(query, asked, progress, self._embedding.passing)
        found = answered(found, need, self._options.recall.unknown_below)
        return replace(found, packed=pack(found, query.now))

    def run(
        self, query: Query, progress: Progress | None = None, embed: Embed | None = None
    ) -> Recollection:
        """Recall in one scope, on the thread of the caller.

        Args:
            query: What is asked, with what must be left out.
            progress: Where to leave the lexical stage.
            embed: As in ``Recall``; None for the one behind the cache.

        Returns:
            The hits.
        """
        try:
            found = self._recall(query.scope, embed).run(query, progress)
            return self._overviews.add(query, found)
        finally:
            self._page_cache.recalled()

    def encode(self, query: Query) -> Encoded | None:
        """Embed a query ahead of its recall, on the thread of the caller.

        Args:
            query: What will be asked.

        Returns:
            For ``Query.vector``; None without a model, and for guests.
        """
        if self._namespaces.is_guests(query.scope):
            return None
        searcher = self._namespaces.get(query.scope).searcher
        return self._recall(query.scope).encode(self._understand(query, searcher))

    def _recall(self, scope: str, embed: Embed | None = None) -> Recall:
        namespace = self._namespaces.get(scope)
        same_space = namespace.space == self._embedding.space
        return Recall(
            namespace.searcher,
            lambda _, ids: namespace.fetch(ids),
            self._understand,
            (embed or self._embedding.query) if same_space else None,
            self._tokens if self._embedding.token_key else None,
            self._options.fuse,
            self._options.rank,
            self._options.ask.dialogue,
            lambda _, ids: namespace.recent(ids),
            None,
            self._options.links,
        )

    def _understand(self, query: Query, searcher: Searcher) -> Ask:
        return understand(
            query.text,
            query.now,
            self._zone,
            speakers=searcher.speakers,
            heard=searcher.heard(query.text) if self._options.ask.sounds else (),
            dialogue=query.dialogue,
            language=self._options.language,
            options=self._options.ask,
        )

    def _tokens(self, scope: str, ids: Sequence[str]) -> Sequence[np.ndarray | None]:
        with self._store.snapshot() as snapshot:
            return snapshot.tokens(self._embedding.token_key, scope, ids)


async def _within(future: "asyncio.Future[Recollection]", ms: float) -> bool:
    """Wait for the end of what runs elsewhere, and leave it be when it takes longer."""
    future.add_done_callback(_swallow)
    done, _ = await asyncio.wait({future}, timeout=ms / 1e3)
    return bool(done)


def _swallow(future: "asyncio.Future[Any]") -> None:
    """Read a late result's exception, so that asyncio does not complain that nobody did."""
    if not future.cancelled():
        future.exception()
