"""The gate for idle work: closed while anyone speaks, the LLM runs, the bot talks or tools work.

Any number of conversations report their activities, each under its own names, from any thread. The
gate opens after a grace period without activities, and calls its listeners when it closes.
"""

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from slowcat_memory.idle.options import IdleOptions


class IdleGate:
    """Tracks activities. Safe from any thread; ``busy`` and ``free`` cost microseconds."""

    def __init__(
        self, options: IdleOptions = IdleOptions(), clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Start with no activity and the grace period ahead; ``clock`` is in monotonic seconds."""
        self._options, self._clock = options, clock
        self._lock = threading.Lock()
        self._active: dict[str, float] = {}  # when each activity was last reported
        self._quiet_since = clock()
        self._listeners: set[Callable[[], None]] = set()
        self._numbers = itertools.count()

    @contextmanager
    def closed(self, activity: str) -> Iterator[None]:
        """Close the gate while a block runs, and for the grace period after it.

        Blocks with the same ``activity`` may run at the same time, on any threads.
        """
        name = f"{activity} {next(self._numbers)}"
        self.busy(name)
        try:
            yield
        finally:
            self.free(name)

    def busy(self, activity: str) -> None:
        """Report that an activity ("kitchen/user speaks") began or continues; closes the gate."""
        with self._lock:
            now = self._clock()
            closes = self._opens_at() <= now
            if closes:  # their ends were lost
                self._active.clear()
            self._active[activity] = now
            listeners = tuple(self._listeners) if closes else ()
        for listener in listeners:
            listener()

    def free(self, activity: str) -> None:
        """Report that an activity ended; no effect if it had not begun."""
        with self._lock:
            self._end(activity)

    def gone(self, prefix: str) -> None:
        """End all activities with this prefix, because a conversation is over."""
        with self._lock:
            for activity in [name for name in self._active if name.startswith(prefix)]:
                self._end(activity)

    def is_active(self, prefix: str) -> bool:
        """Return whether an activity with this prefix runs."""
        with self._lock:
            return any(name.startswith(prefix) for name in self._active)

    def opens_in(self) -> float:
        """Return the seconds until it opens if nothing more is reported; 0 if it is open.

        An activity counts until ``lost_s`` after its last report; a reported end opens the gate
        earlier.
        """
        with self._lock:
            return max(0.0, self._opens_at() - self._clock())

    @contextmanager
    def on_close(self, listener: Callable[[], None]) -> Iterator[None]:
        """Call a listener each time the gate closes, on the thread that closed it.

        At once, too, if it is closed already. The listener must return at once, and raise nothing.
        """
        with self._lock:
            self._listeners.add(listener)
        try:
            if self.opens_in():
                listener()
            yield
        finally:
            with self._lock:
                self._listeners.discard(listener)

    def _end(self, activity: str) -> None:
        """Record an end; that of an activity already counted as lost does not close the gate."""
        reported = self._active.pop(activity, None)
        if reported is not None:
            ended = min(self._clock(), reported + self._options.lost_s)
            self._quiet_since = max(self._quiet_since, ended)

    def _opens_at(self) -> float:
        lost = (reported + self._options.lost_s for reported in self._active.values())
        return max((self._quiet_since, *lost)) + self._options.grace_s
