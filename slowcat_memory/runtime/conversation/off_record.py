"""Whether a conversation is on the record."""

from collections.abc import Callable

from slowcat_memory.runtime.conversation import session_tracker
from slowcat_memory.runtime.conversation.session_tracker import SessionOptions

APPLICATION = ""  # begins and ends it for everybody


class OffRecord:
    """Whether turns are kept.

    While anybody has asked for it, turns are answered but not logged, indexed, embedded for keeping
    or entered into the ledger, whoever speaks, and what a recall leaves in caches is dropped at its
    end. Recall itself continues.

    It ends for a person who asked for it only by that person's own word, by the application, or
    with the conversation: after a silence that would end a session, or when a dropped connection
    does not return. It does not outlast the conversation, because the next user did not ask for it
    and would lose turns without knowing; it does outlast a short disconnection, because the user
    who asked for it is still talking. All this is measured by a monotonic clock: a step of the wall
    clock changes nothing.
    """

    def __init__(
        self,
        options: SessionOptions,
        on_change: Callable[[bool], None],
        monotonic: Callable[[], float] | None = None,
    ) -> None:
        """Start on the record.

        Args:
            on_change: Called with each new value of ``off``.
            monotonic: Returns seconds; None for ``session_tracker.monotonic``.
        """
        self._silence, self._grace = options.silence_s, options.resume_grace_s
        self._on_change = on_change
        self._monotonic = monotonic or (lambda: session_tracker.monotonic())
        self._by: set[str] = set()  # scopes, or the application
        self._until: float | None = None  # when the conversation is over

    @property
    def off(self) -> bool:
        """Whether nothing is kept."""
        return bool(self._by)

    def begin(self, by: str = APPLICATION) -> None:
        """Go off the record, at the wish of a scope's owner or of the application."""
        self._until = None  # until somebody speaks, the conversation cannot end
        self._set({*self._by, by})

    def end(self, by: str = APPLICATION) -> bool:
        """Withdraw a scope's wish, or everybody's for the application.

        Returns:
            Whether the conversation is on the record now; False if somebody else wants it off.
        """
        self._set(self._by - {by} if by != APPLICATION else set())
        return not self.off

    def touch(self) -> None:
        """Extend the conversation, because somebody speaks."""
        self.tick()
        self._until = self._monotonic() + self._silence

    def disconnected(self) -> None:
        """Start the grace period of a dropped connection."""
        self.tick()
        self._until = self._monotonic() + self._grace

    def tick(self) -> None:
        """End it if the conversation is over."""
        if self._until is not None and self._monotonic() >= self._until:
            self.end()

    def _set(self, by: set[str]) -> None:
        before, self._by = self.off, by
        if self.off != before:
            self._on_change(self.off)
