"""How an event loop waits for a recall: one hop to a worker thread and back, or none.

A hop costs 0.03 to 0.1 ms on a quiet machine, and more where every core is busy: two threads must
be woken. When everything that a recall needs is at hand, it takes less than a millisecond, and runs
on the event loop itself. ``Pace`` decides that by how long recalls took lately.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

from slowcat_memory.runtime.recall.query import Recollection

QUICK_MS = 1.0  # of processor time: a recall that may hold the event loop
UNDISTURBED_MS = 4.0  # that it took in all; more means that it waited for a disk or a lock
WINDOW = 4  # recalls in a row that must have been quick
RECENT_S = 1.0  # since the last one: what it read is still in memory


async def ended_within(future: "Future[Any]", ms: float) -> bool:
    """Wait for a worker's future, on an event loop; the work continues after the timeout."""
    if future.done():
        return True
    loop = asyncio.get_running_loop()
    waiter: asyncio.Future[None] = loop.create_future()

    def wake() -> None:
        if not waiter.done():
            waiter.set_result(None)

    def ended(_: "Future[Any]") -> None:  # on the worker
        try:
            loop.call_soon_threadsafe(wake)
        except RuntimeError:  # the loop was closed meanwhile
            pass

    timer = loop.call_later(ms / 1e3, wake)
    future.add_done_callback(ended)
    try:
        await waiter
    finally:
        timer.cancel()
    return future.done()


class Pace:
    """How long recalls took lately without embedding, by the scopes they searched."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Start without any; ``clock`` is in monotonic seconds."""
        self._clock = clock
        self._took: dict[tuple[str, ...], deque[tuple[float, float]]] = {}
        self._ended: dict[tuple[str, ...], float] = {}

    @contextmanager
    def measured(self, scopes: Sequence[str], found: Sequence[Recollection]) -> Iterator[None]:
        """Measure a recall, which appends to ``found`` what it finds in each scope."""
        began, cpu = time.perf_counter(), time.thread_time()
        yield
        embedding = sum(one.timings.get("embed", 0.0) for one in found)
        spent = (time.thread_time() - cpu) * 1e3 - embedding
        self.add(scopes, spent, (time.perf_counter() - began) * 1e3 - embedding)

    def add(self, scopes: Sequence[str], cpu_ms: float, ms: float) -> None:
        """Add a recall that has just ended."""
        key = tuple(scopes)
        self._took.setdefault(key, deque(maxlen=WINDOW)).append((cpu_ms, ms))
        self._ended[key] = self._clock()

    def is_quick(self, scopes: Sequence[str]) -> bool:
        """Return whether the next recall in these scopes takes less than a millisecond.

        It is assumed after a few quick ones, the last of them a moment ago.
        """
        key = tuple(scopes)
        took = self._took.get(key, ())
        return (
            len(took) == WINDOW
            and self._clock() - self._ended[key] <= RECENT_S
            and all(cpu <= QUICK_MS and ms <= UNDISTURBED_MS for cpu, ms in took)
        )
