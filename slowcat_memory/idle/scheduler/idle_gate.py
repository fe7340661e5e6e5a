"""When may be thought: closed while anyone speaks, the LLM runs, the bot talks or tools work.

Any number of conversations tell the gate what goes on, each under its own names, from any thread.
It opens once nothing has gone on for a grace. Whoever thinks is told the moment it closes.
"""

import threading
import time
from collections.abc import Callable

from msgspec import Struct


class GateOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When may be thought.

    Attributes:
        grace_s: Seconds that nothing must have gone on. Somebody who was just asked a question
            answers within two or three.
        lost_s: Seconds without any sign after which what seems to go on is taken to have ended.
    """

    grace_s: float = 3.0
    lost_s: float = 60.0


class IdleGate:
    """Knows what goes on. Safe to use from any thread; ``busy`` and ``free`` cost microseconds."""

    def __init__(
        self, options: GateOptions = GateOptions(), clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Begin with nothing going on, the grace to come.

        Args:
            options: When may be thought.
            clock: Seconds that never go back; for tests.
        """
        self._options, self._clock = options, clock
        self._lock = threading.Lock()
        self._going_on: dict[str, float] = {}  # when each was last heard of
        self._quiet_since = clock()
        self._listeners: set[Callable[[], None]] = set()

    def busy(self, what: str) -> None:
        """Something goes on, or goes on still; closes the gate at once.

        Args:
            what: For example "kitchen/user speaks"; the same name ends it.
        """
        with self._lock:
            now = self._clock()
            closes = self._opens_at() <= now
            if closes:  # whatever is in here was lost
                self._going_on.clear()
            self._going_on[what] = now
            tell = tuple(self._listeners) if closes else ()
        for listener in tell:
            listener()

    def free(self, what: str) -> None:
        """It has ended; nothing happens when it had not begun.

        Args:
            what: As in ``busy``.
        """
        with self._lock:
            self._end(what)

    def gone(self, prefix: str) -> None:
        """Everything has ended whose name begins so: a conversation is over.

        Args:
            prefix: For example "kitchen/".
        """
        with self._lock:
            for what in [name for name in self._going_on if name.startswith(prefix)]:
                self._end(what)

    def opens_in(self) -> float:
        """Tell when it opens, if nothing more goes on.

        Returns:
            Seconds; 0 when it is open. What goes on counts as lost until it is heard of again, so
            an end that comes earlier opens the gate earlier.
        """
        with self._lock:
            return max(0.0, self._opens_at() - self._clock())

    def on_close(self, tell: Callable[[], None]) -> Callable[[], None]:
        """Have somebody told each time the gate closes, on the thread that closed it.

        Args:
            tell: Returns at once, and raises nothing.

        Returns:
            Ends that.
        """
        with self._lock:
            self._listeners.add(tell)

        def end() -> None:
            with self._lock:
                self._listeners.discard(tell)

        return end

    def _end(self, what: str) -> None:
        """Note an end. One that comes after the thing was given up cannot close an open gate."""
        heard = self._going_on.pop(what, None)
        if heard is not None:
            ended = min(self._clock(), heard + self._options.lost_s)
            self._quiet_since = max(self._quiet_since, ended)

    def _opens_at(self) -> float:
        lost = (heard + self._options.lost_s for heard in self._going_on.values())
        return max((self._quiet_since, *lost)) + self._options.grace_s
