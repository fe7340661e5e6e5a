"""What is said enters the log, and becomes findable. Neither blocks the event loop."""

import asyncio
from collections.abc import Sequence

from slowcat_memory.engine.idle import Thinking
from slowcat_memory.engine.upkeep import Upkeep
from slowcat_memory.records import Cursor, Event, SessionEdge
from slowcat_memory.runtime.namespaces.registry import check_scope
from slowcat_memory.store import Ack

SAYING = "engine/said"  # to the gate


class Saying(Upkeep):
    """Takes what is said."""

    _thinking: Thinking

    def append(self, event: Event, *, draft: bool = True) -> Ack:
        """Log an event, and make a turn findable. Neither blocks nor waits.

        Args:
            event: An unnumbered turn or session edge.
            draft: Whether to embed it soon; False when bulk embedding follows.

        Returns:
            Resolves once the event is durable; carries its number.

        Raises:
            StoreFullError: So much waits to be saved that nothing more is taken.
            ConfigError: Its scope is not a scope's name.
        """
        if event.scope not in self._namespaces:
            check_scope(event.scope)
        self._spoken()
        ack = self.store.append(event, quiet=True)
        self._indexer.add((ack,), draft=draft)
        self._soon()
        if isinstance(event, SessionEdge) and event.kind == "end":
            self._session_ended()
        return ack

    def append_all(
        self, events: Sequence[Event], cursor: Cursor | None = None, *, draft: bool = False
    ) -> list[Ack]:
        """Log events in one transaction.

        Args:
            events: Unnumbered, in order.
            cursor: Moved in the same transaction.
            draft: As in ``append``.

        Returns:
            An ack for each event.
        """
        for event in events:
            check_scope(event.scope)
        self._spoken()
        acks = self.store.append_all(events, cursor)
        self._indexer.add(acks, draft=draft)
        self._soon()
        return acks

    def _spoken(self) -> None:
        """Stop thinking: somebody is there. The gate opens again after its grace."""
        self._thinking.gate.busy(SAYING)
        self._thinking.gate.free(SAYING)

    def _session_ended(self) -> None:
        """Erase what is due, where no idle job sees to it."""
        if not self.config.idle.enabled:
            self._indexer.later(self.erase_due)
            self._indexer.later(self.erase_expired)

    def _soon(self) -> None:
        """Wake the writer and the indexer: on an event loop, once the caller has gone on.

        Waking two threads costs 0.1 ms, which a frame need not wait for. It also lets a turn's own
        recall, asked before the loop runs on, go ahead of the turn (see ``Indexer.release``).
        """
        try:
            asyncio.get_running_loop().call_soon(self._wake)
        except RuntimeError:  # not on an event loop
            self._wake()

    def _wake(self) -> None:
        self.store.wake_writer()
        self._indexer.release()
