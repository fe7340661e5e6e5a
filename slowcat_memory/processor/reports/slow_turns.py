"""Warnings about slow turns: one a minute at most, with how many there were."""

import time
from collections.abc import Callable

from loguru import logger

EVERY_S = 60.0


class SlowTurns:
    """Counts turns that waited longer than a limit. Use it on the event loop."""

    def __init__(
        self, name: str, limit_ms: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Start with none; ``name`` is the processor's, and ``clock`` counts seconds."""
        self._name, self._limit_ms, self._clock = name, limit_ms, clock
        self._slow, self._turns, self._worst, self._stage = 0, 0, 0.0, ""
        self._warned: float | None = None

    def add(self, waited_ms: float, stage: str) -> None:
        """Count a turn; warn if it was slow, and the last warning is a minute ago."""
        self._turns += 1
        if waited_ms <= self._limit_ms:
            return
        self._slow += 1
        if waited_ms > self._worst:
            self._worst, self._stage = waited_ms, stage
        now = self._clock()
        if self._warned is not None and now - self._warned < EVERY_S:
            return
        logger.warning(
            f"{self._name}: {self._slow} of {self._turns} turns waited longer than "
            f"{self._limit_ms:g} ms for their memories, the slowest {self._worst:.1f} ms "
            f"(stage {self._stage})"
        )
        self._slow, self._turns, self._worst, self._warned = 0, 0, 0.0, now
