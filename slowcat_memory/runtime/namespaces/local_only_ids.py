"""Which of a scope's memories must not leave this machine."""

from pathlib import Path

import msgspec

from slowcat_memory.core.disclosure import local_only_ids
from slowcat_memory.records import Memory
from slowcat_memory.store import Snapshot, Store

FILE = "local.msgpack"  # of a sealed index: the ids at sealing


def stored_ids(snapshot: Snapshot, scope: str) -> frozenset[str]:
    """Return the ids of a scope's local-only memories. Reads all its memories."""
    return local_only_ids(list(snapshot.memories(scope)))


def write_ids(ids: frozenset[str], folder: Path) -> None:
    (folder / FILE).write_bytes(msgspec.msgpack.encode(sorted(ids)))


class MarkedIds:
    """The local-only ids of a sealed index, and the marks of what was read since then."""

    def __init__(self, folder: Path | None = None) -> None:
        """Read the ids of a sealed index's folder; without one they are unknown."""
        self._ids: set[str] | None = None
        if folder is not None:
            self._ids = msgspec.msgpack.decode((folder / FILE).read_bytes(), type=set[str])

    def see(self, memory_id: str, memory: Memory | None) -> None:
        """Take the mark of a memory that changed since; None for one that is gone."""
        if self._ids is not None:
            marked = memory is not None and memory.local_only
            (self._ids.add if marked else self._ids.discard)(memory_id)

    def all(self) -> frozenset[str] | None:
        """Return the ids; None if the sealed index does not have them."""
        return None if self._ids is None else frozenset(self._ids)


class LocalOnlyIds:
    """Ids of the memories that must not leave this machine."""

    def __init__(self, scope: str, store: Store, known: frozenset[str] | None = None) -> None:
        """Start with what is ``known``, else with what is in the store, read on first use."""
        self._scope, self._store = scope, store
        self._ids = known

    def __bool__(self) -> bool:
        """Whether any is known; False as well before the first use."""
        return bool(self._ids)

    def all(self) -> frozenset[str]:
        """Return the ids. The first call may read all memories."""
        if self._ids is None:
            with self._store.snapshot() as snapshot:
                self._ids = stored_ids(snapshot, self._scope)
        return self._ids

    def mark(self, memory_id: str, *, local: bool) -> None:
        if self._ids is not None and local != (memory_id in self._ids):
            self._ids = self._ids ^ {memory_id}
