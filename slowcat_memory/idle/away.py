"""How long to leave an LLM's server alone that is away."""

from datetime import datetime, timedelta
from typing import Protocol

FIRST = timedelta(seconds=5)
LONGEST = timedelta(minutes=5)


class Breaker(Protocol):
    """Tells whether a server is worth asking."""

    def ready(self) -> bool:
        """Tell whether to ask it now: False while it was found to be away a moment ago."""


class Away:
    """A breaker for whoever has none: after each failure in a row it waits twice as long."""

    def __init__(self) -> None:
        """Start ready."""
        self._rest = FIRST
        self._since: datetime | None = None

    def failed(self, now: datetime) -> None:
        """It did not answer.

        Args:
            now: The time, aware.
        """
        self._rest = FIRST if self._since is None else min(self._rest * 2, LONGEST)
        self._since = now

    def answered(self) -> None:
        """It is there."""
        self._since = None

    def ready(self, now: datetime) -> bool:
        """Tell whether to ask it now.

        Args:
            now: The time, aware. One before the failure is of a clock that was put back.

        Returns:
            False while it rests.
        """
        return self._since is None or not timedelta() <= now - self._since < self._rest
