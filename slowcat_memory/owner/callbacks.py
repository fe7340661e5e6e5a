"""The thread on which an application's callbacks run, so that they may call the memory.

Events arise on the store's thread, on that of a connection, or on an event loop. A callback that
called the memory from one of these would deadlock.
"""

import queue
import threading
from collections.abc import Callable
from contextlib import suppress

from loguru import logger

from slowcat_memory.errors import describe_error
from slowcat_memory.metrics import Metrics

LIMIT = 10_000  # calls that wait; what comes then is dropped, and counted


class CallbackThread:
    """Calls functions one after another; its thread starts with the first. Any thread."""

    def __init__(self, metrics: Metrics) -> None:
        """Start nothing; ``metrics`` counts what is dropped."""
        self._metrics = metrics
        self._waiting: queue.Queue[Callable[[], object] | None] = queue.Queue(LIMIT)
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._ended = False

    def later(self, work: Callable[[], object]) -> None:
        """Queue a function; does nothing after ``end``."""
        with self._lock:
            if self._ended:
                return
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="slowcat-events", daemon=True
                )
                self._thread.start()
        try:
            self._waiting.put_nowait(work)
        except queue.Full:
            self._metrics.count("events_dropped")

    def end(self) -> None:
        """Refuse more, and let the thread end after what waits.

        Idempotent. Does not block, and may be called from a callback.
        """
        with self._lock:
            self._ended = True
        while True:
            with suppress(queue.Full):
                return self._waiting.put_nowait(None)
            with suppress(queue.Empty):
                self._waiting.get_nowait()
                self._metrics.count("events_dropped")

    def _run(self) -> None:
        while (work := self._waiting.get()) is not None:
            try:
                work()
            except Exception as error:  # the application's code
                logger.error(f"memory: a listener failed: {describe_error(error)}")
