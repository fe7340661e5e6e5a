"""Keeps warm what the next recall touches, from the first sound of a voice until its turn comes.

After a pause a recall takes half as long again, in every step alike: model, index, pages and the
code itself have left the processor's caches, or memory. So while somebody speaks, a recall whose
result is thrown away runs now and then, at most for ``SHARE`` of one core; once when they fall
silent, because the turn comes now; and while a recogniser works on what they said, which takes
seconds for one that transcribes whole utterances. Nothing runs when nobody speaks.

Called on the event loop only; recalls run elsewhere.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future

from loguru import logger

from slowcat_memory.errors import describe_error

EVERY_S = 0.1  # between two recalls at least
SHARE = (
    0.015  # of one core, while somebody speaks; the rest of two percent is the event loop's part
)
FIRST_S = 0.005  # of processor time: what a recall is taken to cost before one was measured
SETTLE_S = 10.0  # after the voice: a turn later than this is not expected any more
LOST_S = 60.0  # after the last sign of a voice whose end was lost

Touch = Callable[[], "Future[float] | None"]
"""Begins a recall whose result is thrown away, without blocking; its future has the processor time in
seconds. None if there is nothing to warm now."""


class Warmup:
    """Warms up for one conversation."""

    def __init__(self, touch: Touch, loop: asyncio.AbstractEventLoop) -> None:
        """Start silent."""
        self._touch, self._loop = touch, loop
        self._next: asyncio.TimerHandle | None = None
        self._until = float("-inf")  # when to stop, by the loop's clock
        self._not_before = float("-inf")
        self._running: Future[float] | None = None
        self._cost_s = FIRST_S

    @property
    def is_active(self) -> bool:
        """Whether somebody speaks, or their turn is about to come."""
        return self._next is not None

    def speaks(self) -> None:
        """Begin, or go on: somebody speaks."""
        self._until = self._loop.time() + LOST_S
        if self._next is None:
            self._tick()

    def falls_silent(self) -> None:
        """Warm up once more, and go on until the turn comes, or seconds later."""
        if self._next is not None:
            self._until = self._loop.time() + SETTLE_S
            self._not_before = self._loop.time()
            self._tick()

    def warmed(self) -> None:
        """Count a recall that runs by itself: the next one to throw away is due later."""
        self._not_before = self._loop.time() + self._pause_s()

    def stop(self) -> None:
        """End: the turn has come, or the conversation is over."""
        if self._next is not None:
            self._next.cancel()
            self._next = None

    def _tick(self) -> None:
        if self._next is not None:
            self._next.cancel()
            self._next = None
        now = self._loop.time()
        if now >= self._until:
            return
        if now >= self._not_before and not self._is_running():
            try:
                self._running = self._touch()
            except Exception as error:  # a store or an engine that is being closed
                logger.debug("memory: not warmed up: {}", describe_error(error))
                return
            self._not_before = now + self._pause_s()
        pause = max(self._not_before - now, EVERY_S / 4)
        self._next = self._loop.call_later(pause, self._tick)

    def _is_running(self) -> bool:
        """Return whether the last one still runs; if it has ended, take over its cost."""
        last = self._running
        if last is None:
            return False
        if last.done() and not last.cancelled() and last.exception() is None:
            self._cost_s = last.result()
            self._running = None
        return not last.done()

    def _pause_s(self) -> float:
        return max(EVERY_S, self._cost_s / SHARE)
