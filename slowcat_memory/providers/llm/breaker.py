"""A circuit breaker: an LLM whose server is away is asked whether it is back, and nothing else."""

import random
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from msgspec import Struct

from slowcat_memory.errors import EndpointError
from slowcat_memory.providers.llm.base import LLM, Answer, Prompt

T = TypeVar("T", bound=Struct)

FAILURES = 3  # in a row; a slow answer or a hiccup is no absence
FIRST_PROBE_S, LAST_PROBE_S = 5.0, 300.0
JITTER = 0.2  # of a wait, more or less: agents that started together do not probe together


class AwayAwareLLM:
    """An LLM that is not asked while its server is away.

    It begins as away, with a probe due at once: the first ``ready`` finds out.
    """

    def __init__(
        self,
        inner: LLM,
        probe: Callable[[], Awaitable[bool]],
        clock: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = random.random,
        close: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """Put it before an LLM.

        Args:
            inner: The LLM.
            probe: Asks the server whether it is there, without having it think.
            clock: Seconds that never go back; for tests.
            chance: 0 to 1; for tests.
            close: Closes its connections.
        """
        self._inner, self._probe, self._clock, self._chance = inner, probe, clock, chance
        self._close = close
        self._failures = FAILURES
        self._wait_s = FIRST_PROBE_S
        self._probe_at = clock()

    @property
    def prompt_tokens(self) -> int:
        """Tokens that a prompt may have, instruction included."""
        return self._inner.prompt_tokens

    @property
    def remote(self) -> bool:
        """Whether it is on another machine."""
        return bool(getattr(self._inner, "remote", False))

    @property
    def seconds_until_probe(self) -> float:
        """Seconds until ``ready`` is worth asking again; 0 when it is now."""
        return max(self._probe_at - self._clock(), 0.0) if self._away else 0.0

    async def ready(self) -> bool:
        """Tell whether the LLM can be asked; probes when that is due, and takes seconds at most.

        Returns:
            Whether it can.
        """
        if self._away and not self.seconds_until_probe:
            if await self._probe():
                self._failures, self._probe_at = 0, self._clock()
            else:
                self._put_off()
        return not self._away

    async def complete(self, prompt: Prompt, into: type[T]) -> Answer[T]:
        """Ask; see ``LLM.complete``.

        Args:
            prompt: The question.
            into: Type of the answer.

        Returns:
            The answer.

        Raises:
            EndpointError: The server is away, refuses, or took too long.
            BadAnswerError: The answer cannot be used, after one repair.
            PromptTooLongError: The prompt is longer than the server reads.
        """
        if not await self.ready():
            raise EndpointError("the LLM server is away", retry_after=self.seconds_until_probe)
        try:
            answer = await self._inner.complete(prompt, into)
        except EndpointError as error:
            self._failures = FAILURES if error.retry_after else self._failures + 1
            if self._away:
                self._put_off(error.retry_after)
            raise
        self._failures, self._wait_s = 0, FIRST_PROBE_S
        return answer

    async def close(self) -> None:
        """Close the LLM's connections; the next call opens new ones."""
        if self._close:
            await self._close()

    @property
    def _away(self) -> bool:
        return self._failures >= FAILURES

    def _put_off(self, at_least_s: float = 0.0) -> None:
        """Wait for the next probe, each time twice as long: an answer alone resets that."""
        wait_s = self._wait_s * (1 + JITTER * (2 * self._chance() - 1))
        self._probe_at = self._clock() + max(wait_s, at_least_s)
        self._wait_s = min(2 * self._wait_s, LAST_PROBE_S)
