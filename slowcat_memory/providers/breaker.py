"""Circuit breaker: stops calling a failing server or model for a while, then tries once more.

Our own: pybreaker's wait is the same after each failure, and its calls hold a lock; a server here is
left alone longer each time, or for as long as its ``Retry-After`` says.
"""

import time
from collections.abc import Callable

from slowcat_memory.errors import EndpointError


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
