"""The rooms put together: what every verb of the engine works with."""

from collections.abc import Callable
from datetime import datetime

from slowcat_memory.config import Config, time_zone, tokenizer
from slowcat_memory.errors import StoreError
from slowcat_memory.index.files import arrays
from slowcat_memory.metrics import Metrics
from slowcat_memory.providers import EmbedderReport, QueryEmbedder
from slowcat_memory.runtime.commands.undo_log import Hiding
from slowcat_memory.runtime.conversation.audience import guest_scope
from slowcat_memory.runtime.namespaces.embedding import Embedding
from slowcat_memory.runtime.namespaces.indexer import Indexer
from slowcat_memory.runtime.namespaces.page_cache import PageCache
from slowcat_memory.runtime.namespaces.registry import Namespaces
from slowcat_memory.runtime.namespaces.vectors import DocumentVectors
from slowcat_memory.runtime.recall.service import Retrieval, RetrievalOptions
from slowcat_memory.runtime.session.head import Heads
from slowcat_memory.runtime.session.icebreakers import Icebreakers
from slowcat_memory.store import Store


class Parts:
    """One store, its indexes and its embedder, wired. The themes of the engine build on it."""

    def __init__(
        self,
        config: Config,
        readonly: bool,
        on_trouble: Callable[[StoreError], None] | None,
        clock: Callable[[], datetime],
        embedder: QueryEmbedder | None,
    ) -> None:
        """Open the store, and the embedder if its model is at hand; see ``MemoryEngine``."""
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
        self._page_cache = PageCache(
            config.memory.mapped_mb,
            config.memory.mapped_after_s,
            (arrays.release_pages, self.store.release),
            self._indexer.later,
        )
        self._retrieval = self.retrieval(retrieval_options(config))
        user = config.memory.user_name
        self.icebreakers = Icebreakers(self.store, self.zone, clock, config.icebreakers, user)
        self._heads = Heads(self.store, self.icebreakers, self.zone, clock, config.head, user)
        self.hiding = Hiding(self.store, self._indexer.put, clock)

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

    def retrieval(self, options: RetrievalOptions) -> Retrieval:
        """Recall in another way over the same memory, for who compares ways.

        Args:
            options: How to recall.

        Returns:
            What asks this engine's namespaces so.
        """
        return self._retrieval_from(self._namespaces, self.store, options)

    def _retrieval_from(
        self, namespaces: Namespaces, store: Store, options: RetrievalOptions
    ) -> Retrieval:
        return Retrieval(
            namespaces,
            self._embedding,
            self._indexer,
            store,
            self.metrics,
            self._page_cache,
            self.zone,
            options,
        )


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
        links=config.links,
        language=config.index.language,
    )
