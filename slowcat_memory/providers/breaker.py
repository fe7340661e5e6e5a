"""Circuit breaker: stops calling a failing server or model for a while, then tries once more."""

import random
import time
from collections.abc import Callable
from enum import StrEnum

from slowcat_memory.errors import EndpointError


class BreakerState(StrEnum):
    """Closed: calls pass. Open: calls are refused. Half-open: the next call is a trial."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half-open"


class CircuitBreaker:
    """Counts failures in a row and decides whether the next call is allowed.

    It opens at ``failures`` failures in a row and stays open for ``first_wait_s``; then it is
    half-open. A failure there opens it again, ``growth`` times as long, up to ``longest_wait_s``.
    A success closes it and resets the wait. Not locked; a lost update costs one call.
    """

    def __init__(
        self,
        *,
        failures: int = 3,
        first_wait_s: float = 5.0,
        longest_wait_s: float = 300.0,
        growth: float = 2.0,
        jitter: float = 0.0,
        half_open: bool = False,
        clock: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = random.random,
    ) -> None:
        """Start closed, or half-open.

        Args:
            jitter: Share by which each wait is varied at random, so that processes that started
                together do not retry together.
            half_open: Start half-open instead of closed: the first call is a trial.
            clock: Seconds. If it jumps back to before the last failure, the wait is over.
            chance: Random number from 0 to 1, for the jitter.
        """
        self._threshold, self._growth, self._jitter = failures, growth, jitter
        self._first_wait_s, self._longest_wait_s = first_wait_s, longest_wait_s
        self._clock, self._chance = clock, chance
        self._failures = failures if half_open else 0
        self._next_wait_s = first_wait_s
        self._opened_at, self._wait_s = clock(), 0.0

    @property
    def state(self) -> BreakerState:
        if self._failures < self._threshold:
            return BreakerState.CLOSED
        return BreakerState.OPEN if self.seconds_until_trial else BreakerState.HALF_OPEN

    @property
    def seconds_until_trial(self) -> float:
        """Seconds until a call is allowed; 0 if one is allowed now."""
        if self._failures < self._threshold:
            return 0.0
        passed = self._clock() - self._opened_at
        return self._wait_s - passed if 0 <= passed < self._wait_s else 0.0

    def allows(self) -> bool:
        """Return whether a call may be made now: the breaker is closed or half-open."""
        return self.state is not BreakerState.OPEN

    def failed(self, error: BaseException | None = None) -> None:
        """Count a failure. A ``retry_after`` opens the breaker at once, at least that long."""
        retry_after = error.retry_after if isinstance(error, EndpointError) else 0.0
        self._failures = max(self._threshold, self._failures) if retry_after else self._failures + 1
        if self._failures >= self._threshold:
            wait_s = self._next_wait_s * (1 + self._jitter * (2 * self._chance() - 1))
            self._opened_at, self._wait_s = self._clock(), max(wait_s, retry_after)
            self._next_wait_s = min(self._growth * self._next_wait_s, self._longest_wait_s)

    def succeeded(self) -> None:
        """Close the breaker; the next wait is the first one again."""
        self.probe_succeeded()
        self._next_wait_s = self._first_wait_s

    def probe_succeeded(self) -> None:
        """Close the breaker but keep the wait: a cheap probe shows less than a real answer."""
        self._failures = 0
