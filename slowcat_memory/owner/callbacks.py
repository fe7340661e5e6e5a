"""An application's callbacks, and the activities that it reports, for each engine that is opened.

Callbacks run on a thread of their own, so that they may call the memory. Events arise on the
store's thread, or on an event loop: a callback that called the memory from there would deadlock.
"""

import functools
import queue
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from loguru import logger

from slowcat_memory.engine import MemoryEngine
from slowcat_memory.errors import describe_error
from slowcat_memory.metrics import Metrics

LIMIT = 10_000  # calls that wait; what comes then is dropped, and counted
Callbacks = Mapping[str, Callable[..., Any]]


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


class CarriedOver:
    """Subscriptions and activities, passed on to one engine after another. Any thread."""

    def __init__(self, callbacks: CallbackThread) -> None:
        """Start with none; ``callbacks`` calls the application's functions."""
        self._callbacks = callbacks
        self._busy: set[str] = set()  # running activities
        self._subscribers: dict[object, Callbacks] = {}
        self._unsubscribe: dict[object, Callable[[], None]] = {}
        self._engine: MemoryEngine | None = None
        self._lock = threading.Lock()

    def pass_on_to(self, engine: MemoryEngine) -> None:
        """Register everything with an engine, which gets all that comes later too."""
        with self._lock:
            self._engine = engine
            for name in self._busy:
                engine.set_activity(name, True)
            for key, callbacks in self._subscribers.items():
                self._unsubscribe[key] = self._subscribe_to(engine, callbacks)

    def set_activity(self, name: str, busy: bool) -> None:
        with self._lock:
            if busy:
                self._busy.add(name)
            elif name.endswith("/"):
                self._busy = {one for one in self._busy if not one.startswith(name)}
            else:
                self._busy.discard(name)
            if self._engine is not None:
                self._engine.set_activity(name, busy)

    def subscribe(self, callbacks: Callbacks) -> Callable[[], None]:
        """Subscribe callbacks, by name; return what ends it."""
        key = object()
        with self._lock:
            self._subscribers[key] = callbacks
            if self._engine is not None:
                self._unsubscribe[key] = self._subscribe_to(self._engine, callbacks)

        def end() -> None:
            with self._lock:
                self._subscribers.pop(key, None)
                unsubscribe = self._unsubscribe.pop(key, None)
            if unsubscribe:
                unsubscribe()

        return end

    def _subscribe_to(self, engine: MemoryEngine, callbacks: Callbacks) -> Callable[[], None]:
        return engine.subscribe(**{name: self._later(one) for name, one in callbacks.items()})

    def _later(self, callback: Callable[..., Any]) -> Callable[..., None]:
        return lambda *happened: self._callbacks.later(functools.partial(callback, *happened))
