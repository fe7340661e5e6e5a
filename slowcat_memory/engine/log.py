"""Appends turns and session edges to the log and makes turns findable, without blocking the loop."""

import asyncio
from collections.abc import Callable, Sequence

from slowcat_memory.engine.wiring import EngineWiring
from slowcat_memory.idle.scheduler.idle_gate import IdleGate
from slowcat_memory.records import Cursor, Event, SessionEdge
from slowcat_memory.runtime.namespaces.registry import check_scope
from slowcat_memory.store import Ack

ACTIVITY = "engine/append"  # the name under which an append closes the idle gate


class EventLog:
    """Appends events; each append also closes the idle gate for its grace period."""

    def __init__(
        self, wiring: EngineWiring, gate: IdleGate, on_session_end: Callable[[], object]
    ) -> None:
        self._wiring, self._gate, self._on_session_end = wiring, gate, on_session_end

    def append(self, event: Event, *, draft: bool = True) -> Ack:
        """Log an event and make a turn findable; see ``Memory.append``."""
        if event.scope not in self._wiring.namespaces:
            check_scope(event.scope)
        self._close_gate()
        ack = self._wiring.store.append(event, quiet=True)
        self._wiring.indexer.add((ack,), draft=draft)
        self._wake_soon()
        if isinstance(event, SessionEdge) and event.kind == "end":
            self._on_session_end()
        return ack

    def append_all(
        self, events: Sequence[Event], cursor: Cursor | None = None, *, draft: bool = False
    ) -> list[Ack]:
        """Log events in one transaction; see ``Memory.append_all``."""
        for event in events:
            check_scope(event.scope)
        self._close_gate()
        acks = self._wiring.store.append_all(events, cursor)
        self._wiring.indexer.add(acks, draft=draft)
        self._wake_soon()
        return acks

    def _close_gate(self) -> None:
        """Interrupt idle work; the gate opens again after its grace period."""
        self._gate.busy(ACTIVITY)
        self._gate.free(ACTIVITY)

    def _wake_soon(self) -> None:
        """Wake the writer and the indexer; on an event loop, after the caller has returned to it.

        Waking two threads costs 0.1 ms, which a frame need not wait for. It also lets a turn's own
        recall, asked before the loop runs on, go ahead of the turn (see ``Indexer.release``).
        """
        try:
            asyncio.get_running_loop().call_soon(self._wake)
        except RuntimeError:  # not on an event loop
            self._wake()

    def _wake(self) -> None:
        self._wiring.store.wake_writer()
        self._wiring.indexer.release()
