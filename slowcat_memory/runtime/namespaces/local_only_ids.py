"""Which of a scope's memories must not leave this machine."""

from collections.abc import Iterable

from slowcat_memory.core.disclosure import local_only_ids
from slowcat_memory.store import Store


class LocalOnlyIds:
    """Ids of the memories that must not leave this machine; read from the store on first use."""

    def __init__(self, scope: str, store: Store) -> None:
        self._scope, self._store = scope, store
        self._ids: frozenset[str] | None = None

    def __bool__(self) -> bool:
        """Whether any is known; False as well before the first use."""
        return bool(self._ids)

    def all(self) -> frozenset[str]:
        """Return the ids. The first call reads all memories."""
        if self._ids is None:
            self._ids = self._stored()
        return self._ids

    def reload(self, pending: Iterable[str]) -> frozenset[str]:
        """Read the ids again; return those that were added or removed.

        ``pending`` are the ids of local-only turns that are not stored yet.
        """
        before = self._ids or frozenset()
        self._ids = self._stored().union(pending)
        return self._ids ^ before

    def mark(self, memory_id: str, *, local: bool) -> None:
        if self._ids is not None and local != (memory_id in self._ids):
            self._ids = self._ids ^ {memory_id}

    def _stored(self) -> frozenset[str]:
        with self._store.snapshot() as snapshot:
            return local_only_ids(list(snapshot.memories(self._scope)))
