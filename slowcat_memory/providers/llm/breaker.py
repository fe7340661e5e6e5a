"""The LLM for idle work, behind a circuit breaker: a server that failed only gets cheap probes."""

import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from loguru import logger
from msgspec import Struct

from slowcat_memory.errors import EndpointError
from slowcat_memory.providers.breaker import CircuitBreaker
from slowcat_memory.providers.llm.base import LLM, Answer, Prompt, ThinkingOptions, is_remote

T = TypeVar("T", bound=Struct)


class CircuitBreakerLLM:
    """An LLM that gets no prompts while its server is unreachable.

    The first ``ready`` or ``complete`` probes the server.
    """

    def __init__(
        self,
        inner: LLM,
        probe: Callable[[], Awaitable[bool]],
        clock: Callable[[], float] = time.monotonic,
        close: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """Wrap an LLM.

        Args:
            probe: Checks that the server is reachable, without running the model.
            clock: Monotonic seconds.
        """
        self._inner, self._probe, self._close = inner, probe, close
        self._breaker = CircuitBreaker(on_trial=True, clock=clock)

    @property
    def prompt_tokens(self) -> int:
        return self._inner.prompt_tokens

    @property
    def remote(self) -> bool:
        return is_remote(self._inner)

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
        if not await self.ready():
            raise EndpointError("the LLM server is away", retry_after=self.seconds_until_probe)
        try:
            answer = await self._inner.complete(prompt, into)
        except EndpointError as error:
            self._breaker.failed(error)
            raise
        self._breaker.succeeded()
        return answer

    async def close(self) -> None:
        if self._close:
            await self._close()


def open_llm(options: ThinkingOptions) -> CircuitBreakerLLM | None:
    """Return the LLM, or None and log a line if no URL is set; nothing is sent yet.

    Another provider is another branch here.

    Raises:
        ConfigError: The URL is malformed.
        EndpointRefusedError: The server is not on this machine, and that is not allowed.
    """
    if not options.url:
        logger.info(
            "No LLM for idle work. To have one, start an OpenAI-compatible server on this "
            'machine and set [idle_llm] url = "http://127.0.0.1:1234/v1"'
        )
        return None
    from slowcat_memory.providers.llm.openai import OpenAILLM  # takes half a second

    llm = OpenAILLM(options)
    return CircuitBreakerLLM(llm, llm.probe, close=llm.close)
