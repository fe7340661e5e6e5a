"""An embedder that never costs a turn more than its vectors."""

from collections.abc import Callable
from datetime import datetime, timedelta

import numpy as np

from slowcat_memory.providers import Encoded

Embed = Callable[[str], Encoded | np.ndarray | None]


class Breaker:
    """An embedder that costs a turn its vectors at worst: it answers None instead of raising.

    Failures in a row, or answers so late that the recalls behind them were held up, open it: for a
    while it answers None at once. Then the next text is tried again.
    """

    FAILURES = 3
    OPEN = timedelta(seconds=60)
    LATE = timedelta(seconds=0.5)

    def __init__(
        self, embed: Embed, clock: Callable[[], datetime], on_failure: Callable[[str], None]
    ) -> None:
        """Start closed.

        Args:
            embed: Turns a query into a unit vector, with or without its tokens, or raises.
            clock: The time.
            on_failure: Told in a word what went wrong, each time.
        """
        self._embed, self._clock, self._on_failure = embed, clock, on_failure
        self._failures = 0
        self._failed: datetime | None = None  # when it failed last

    def __call__(self, text: str) -> Encoded | None:
        """Embed a query.

        Args:
            text: The query.

        Returns:
            Its vector, and its tokens from an embedder that tells them; or None.
        """
        began = self._clock()
        if self._failures >= self.FAILURES and self._failed and began < self._failed + self.OPEN:
            return None
        encoded, problem = None, ""
        try:
            value = self._embed(text)
            encoded = None if value is None else Encoded.of(value)
        except Exception as error:  # whatever a model or an endpoint raises
            problem = type(error).__name__
        ended = self._clock()
        if not problem and ended - began < self.LATE:
            self._failures = 0
            return encoded
        self._failures, self._failed = self._failures + 1, ended
        self._on_failure(problem or "late")
        return encoded
