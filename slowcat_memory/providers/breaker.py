"""Circuit breaker: stops calling a failing server or model for a while, then tries once more.

And the LLM for idle work behind one: while its server is away it only gets cheap probes.

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


class CircuitBreaker:
    """Counts failures in a row and decides whether the next call is allowed.

    It opens at ``failures`` failures in a row and stays open for ``first_wait_s``; then the next call
    is a trial. A failure there opens it again, ``growth`` times as long, up to ``longest_wait_s``.
    A success closes it and resets the wait. Not locked; a lost update costs one call.
    """

    def __init__(
        self,
        *,
        failures: int = 3,
        first_wait_s: float = 5.0,
        longest_wait_s: float = 300.0,
        growth: float = 2.0,
        on_trial: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Start closed.

        Args:
            on_trial: Start with a trial instead: one failure opens it.
            clock: Seconds. If it jumps back to before the last failure, the wait is over.
        """
        self._threshold, self._growth, self._clock = failures, growth, clock
        self._first_wait_s, self._longest_wait_s = first_wait_s, longest_wait_s
        self._failures = failures if on_trial else 0
        self._next_wait_s = first_wait_s
        self._opened_at, self._wait_s = clock(), 0.0

    @property
    def closed(self) -> bool:
        """Whether calls pass, and the next one is no trial."""
        return self._failures < self._threshold

    @property
    def seconds_until_trial(self) -> float:
        """Seconds until a call is allowed; 0 if one is allowed now."""
        passed = self._clock() - self._opened_at
        return self._wait_s - passed if not self.closed and 0 <= passed < self._wait_s else 0.0

    def allows(self) -> bool:
        return not self.seconds_until_trial

    def failed(self, error: BaseException | None = None) -> None:
        """Count a failure. A ``retry_after`` opens the breaker at once, at least that long."""
        retry_after = error.retry_after if isinstance(error, EndpointError) else 0.0
        self._failures = max(self._threshold, self._failures) if retry_after else self._failures + 1
        if not self.closed:
            self._opened_at, self._wait_s = self._clock(), max(self._next_wait_s, retry_after)
            self._next_wait_s = min(self._growth * self._next_wait_s, self._longest_wait_s)

    def succeeded(self) -> None:
        """Close the breaker; the next wait is the first one again."""
        self.probe_succeeded()
        self._next_wait_s = self._first_wait_s

    def probe_succeeded(self) -> None:
        """Close the breaker but keep the wait: a cheap probe shows less than a real answer."""
        self._failures = 0


class CircuitBreakerLLM:
    """An LLM that gets no prompts while its server is unreachable.

    The first ``ready`` or ``complete`` probes the server.

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
            clock: Monotonic seconds.
        """
        self.inner, self._probe = inner, probe
        self._breaker = CircuitBreaker(on_trial=True, clock=clock)

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
        return self._breaker.seconds_until_trial

    async def ready(self) -> bool:
        """Return whether the LLM is available; probes if due, which takes seconds at most."""
        if not self._breaker.closed and self._breaker.allows():
            if await self._probe():
                self._breaker.probe_succeeded()
            else:
                self._breaker.failed()
        return self._breaker.closed

    async def complete(self, prompt: Prompt, into: type[T]) -> Answer[T]:
        """See ``LLM.complete``. Raises ``EndpointError`` at once while the breaker is open."""
        if not await self.ready() or self.inner is None:
            raise EndpointError("the LLM server is away", retry_after=self.seconds_until_probe)
        try:
            answer = await self.inner.complete(prompt, into)
        except EndpointError as error:
            self._breaker.failed(error)
            raise
        self._breaker.succeeded()
        return answer

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
