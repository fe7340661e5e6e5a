"""The LLM for idle work, behind a circuit breaker: a server that failed only gets cheap probes."""

import random
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from msgspec import Struct

from slowcat_memory.errors import EndpointError
from slowcat_memory.providers.breaker import BreakerState, CircuitBreaker
from slowcat_memory.providers.llm.base import LLM, Answer, Prompt, is_remote

T = TypeVar("T", bound=Struct)

FIRST_PROBE_S, LONGEST_PROBE_S = 5.0, 300.0
JITTER = 0.2


class CircuitBreakerLLM:
    """An LLM that gets no prompts while its server is unreachable.

    It starts half-open: the first ``ready`` or ``complete`` probes the server.
    """

    def __init__(
        self,
        inner: LLM,
        probe: Callable[[], Awaitable[bool]],
        clock: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = random.random,
        close: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """Wrap an LLM.

        Args:
            probe: Checks that the server is reachable, without running the model.
            clock: Monotonic seconds.
            chance: Random number from 0 to 1, for the jitter.
        """
        self._inner, self._probe, self._close = inner, probe, close
        self._breaker = CircuitBreaker(
            first_wait_s=FIRST_PROBE_S,
            longest_wait_s=LONGEST_PROBE_S,
            jitter=JITTER,
            half_open=True,
            clock=clock,
            chance=chance,
        )

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
        if self._breaker.state is BreakerState.HALF_OPEN:
            if await self._probe():
                self._breaker.probe_succeeded()
            else:
                self._breaker.failed()
        return self._breaker.state is BreakerState.CLOSED

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
