"""How long to leave an LLM's server alone that is away."""

import asyncio
from datetime import datetime, timedelta
from typing import Protocol

from slowcat_memory.idle.scheduler.idle_gate import IdleGate

FIRST = timedelta(seconds=5)
LONGEST = timedelta(minutes=5)


class Breaker(Protocol):
    """Tells whether a server is worth asking."""

    async def ready(self) -> bool:
        """Tell whether to ask it now; may probe it, which takes seconds at most."""


async def is_ready(breaker: Breaker, gate: IdleGate) -> bool:
    """Ask a breaker while the gate is open: its probe ends, too, when somebody speaks.

    Args:
        breaker: Asked.
        gate: Ends it.

    Returns:
        What it says; False when it was ended, or failed.
    """
    loop = asyncio.get_running_loop()
    asking = loop.create_task(_call(breaker))

    def tell() -> None:
        try:
            loop.call_soon_threadsafe(asking.cancel)
        except RuntimeError:  # the event loop has ended
            pass

    end = gate.on_close(tell)
    try:
        if gate.opens_in():
            asking.cancel()
        await asyncio.wait((asking,))
    finally:
        end()
        asking.cancel()
    return not asking.cancelled() and asking.exception() is None and asking.result()


async def _call(breaker: Breaker) -> bool:
    return await breaker.ready()


class Away:
    """A breaker for whoever has none: after each failure in a row it waits twice as long."""

    def __init__(self) -> None:
        """Start ready."""
        self._rest = FIRST
        self._since: datetime | None = None

    def failed(self, now: datetime) -> None:
        """It did not answer.

        Args:
            now: The time, aware.
        """
        self._rest = FIRST if self._since is None else min(self._rest * 2, LONGEST)
        self._since = now

    def answered(self) -> None:
        """It is there."""
        self._since = None

    def ready(self, now: datetime) -> bool:
        """Tell whether to ask it now.

        Args:
            now: The time, aware. One before the failure is of a clock that was put back.

        Returns:
            False while it rests.
        """
        return self._since is None or not timedelta() <= now - self._since < self._rest
