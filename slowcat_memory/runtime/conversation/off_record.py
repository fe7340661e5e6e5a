"""Off the record: what is said is answered, and not kept.

While it lasts, nothing that anybody says is logged, indexed, embedded for keeping or entered into
the ledger, and what a recall leaves in caches is thrown away at its end. Recall itself goes on.

It lasts until somebody turns it off, or the conversation is over: a silence that would end a
session, or a line that dropped and did not come back. It does not outlast the conversation because
who starts the next one did not ask for it, and would lose what they say without knowing; it does
outlast a line that drops for a moment, because who asked for it is still talking.
"""

from collections.abc import Callable
from datetime import datetime, timedelta

from slowcat_memory.runtime.conversation.session_tracker import SessionOptions


class Record:
    """Whether what is said is kept. A state machine without a clock.

    Attributes:
        off: Nothing is kept.
    """

    def __init__(self, options: SessionOptions, changed: Callable[[bool], None]) -> None:
        """Start on the record.

        Args:
            options: When a conversation is over.
            changed: Told each change: whether it is off now.
        """
        self.off = False
        self._silence = timedelta(seconds=options.silence_s)
        self._grace = timedelta(seconds=options.resume_grace_s)
        self._changed = changed
        self._until: datetime | None = None  # when the conversation is over

    def go_off(self) -> None:
        """Keep nothing from now on."""
        self._until = None  # until somebody speaks, the conversation cannot be over
        self._set(True)

    def go_on(self) -> None:
        """Keep what is said from now on."""
        self._set(False)

    def touch(self, now: datetime) -> None:
        """Note that somebody speaks: the conversation goes on.

        Args:
            now: When.
        """
        self.tick(now)
        self._until = now + self._silence

    def disconnected(self, now: datetime) -> None:
        """Note that the line dropped; it may come back.

        Args:
            now: When.
        """
        self.tick(now)
        self._until = now + self._grace

    def tick(self, now: datetime) -> None:
        """Note that time passed, and go back on the record when the conversation is over.

        Args:
            now: The time.
        """
        if self._until is not None and now >= self._until:
            self._set(False)

    def _set(self, off: bool) -> None:
        if off != self.off:
            self.off = off
            self._changed(off)
