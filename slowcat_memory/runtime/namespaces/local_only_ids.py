"""Which of a scope's memories must not leave this machine."""

from pathlib import Path

import msgspec

from slowcat_memory.core.disclosure import local_only_ids
from slowcat_memory.store import Snapshot, Store

FILE = "local.msgpack"  # of a sealed index: the ids at sealing


def stored_ids(snapshot: Snapshot, scope: str) -> frozenset[str]:
    """Return the ids of a scope's local-only memories. Reads all its memories."""
    return local_only_ids(list(snapshot.memories(scope)))


def write_ids(ids: frozenset[str], folder: Path) -> None:
    (folder / FILE).write_bytes(msgspec.msgpack.encode(sorted(ids)))


class LocalOnlyIds:
    """Ids of the memories that must not leave this machine."""

    def __init__(self, scope: str, store: Store, folder: Path | None = None) -> None:
        """Start with the ids in a sealed index's folder; else they are read on first use."""
        self._scope, self._store = scope, store
        self._ids: set[str] | None = None
        if folder is not None:
            self._ids = msgspec.msgpack.decode((folder / FILE).read_bytes(), type=set[str])
        self._all: frozenset[str] | None = None  # the same, until a mark changes

    def __bool__(self) -> bool:
        """Whether any is known; False as well before the first use."""
        return bool(self._ids)

    def all(self) -> frozenset[str]:
        """Return the ids. The first call may read all memories."""
        if self._ids is None:
            with self._store.snapshot() as snapshot:
                self._ids = set(stored_ids(snapshot, self._scope))
        if self._all is None:
            self._all = frozenset(self._ids)
        return self._all

    def mark(self, memory_id: str, *, local: bool) -> None:
        if self._ids is not None and local != (memory_id in self._ids):
            self._ids ^= {memory_id}
            self._all = None
