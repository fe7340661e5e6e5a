"""Off the record: what is said is answered, and not kept.

While it lasts, nothing that anybody says is logged, indexed, embedded for keeping or entered into
the ledger, and what a recall leaves in caches is dropped at its end. Recall itself goes on.

It lasts until it is switched off, or the conversation is over: after a silence that would end a
session, or when a dropped line does not come back. It does not outlast the conversation, because
whoever starts the next one did not ask for it and would lose turns without knowing; it does outlast
a short disconnection, because the user who asked for it is still talking.
"""

from collections.abc import Callable
from datetime import datetime, timedelta

from slowcat_memory.runtime.conversation.session_tracker import SessionOptions


class OffRecord:
    """Whether what is said is kept: a state machine without a clock.

    Attributes:
        off: Nothing is kept.
    """

    def __init__(self, options: SessionOptions, on_change: Callable[[bool], None]) -> None:
        """Start on the record.

        Args:
            on_change: Called with the new value of ``off`` at each change.
        """
        self.off = False
        self._silence = timedelta(seconds=options.silence_s)
        self._grace = timedelta(seconds=options.resume_grace_s)
        self._on_change = on_change
        self._until: datetime | None = None  # when the conversation is over

    def set(self, off: bool) -> None:
        """Go off the record, or back on it."""
        if off:
            self._until = None  # until somebody speaks, the conversation cannot be over
        if off != self.off:
            self.off = off
            self._on_change(off)

    def touch(self, now: datetime) -> None:
        """Somebody speaks: the conversation goes on."""
        self.tick(now)
        self._until = now + self._silence

    def disconnected(self, now: datetime) -> None:
        """The line dropped; it may come back."""
        self.tick(now)
        self._until = now + self._grace

    def tick(self, now: datetime) -> None:
        """Go back on the record if the conversation is over."""
        if self._until is not None and now >= self._until:
            self.set(False)
