"""The namespaces in use, each loaded on first use."""

import hashlib
import re
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from slowcat_memory.core.text.normalize import Tokenizer
from slowcat_memory.errors import ConfigError, StoreError
from slowcat_memory.index import IndexOptions
from slowcat_memory.index.build import generation
from slowcat_memory.runtime.namespaces.documents import Space
from slowcat_memory.runtime.namespaces.namespace import Namespace
from slowcat_memory.store import Store

SCOPE = re.compile(r"[a-z0-9_-]{1,64}")
FLUSH_S = 10.0


class Namespaces:
    """Loads namespaces and keeps them. Safe to use from several threads."""

    def __init__(
        self,
        store: Store,
        tokenizer: Tokenizer,
        options: IndexOptions,
        hot_cache_size: int,
        space: Callable[[], Space],
        zone: str = "",
        guest: str = "",
    ) -> None:
        """Start with none loaded.

        Args:
            hot_cache_size: How many of the latest memories each keeps in memory.
            zone: The user's time zone, "" for this machine's.
            guest: The guests' scope, which is never indexed; "" for none.
        """
        self._guest = guest
        self._store, self._tokenizer, self._options = store, tokenizer, options
        self._hot_cache_size, self._space, self._zone = hot_cache_size, space, zone
        self._loaded: dict[str, Namespace] = {}
        self._loading = threading.Lock()

    def is_guests(self, scope: str) -> bool:
        """Return whether a scope is the guests', which is never indexed."""
        return bool(self._guest) and scope == self._guest

    def __contains__(self, scope: str) -> bool:
        return scope in self._loaded

    def __iter__(self) -> Iterator[Namespace]:
        return iter(list(self._loaded.values()))

    def get(self, scope: str) -> Namespace:
        """Return a scope's namespace; blocks while it is loaded.

        Raises:
            ConfigError: The scope's name is invalid, or it is the guests'.
        """
        namespace = self._loaded.get(scope)
        if namespace is None:
            with self._loading:
                namespace = self._loaded.get(scope) or self._load(check_scope(scope))
                self._loaded[scope] = namespace
        return namespace

    def stop(self) -> None:
        """Kill running builds, and start no other."""
        for namespace in self:
            namespace.stop()

    def reload(self, scope: str) -> None:
        """Load a namespace again if it is loaded. Must be called on the thread that adds turns.

        Raises:
            StoreError: Turns wait to be saved: they would be missing.
        """
        if scope not in self._loaded:
            return
        if not self._store.flush(FLUSH_S):
            raise StoreError("an index is not loaded again while turns wait to be saved")
        loaded = self._load(scope)
        loaded.local_only()  # read now: no recall waits for it
        self._loaded[scope] = loaded

    def forget(self, scope: str, memory_ids: Iterable[str]) -> None:
        """Remove memories from a scope's index, and delete its sealed files, which hold words."""
        if namespace := self._loaded.get(scope):
            namespace.forget(list(memory_ids))
        generation.sweep(self._root(scope))  # no manifest names them now

    def _load(self, scope: str) -> Namespace:
        if self.is_guests(scope):
            raise ConfigError(
                f"{scope!r} is the guests' scope, which is not indexed",
                hint=f"To see what guests said: `slowcat-memory show --last 20 --scope {scope}`",
            )
        return Namespace(
            scope,
            self._store,
            self._root(scope),
            self._tokenizer,
            self._options,
            self._space(),
            self._hot_cache_size,
            self._zone,
        )

    def _root(self, scope: str) -> Path:
        return index_root(self._store.path, scope)


def index_root(store: Path, scope: str) -> Path:
    """Return the folder of a scope's sealed index, below the store's folder."""
    return store / "index" / hashlib.blake2b(scope.encode(), digest_size=8).hexdigest()


def check_scope(scope: str) -> str:
    """Return a scope's name unchanged if it is valid.

    Raises:
        ConfigError: It is not.
    """
    if not SCOPE.fullmatch(scope):
        raise ConfigError(
            f"{scope!r} cannot name a scope",
            hint="Use 1 to 64 of: a-z, 0-9, '_' and '-'",
        )
    return scope
