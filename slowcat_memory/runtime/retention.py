"""Noticing that what is kept for some hours has been kept for long enough.

A thread that looks every few minutes, day and night, since hours pass in which nobody speaks. It
waits for a quiet moment: erasing rewrites the store's file.
"""

import threading
import time
from collections.abc import Callable

LOOK_S = 300.0
QUIET_S = 60.0  # nobody has spoken for so long


class Retention:
    """Calls back now and then while nobody speaks."""

    def __init__(
        self,
        wanted: bool,
        last_spoken: Callable[[], float],
        then: Callable[[], object],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin to look.

        Args:
            wanted: False never calls back.
            last_spoken: Tells when somebody spoke last, by the clock.
            then: Called on this object's thread; returns at once.
            clock: Seconds that never go back; for tests.
        """
        self._last_spoken, self._then, self._clock = last_spoken, then, clock
        self._stopped = threading.Event()
        if wanted:
            threading.Thread(target=self._run, name="slowcat-retention", daemon=True).start()

    def look(self) -> None:
        """Call back if nobody speaks."""
        if self._clock() - self._last_spoken() >= QUIET_S:
            self._then()

    def stop(self) -> None:
        """Never call back again."""
        self._stopped.set()

    def _run(self) -> None:
        while not self._stopped.wait(LOOK_S):
            self.look()
