"""Noticing that nobody has spoken for a while, and then doing something once.

A thread that sleeps nearly always; to tell it that somebody spoke costs one assignment, so it may be
told from the frame path.
"""

import threading
import time
from collections.abc import Callable


class Silence:
    """Calls back after a silence, once per silence."""

    def __init__(
        self,
        seconds: float,
        then: Callable[[], object],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin to listen.

        Args:
            seconds: How long nobody must have spoken; 0 or less never calls back.
            then: Called on this object's thread; returns at once.
            clock: Seconds that never go back; for tests.
        """
        self._seconds, self._then, self._clock = seconds, then, clock
        self._last = clock()
        self._told = False
        self._stopped = threading.Event()
        if seconds > 0:
            thread = threading.Thread(target=self._run, name="slowcat-silence", daemon=True)
            thread.start()

    def broken(self) -> None:
        """Somebody spoke."""
        self._last = self._clock()
        self._told = False

    def since(self) -> float:
        """Return when somebody spoke last.

        Returns:
            By the clock.
        """
        return self._last

    def due(self) -> float:
        """Call back if it is time.

        Returns:
            Seconds until it is worth asking again.
        """
        left = self._last + self._seconds - self._clock()
        if left > 0:
            return left
        if not self._told:
            self._told = True
            self._then()
        return self._seconds

    def stop(self) -> None:
        """Never call back again."""
        self._stopped.set()

    def _run(self) -> None:
        wait = self._seconds
        while not self._stopped.wait(wait):
            wait = self.due()
