"""The readers' gate: closed for the moment in which the map grows or the file is swapped."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager


class ReaderGate:
    """Many readers or one closer.

    Threads hold it for a read transaction, so for micro- to milliseconds. A thread that is inside
    may enter again while the gate closes, or it would wait for itself.
    """

    def __init__(self) -> None:
        """Start open."""
        self._changed = threading.Condition()
        self._inside = 0
        self._closed = False
        self._mine = threading.local()

    def holds(self) -> bool:
        """Tell whether the calling thread is inside.

        Returns:
            True when it is.
        """
        return bool(getattr(self._mine, "depth", 0))

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Be inside.

        Yields:
            Nothing.
        """
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
        """Keep new readers out and wait until those inside have left.

        Args:
            timeout: Seconds to wait for them.

        Yields:
            True when nobody is inside; False when somebody stayed.
        """
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
