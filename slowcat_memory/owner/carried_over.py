"""What each memory that a process comes to use must know: its subscriptions and activities."""

import functools
import threading
from collections.abc import Callable, Mapping
from typing import Any

from slowcat_memory.engine import MemoryEngine
from slowcat_memory.owner.callbacks import CallbackThread
from slowcat_memory.owner.client import RemoteMemory

Target = MemoryEngine | RemoteMemory
Callbacks = Mapping[str, Callable[..., Any]]


class CarriedOver:
    """Subscriptions and activities, passed on to one target after another. Any thread."""

    def __init__(self, callbacks: CallbackThread) -> None:
        """Start with none; ``callbacks`` calls the application's functions."""
        self._callbacks = callbacks
        self._busy: set[str] = set()  # running activities
        self._subscribers: dict[object, Callbacks] = {}
        self._unsubscribe: dict[object, Callable[[], None]] = {}
        self._target: Target | None = None
        self._lock = threading.Lock()

    def pass_on_to(self, target: Target) -> None:
        """Register everything with a target, which gets all that comes later too."""
        with self._lock:
            self._target = target
            for name in self._busy:
                target.set_activity(name, True)
            for key, callbacks in self._subscribers.items():
                self._unsubscribe[key] = self._subscribe_to(target, callbacks)

    def set_activity(self, name: str, busy: bool) -> None:
        with self._lock:
            if busy:
                self._busy.add(name)
            elif name.endswith("/"):
                self._busy = {one for one in self._busy if not one.startswith(name)}
            else:
                self._busy.discard(name)
            if self._target is not None:
                self._target.set_activity(name, busy)

    def subscribe(self, callbacks: Callbacks) -> Callable[[], None]:
        """Subscribe callbacks, by name; return what ends it."""
        key = object()
        with self._lock:
            self._subscribers[key] = callbacks
            if self._target is not None:
                self._unsubscribe[key] = self._subscribe_to(self._target, callbacks)

        def end() -> None:
            with self._lock:
                self._subscribers.pop(key, None)
                unsubscribe = self._unsubscribe.pop(key, None)
            if unsubscribe:
                unsubscribe()

        return end

    def _subscribe_to(self, target: Target, callbacks: Callbacks) -> Callable[[], None]:
        """Subscribe; the callbacks run on the thread of callbacks, whoever owns the store."""
        if isinstance(target, RemoteMemory):
            return target.subscribe(**callbacks)
        return target.subscribe(**{name: self._later(one) for name, one in callbacks.items()})

    def _later(self, callback: Callable[..., Any]) -> Callable[..., None]:
        return lambda *happened: self._callbacks.later(functools.partial(callback, *happened))
