"""Recall in a conversation: on the talking worker, under the turn's deadline.

The event loop waits for a recall at most until its deadline, then takes what is there.
"""

import asyncio
from collections.abc import Sequence
from datetime import tzinfo
from typing import Any

import numpy as np
from msgspec import Struct, field

from slowcat_memory.core.ask import Ask, AskOptions, understand
from slowcat_memory.core.fuse import FuseOptions
from slowcat_memory.core.gate import GateOptions
from slowcat_memory.core.rank import RankOptions
from slowcat_memory.metrics import Metrics
from slowcat_memory.providers import Encoded
from slowcat_memory.runtime.embedding import Embedding
from slowcat_memory.runtime.indexer import Indexer
from slowcat_memory.runtime.namespaces import Namespaces, check_scope
from slowcat_memory.runtime.query import Query, RecallOptions, Recollection
from slowcat_memory.runtime.recall import Progress, Recall
from slowcat_memory.runtime.reply import answered, looked_up, need_of
from slowcat_memory.runtime.residence import Residence
from slowcat_memory.store import Store


class RetrievalOptions(Struct, frozen=True, kw_only=True):
    """How memories are recalled.

    Attributes:
        recall: What it may cost, and what is good enough.
        ask: What is read out of a query.
        fuse: How views become one score.
        rank: The priors.
        gate: Which turns need no memory.
        language: Of the words for time, and of the gate's.
    """

    recall: RecallOptions = field(default_factory=RecallOptions)
    ask: AskOptions = field(default_factory=AskOptions)
    fuse: FuseOptions = field(default_factory=FuseOptions)
    rank: RankOptions = field(default_factory=RankOptions)
    gate: GateOptions = field(default_factory=GateOptions)
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
        residence: Residence,
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
            residence: Told about each recall.
            zone: The user's time zone.
            options: How to recall.
        """
        self._namespaces, self._embedding, self._indexer = namespaces, embedding, indexer
        self._store, self._metrics, self._residence = store, metrics, residence
        self._zone, self._options = zone, options

    async def recall(self, query: Query) -> Recollection:
        """Recall for a turn that waits: within the deadline, whatever is ready by then.

        Args:
            query: What is asked.

        Returns:
            The hits, and how far recall came; nothing for what needs no memory.

        Raises:
            ConfigError: That is not a scope's name.
        """
        options = self._options
        need = need_of(query, options.language, options.gate)
        if not need.query:
            self._metrics.count("recall_skipped")
            return Recollection(stage="skipped", asks_time=need.asks_time)
        below = options.recall.unknown_below
        found = await self._in_time(looked_up(query, need, below))
        self._metrics.count(f"recall_{found.stage}")
        found = answered(found, need, below)
        if found.unknown:
            self._metrics.count("told_unknown")
        return found

    async def _in_time(self, query: Query) -> Recollection:
        if query.scope not in self._namespaces:
            self._indexer.talk.submit(self._namespaces.get, check_scope(query.scope))
            return Recollection()
        self._indexer.release(but=query.exclude)
        progress = Progress()
        running = asyncio.get_running_loop().run_in_executor(
            self._indexer.talk, self.run, query, progress
        )
        running.add_done_callback(_swallow)
        try:
            deadline = self._options.recall.deadline_ms / 1e3
            done, _ = await asyncio.wait({running}, timeout=deadline)
        except asyncio.CancelledError:
            progress.abandoned = True
            raise
        return running.result() if done else self._recall(query.scope).settle(query, progress)

    def search(self, query: Query) -> Recollection:
        """Recall without a deadline, once all of the index is open. Blocks.

        Args:
            query: What is asked.

        Returns:
            The hits.
        """
        self._indexer.release()
        self._namespaces.get(query.scope).wait_vectors()
        return self._indexer.talk.submit(self.run, query).result()

    def run(self, query: Query, progress: Progress | None = None) -> Recollection:
        """Recall, on the thread of the caller.

        Args:
            query: What is asked.
            progress: Where to leave the lexical stage.

        Returns:
            The hits.
        """
        try:
            return self._recall(query.scope).run(query, progress)
        finally:
            self._residence.recalled()

    def encode(self, query: Query) -> Encoded | None:
        """Embed a query ahead of its recall, on the thread of the caller.

        Args:
            query: What will be asked.

        Returns:
            For ``Query.vector``; None without a model.
        """
        searcher = self._namespaces.get(query.scope).searcher
        return self._recall(query.scope).encode(self._understand(query, searcher.speakers))

    def _recall(self, scope: str) -> Recall:
        namespace = self._namespaces.get(scope)
        same_space = namespace.space == self._embedding.space
        return Recall(
            namespace.searcher,
            lambda _, ids: namespace.fetch(ids),
            self._understand,
            self._embedding.query if same_space else None,
            self._tokens if self._embedding.token_key else None,
            self._options.fuse,
            self._options.rank,
            self._options.ask.dialogue,
        )

    def _understand(self, query: Query, speakers: Sequence[str]) -> Ask:
        return understand(
            query.text,
            query.now,
            self._zone,
            speakers=speakers,
            dialogue=query.dialogue,
            language=self._options.language,
            options=self._options.ask,
        )

    def _tokens(self, scope: str, ids: Sequence[str]) -> Sequence[np.ndarray | None]:
        with self._store.snapshot() as snapshot:
            return snapshot.tokens(self._embedding.token_key, scope, ids)


def _swallow(future: "asyncio.Future[Any]") -> None:
    """Read a late result's exception, so that asyncio does not complain that nobody did."""
    if not future.cancelled():
        future.exception()
