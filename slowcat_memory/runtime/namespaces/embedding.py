"""The embedding model, in whatever state it is: missing, to be exported, or ready.

Queries are embedded while a turn waits, behind a cache and a breaker. Until a model is at hand
there are no vectors, and recall is by words.
"""

import functools
from collections.abc import Callable
from datetime import datetime
from typing import Any, cast

from loguru import logger

from slowcat_memory import providers
from slowcat_memory.metrics import Metrics
from slowcat_memory.providers import (
    DocumentEmbedder,
    EmbedderOptions,
    EmbedderReport,
    Encoded,
    QueryEmbedder,
    TokenEmbedder,
    token_key_of,
)
from slowcat_memory.runtime.namespaces.embed_breaker import Breaker
from slowcat_memory.runtime.namespaces.namespace import Space


class Embedding:
    """The configured model, in whatever state it is."""

    def __init__(
        self,
        options: EmbedderOptions,
        cache_size: int,
        clock: Callable[[], datetime],
        metrics: Metrics,
        given: QueryEmbedder | None = None,
    ) -> None:
        """Open the model if it is at hand.

        Args:
            options: Which model.
            cache_size: How many query vectors are kept.
            clock: The time, aware.
            metrics: Where failures are counted.
            given: An embedder to use for everything instead.

        Raises:
            ConfigError: The endpoint is configured wrongly.
            EndpointRefusedError: The endpoint is not on this machine.
        """
        self._options, self._cache_size, self._clock = options, cache_size, clock
        self._metrics, self._given = metrics, given
        self.embedder: QueryEmbedder | None = None
        self._cached: Any = None  # from a query to ``Encoded``, behind a cache
        self.query: Breaker | None = None
        self.passing: Breaker | None = None  # the same without the cache: it keeps no words
        self.report = EmbedderReport(state="none", source="not opened")
        self.open()

    @property
    def space(self) -> Space:
        """The vector space in use."""
        return Space(self.report.key, self.report.dim) if self.query else Space()

    @property
    def token_key(self) -> str:
        """Key of the space of token vectors, "" when none are made."""
        return token_key_of(self.embedder) if self._options.token_vectors else ""

    @property
    def needs_export(self) -> bool:
        """Whether the model is here, but not yet in the form that answers in milliseconds."""
        return self.report.state == "needs export"

    def open(self) -> None:
        """Open the model if it is at hand, and say in ``report`` what was found."""
        embedder = self._given
        if embedder is not None:
            self.report = EmbedderReport(
                state="ready", source=embedder.name, key=embedder.key, dim=embedder.dim
            )
        else:
            embedder, self.report = providers.open_query_embedder(self._options)
        if embedder is not None:
            self.embedder = embedder
            encode = self._encoder(embedder)
            self._cached = functools.lru_cache(self._cache_size)(encode)
            self.query = Breaker(self._cached, self._clock, self._failed)
            self.passing = Breaker(encode, self._clock, self._failed)

    def _encoder(self, embedder: QueryEmbedder) -> Callable[[str], Encoded]:
        """Return what embeds a query, with its tokens when they are wanted and told."""
        if self.token_key:
            return cast(TokenEmbedder, embedder).encode_query_tokens
        return lambda text: Encoded(embedder.encode_query(text))

    def export(self) -> None:
        """Make the model ready. Blocks for some seconds, in a child process.

        Raises:
            ProviderError: It could not be exported.
        """
        providers.export_model(self._options)
        self.open()

    def forget(self) -> None:
        """Drop the cache, which holds words."""
        if self._cached is not None:
            self._cached.cache_clear()

    def _failed(self, problem: str) -> None:
        self._metrics.count("embedding_failures")
        logger.warning(f"memory: embedding a query failed: {problem}")

    def open_documents(self) -> tuple[DocumentEmbedder | None, EmbedderReport]:
        """Open the embedder of exact vectors.

        Returns:
            The embedder, whose ``close`` is the caller's, or None; and what was found.
        """
        if self._given is not None:
            return _Given(self._given), self.report
        return providers.open_document_embedder(self._options)


class _Given:
    """A given query embedder in the place of a document embedder; its owner closes it."""

    def __init__(self, embedder: QueryEmbedder) -> None:
        self.name, self.key, self.dim = embedder.name, embedder.key, embedder.dim
        self.token_key = token_key_of(embedder)
        self._embedder: Any = embedder

    def encode(self, texts: Any, progress: Callable[[int], None] | None = None) -> Any:
        return self._embedder.encode(texts)

    def encode_tokens(self, texts: Any, progress: Callable[[int], None] | None = None) -> Any:
        return self._embedder.encode_tokens(texts)

    def close(self) -> None:
        """Leave it to its owner."""
