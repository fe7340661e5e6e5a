"""The LLM for idle work, behind a circuit breaker: while its server is away it only gets cheap probes.

Our own: pybreaker's wait is the same after each failure, and its calls hold a lock; a server here is
left alone longer each time, or for as long as its ``Retry-After`` says.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from loguru import logger
from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory.errors import EndpointError
from slowcat_memory.providers.llm.base import AUTO, LLM, Answer, Prompt, ThinkingOptions, is_remote
from slowcat_memory.providers.llm.model_servers import find_loaded
from slowcat_memory.providers.llm.server import label

T = TypeVar("T", bound=Struct)


FAILURES = 3  # in a row, after which the breaker is open
FIRST_WAIT_S, GROWTH, LONGEST_WAIT_S = 5.0, 2.0, 300.0


class CircuitBreakerLLM:
    """An LLM that gets no prompts while its server is unreachable.

    ``FAILURES`` in a row open the breaker for ``FIRST_WAIT_S``; then the server is probed. A failed
    probe opens it again, ``GROWTH`` times as long, up to ``LONGEST_WAIT_S``. A good one closes it and
    keeps the wait, for it shows less than an answer, which resets it. The first ``ready`` or
    ``complete`` probes. Not locked; a lost update costs one call.

    Attributes:
        inner: The LLM; None while none is found on this machine.
    """

    def __init__(
        self,
        inner: LLM | None,
        probe: Callable[[], Awaitable[bool]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Wrap an LLM.

        Args:
            probe: Checks that the server is reachable, without running the model.
            clock: Monotonic seconds. If it jumps back to before the last failure, the wait is over.
        """
        self.inner, self._probe, self._clock = inner, probe, clock
        self._failures, self._next_wait_s = FAILURES, FIRST_WAIT_S
        self._opened_at, self._wait_s = clock(), 0.0

    @property
    def prompt_tokens(self) -> int:
        return self.inner.prompt_tokens if self.inner else 0

    @property
    def remote(self) -> bool:
        return self.inner is not None and is_remote(self.inner)

    @property
    def found(self) -> bool:
        """Whether there is one: False until the first is found on this machine."""
        return self.inner is not None

    @property
    def seconds_until_probe(self) -> float:
        """Seconds until ``ready`` probes again; 0 if it would now, or if the server is there."""
        passed = self._clock() - self._opened_at
        open_ = self._failures >= FAILURES and 0 <= passed < self._wait_s
        return self._wait_s - passed if open_ else 0.0

    async def ready(self) -> bool:
        """Return whether the LLM is available; probes if due, which takes seconds at most."""
        if self._failures >= FAILURES and not self.seconds_until_probe:
            if await self._probe():
                self._failures = 0
            else:
                self._failed()
        return self._failures < FAILURES

    async def complete(self, prompt: Prompt, into: type[T]) -> Answer[T]:
        """See ``LLM.complete``. Raises ``EndpointError`` at once while the breaker is open."""
        if not await self.ready() or self.inner is None:
            raise EndpointError("the LLM server is away", retry_after=self.seconds_until_probe)
        try:
            answer = await self.inner.complete(prompt, into)
        except EndpointError as error:
            self._failed(error.retry_after)
            raise
        self._failures, self._next_wait_s = 0, FIRST_WAIT_S
        return answer

    def _failed(self, retry_after: float = 0.0) -> None:
        """Count a failure. A ``retry_after`` opens the breaker at once, at least that long."""
        self._failures = max(FAILURES, self._failures) if retry_after else self._failures + 1
        if self._failures >= FAILURES:
            self._opened_at, self._wait_s = self._clock(), max(self._next_wait_s, retry_after)
            self._next_wait_s = min(GROWTH * self._next_wait_s, LONGEST_WAIT_S)

    async def close(self) -> None:
        close = getattr(self.inner, "close", None)
        if close:
            await close()


class LocalLLM(CircuitBreakerLLM):
    """An LLM on this machine; each probe looks for it, see ``find_loaded``."""

    def __init__(self, options: ThinkingOptions) -> None:
        """Look for nothing yet."""
        super().__init__(None, self._look)
        self._options, self._model = options, options.model
        self._place = self._reason = ""

    async def _look(self) -> bool:
        from slowcat_memory.providers.llm.openai import OpenAILLM  # takes half a second

        try:
            server = await asyncio.to_thread(find_loaded, self._options, self._model)
        except EndpointError as error:
            if not self.inner and error.message != self._reason:
                self._reason = error.message
                logger.info(f"No LLM for idle work, for now: {error}")
            return False
        place = f"{label(server.models[0])} of {server.name} at {server.url}"
        if not isinstance(self.inner, OpenAILLM) or place != self._place:
            await self.close()
            self._place, self._model = place, server.models[0]
            self.inner = OpenAILLM(replace(self._options, url=server.url, model=self._model))
            logger.info(f"Idle work uses {place}")
        return await self.inner.probe()


def open_llm(options: ThinkingOptions) -> CircuitBreakerLLM | None:
    """Return the LLM, or None and log a line if no URL is set; nothing is sent yet.

    Another provider is another branch here.

    Raises:
        ConfigError: The URL is malformed.
        EndpointRefusedError: The server is not on this machine, and that is not allowed.
    """
    if not options.url:
        logger.info(
            "No LLM for idle work. To have one, start LM Studio, Ollama or llama.cpp on this "
            'machine and set [idle_llm] url = "auto"'
        )
        return None
    if options.url == AUTO:
        return LocalLLM(options)
    from slowcat_memory.providers.llm.openai import OpenAILLM  # takes half a second

    llm = OpenAILLM(options)
    return CircuitBreakerLLM(llm, llm.probe)
