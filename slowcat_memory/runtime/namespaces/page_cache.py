"""Gives pages of mapped files back to the system after a while without recalls.

Every query reads other pages, and some systems map two megabytes around each: in the end all files
of the store and the indexes would count as this process's memory. They are released on a background
worker once no recall has come for a while; the next recall takes a few milliseconds longer at a
million memories. With little memory they can be released after every recall.
"""

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future

from slowcat_memory.pages import mapped_mb

Later = Callable[[Callable[[], None]], "Future[None] | None"]


class IdleTimer:
    """Calls back once after each idle period. Its thread sleeps nearly always."""

    def __init__(
        self,
        seconds: float,
        callback: Callable[[], object],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Start the timer.

        Args:
            seconds: Length of the idle period; 0 or less never calls back.
            callback: Called on the timer's thread; must return at once.
            clock: Monotonic seconds; for tests.
        """
        self._seconds, self._callback, self._clock = seconds, callback, clock
        self._last = clock()
        self._called = False
        self._stopped = threading.Event()
        if seconds > 0:
            thread = threading.Thread(target=self._run, name="slowcat-idle-timer", daemon=True)
            thread.start()

    def reset(self) -> None:
        """Start a new idle period. Two assignments: may be called on the frame path."""
        self._last = self._clock()
        self._called = False

    def check(self) -> float:
        """Call back if it is time; return the seconds until the next check is worthwhile."""
        left = self._last + self._seconds - self._clock()
        if left > 0:
            return left
        if not self._called:
            self._called = True
            self._callback()
        return self._seconds

    def stop(self) -> None:
        """Never call back again."""
        self._stopped.set()

    def _run(self) -> None:
        wait = self._seconds
        while not self._stopped.wait(wait):
            wait = self.check()


class PageCache:
    """Watches how much is mapped, and releases it."""

    def __init__(
        self,
        most_mb: float,
        after_s: float,
        releases: Sequence[Callable[[], None]],
        later: Later,
        measure: Callable[[], float] = mapped_mb,
    ) -> None:
        """Wire the parts.

        Args:
            most_mb: Megabytes of mapped files above which they are released; 0 for never.
            after_s: Seconds without a recall until then; 0 for after every recall.
            releases: Functions that release what they can, in some milliseconds.
            later: Runs a function on a worker that no turn waits for.
        """
        self._most, self._releases, self._later = most_mb, releases, later
        self._measure = measure
        self._running: Future[None] | None = None
        self._after_each = most_mb > 0 and after_s <= 0
        self._timer = IdleTimer(after_s if most_mb > 0 else 0, self._trim_later)

    def recalled(self) -> None:
        """Note a recall; takes microseconds."""
        self._timer.reset()
        if self._after_each:
            self._trim_later()

    def stop(self) -> None:
        """Stop watching."""
        self._timer.stop()

    def trim(self) -> None:
        """Release pages if too many are mapped."""
        if self._measure() > self._most:
            for release in self._releases:
                release()

    def _trim_later(self) -> None:
        if self._running is None or self._running.done():
            self._running = self._later(self.trim)
