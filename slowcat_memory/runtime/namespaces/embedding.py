"""The embedding model in each of its states: missing, to be exported, or ready.

Queries are embedded while a turn waits, behind a cache and a circuit breaker. Until a model is
available there are no vectors, and recall is by words.
"""

import time
from collections.abc import Callable
from functools import lru_cache
from typing import cast

import numpy as np
from loguru import logger

from slowcat_memory import providers
from slowcat_memory.clock import Clock, seconds_of
from slowcat_memory.errors import SlowcatError
from slowcat_memory.metrics import Metrics
from slowcat_memory.providers import (
    Embedder,
    EmbedderOptions,
    EmbedderReport,
    Encoded,
    TokenEmbedder,
    token_key_of,
)
from slowcat_memory.providers.breaker import CircuitBreaker
from slowcat_memory.runtime.namespaces.documents import Space

Embed = Callable[[str], Encoded | np.ndarray | None]
"""Turns a query into a unit vector, with or without its tokens; None where it cannot."""

FAILURES, OPEN_S = 3, 60.0  # failures in a row that open the breaker, and for how long
LATE_S = 0.5  # an answer as slow as this delays the recalls behind it: it counts as a failure


class GuardedEmbed:
    """Embeds queries, and returns None instead of raising: at worst a turn has no vectors.

    Failures in a row, or answers as late as ``LATE_S``, open a circuit breaker: for a while every
    answer is None at once. Then the next query is tried again.
    """

    def __init__(
        self,
        embed: Embed,
        clock: Clock,
        on_failure: Callable[[str], None],
        watch: Callable[[], float] = time.perf_counter,
    ) -> None:
        """Start with a closed breaker; ``embed`` may raise.

        Args:
            clock: Of how long the breaker stays open.
            on_failure: Called with one word for the cause, each time.
            watch: Seconds, of how long an answer takes. Not ``clock``: a clock that is set, or a
                machine that was suspended meanwhile, does not make an answer late.
        """
        self._embed, self._on_failure, self._watch = embed, on_failure, watch
        self._breaker = CircuitBreaker(
            failures=FAILURES, first_wait_s=OPEN_S, growth=1.0, clock=seconds_of(clock)
        )

    def __call__(self, text: str) -> Encoded | None:
        if not self._breaker.allows():
            return None
        began = self._watch()
        try:
            value = self._embed(text)
            encoded = None if value is None else Encoded.of(value)
        except Exception as error:  # any error of a model or an endpoint
            self._fail(type(error).__name__)
            return None
        if self._watch() - began < LATE_S:
            self._breaker.succeeded()
        else:
            self._fail("late")
        return encoded

    def _fail(self, problem: str) -> None:
        self._breaker.failed()
        self._on_failure(problem)


class Embedding:
    """The configured model.

    Attributes:
        query: Embeds queries, behind a cache; None without a model.
        passing: The same without the cache: it keeps no words.
        space: Of its vectors.
        token_key: Key of the space of token vectors, "" when none are made.
    """

    def __init__(
        self,
        options: EmbedderOptions,
        cache_size: int,
        clock: Clock,
        metrics: Metrics,
        given: Embedder | None,
    ) -> None:
        """Open the model if it is available, or use ``given`` for everything.

        A model or an endpoint that cannot be used costs the vectors, and one warning.
        """
        self._options, self._clock = options, clock
        self._metrics, self._given = metrics, given
        self._cached = lru_cache(cache_size)(self._encode)
        self.embedder: Embedder | None = None
        self.query: GuardedEmbed | None = None
        self.passing: GuardedEmbed | None = None
        self.space, self.token_key = Space(), ""
        self.open()

    @property
    def is_own(self) -> bool:
        """Whether the query model runs in this process, for this engine alone."""
        return self._given is None and self._options.kind == "local" and self.query is not None

    @property
    def needs_export(self) -> bool:
        """Whether the model has not been exported, without which it does not answer."""
        return self.report.state == "needs export"

    def open(self) -> None:
        embedder = self._given
        if embedder is not None:
            self.report = EmbedderReport(state="ready", source=embedder.name, key=embedder.key)
        else:
            embedder, self.report = self._open_configured()
        if embedder is not None:
            self.embedder, self.space = embedder, Space(embedder.key, embedder.dim)
            self.token_key = token_key_of(embedder) if self._options.token_vectors else ""
            self.forget()
            self.query = GuardedEmbed(self._cached, self._clock, self._failed)
            self.passing = GuardedEmbed(self._encode, self._clock, self._failed)

    def _open_configured(self) -> tuple[Embedder | None, EmbedderReport]:
        try:
            embedder, report = providers.open_query_embedder(self._options)
        except Exception as error:  # of a URL, a model's files, or a library that reads them
            failed = f"{self._options.model} cannot be opened: {type(error).__name__}"
            embedder = None
            report = EmbedderReport(
                state="missing",
                source=error.message if isinstance(error, SlowcatError) else failed,
                hint=getattr(error, "hint", "") or "slowcat-memory doctor says what is wrong",
            )
        if report.state == "missing":
            logger.warning(f"memory: search is by words alone: {report.source}. {report.hint}")
        return embedder, report

    def _encode(self, text: str) -> Encoded:
        if self.token_key:
            return cast(TokenEmbedder, self.embedder).encode_query_tokens(text)
        return Encoded(cast(Embedder, self.embedder).encode_query(text))

    def export(self) -> None:
        """Export the model and open it. Blocks for some seconds, in a child process.

        Raises:
            ProviderError: It could not be exported.
        """
        providers.export_model(self._options)
        self.open()

    def forget(self) -> None:
        """Drop the queries in the cache."""
        self._cached.cache_clear()

    def _failed(self, problem: str) -> None:
        self._metrics.count("embedding_failures")
        logger.warning(f"memory: embedding a query failed: {problem}")
