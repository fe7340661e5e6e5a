"""A client's own view of the store's file: opened once, read-only, kept open."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from slowcat_memory.store import Snapshot, Store, StoreOptions


class ReadOnlyStore:
    """Opens the store for its first snapshot. Any thread.

    LMDB may have a file open once in a process, so it must be closed before this process owns it.
    """

    def __init__(self, folder: Path, options: StoreOptions) -> None:
        self._folder, self._options = folder, options
        self._store: Store | None = None
        self._lock = threading.Lock()

    @contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        """Open a consistent view of the committed rows.

        Raises:
            StoreError: It cannot be read.
        """
        with self._opened().snapshot() as snapshot:
            yield snapshot

    def _opened(self) -> Store:
        with self._lock:
            if self._store is None:
                self._store = Store.open(self._folder, readonly=True, options=self._options)
            return self._store

    def close(self) -> None:
        """Close it, once nothing is read any more; it opens again for the next snapshot."""
        with self._lock:
            store, self._store = self._store, None
            if store is not None:
                store.close()
