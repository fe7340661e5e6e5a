"""The gate that readers pass, and that the writer closes before it invalidates what they read."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager


class ReaderGate:
    """Admits many readers, or one thread that has closed it.

    Threads are inside for a read transaction, so for micro- to milliseconds. A thread that is
    inside may enter again while the gate closes, or it would wait for itself.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._inside = 0
        self._closed = False
        self._mine = threading.local()

    def is_inside(self) -> bool:
        return bool(getattr(self._mine, "depth", 0))

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Enter the gate; waits while it is closed."""
        depth = getattr(self._mine, "depth", 0)
        with self._changed:
            while self._closed and not depth:
                self._changed.wait()
            self._inside += 1
        self._mine.depth = depth + 1
        try:
            yield
        finally:
            self._mine.depth = depth
            with self._changed:
                self._inside -= 1
                self._changed.notify_all()

    @contextmanager
    def closed(self, timeout: float) -> Iterator[bool]:
        """Block new readers and wait until those inside have left; yield False on timeout."""
        deadline = time.monotonic() + timeout
        with self._changed:
            while self._closed:
                self._changed.wait()
            self._closed = True
            while self._inside and (left := deadline - time.monotonic()) > 0:
                self._changed.wait(left)
            empty = not self._inside
        try:
            yield empty
        finally:
            with self._changed:
                self._closed = False
                self._changed.notify_all()
