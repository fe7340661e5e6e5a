"""Receipts of events that are resolved once the events are committed in the database."""

import heapq
import threading
from concurrent.futures import Future
from itertools import count

from slowcat_memory.errors import StoreError


class Receipts:
    """Receipts that wait for the log in the database. Any thread."""

    def __init__(self) -> None:
        self._waiting: list[tuple[int, int, Future[None]]] = []  # a heap, by log id
        self._order = count()
        self._done = 0  # highest log id that is committed in the database
        self._failed: StoreError | None = None
        self._lock = threading.Lock()

    def add(self, id_: int, future: "Future[None]") -> None:
        """Resolve a future when the event with a log id, which is saved here, is committed."""
        with self._lock:
            failed, done = self._failed, id_ <= self._done
            if failed is None and not done:
                heapq.heappush(self._waiting, (id_, next(self._order), future))
        if done:
            future.set_result(None)
        elif failed is not None:
            future.set_exception(failed)

    def settle(self, upto: int) -> None:
        """Resolve the receipts of events up to a log id."""
        done = list[Future[None]]()
        with self._lock:
            self._done = max(self._done, upto)
            while self._waiting and self._waiting[0][0] <= self._done:
                done.append(heapq.heappop(self._waiting)[2])
        for future in done:
            future.set_result(None)

    def fail(self, error: StoreError) -> None:
        """Fail every receipt that waits, and all later ones."""
        with self._lock:
            self._failed = error
            waiting, self._waiting = self._waiting, []
        for _, _, future in waiting:
            future.set_exception(error)
