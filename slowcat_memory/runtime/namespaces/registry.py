"""The namespaces in use, each loaded when it is first needed."""

import hashlib
import re
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from slowcat_memory.core.text.normalize import Tokenizer
from slowcat_memory.errors import ConfigError, StoreError
from slowcat_memory.index import IndexOptions
from slowcat_memory.index.build import generation
from slowcat_memory.runtime.namespaces.namespace import Namespace, Space
from slowcat_memory.store import Store

SCOPE = re.compile(r"[a-z0-9_-]{1,64}")
FLUSH_S = 10.0


class Namespaces:
    """Loads scopes, and keeps them. Safe to use from several threads."""

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
            store: Where the log is.
            tokenizer: For documents and queries.
            options: The index's options.
            hot_cache_size: Latest memories that each keeps in memory.
            space: Tells the vector space in use.
            zone: The user's time zone, "" for this machine's.
            guest: The scope of which nothing is ever indexed, "" for none.
        """
        self._guest = guest
        self._store, self._tokenizer, self._options = store, tokenizer, options
        self._hot_cache_size, self._space, self._zone = hot_cache_size, space, zone
        self._loaded: dict[str, Namespace] = {}
        self._loading = threading.Lock()

    def is_guests(self, scope: str) -> bool:
        """Tell whether nothing of a scope is indexed.

        Args:
            scope: The scope.

        Returns:
            True for the guests'.
        """
        return bool(self._guest) and scope == self._guest

    def __contains__(self, scope: str) -> bool:
        return scope in self._loaded

    def __iter__(self) -> Iterator[Namespace]:
        return iter(list(self._loaded.values()))

    def get(self, scope: str) -> Namespace:
        """Return a scope's namespace; blocks while it is loaded.

        Args:
            scope: The scope.

        Returns:
            Its namespace.

        Raises:
            ConfigError: That is not a scope's name, or it is the guests'.
        """
        namespace = self._loaded.get(scope)
        if namespace is None:
            with self._loading:
                namespace = self._loaded.get(scope) or self._load(check_scope(scope))
                self._loaded[scope] = namespace
        return namespace

    def stop(self) -> None:
        """End the builds that run, and begin no other one."""
        for namespace in self:
            namespace.stop()

    def reload(self, scope: str) -> None:
        """Make a namespace anew from the store. To be called where turns are added.

        Args:
            scope: The scope; nothing happens when it is not loaded.

        Raises:
            StoreError: Turns wait to be saved: they would be missing.
        """
        if scope not in self._loaded:
            return
        if not self._store.flush(FLUSH_S):
            raise StoreError("an index is not loaded anew while turns wait to be saved")
        loaded = self._load(scope)
        loaded.local_only()  # read while nobody waits
        self._loaded[scope] = loaded

    def forget(self, scope: str, memory_ids: Iterable[str]) -> None:
        """Take memories out of a scope's index, and its sealed files, which hold words, off the disk.

        Args:
            scope: The scope.
            memory_ids: Ids of the memories.
        """
        if namespace := self._loaded.get(scope):
            namespace.forget(list(memory_ids))
        generation.sweep(self._root(scope))  # no manifest names them any more

    def _load(self, scope: str) -> Namespace:
        if self.is_guests(scope):
            raise ConfigError(
                f"{scope!r} is the guests' scope, of which nothing is indexed",
                hint="What guests said today: `slowcat-memory show --last 20 --scope "
                + scope
                + "`",
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
    """Tell where a scope's sealed index is.

    Args:
        store: The store's folder.
        scope: The scope.

    Returns:
        Its folder.
    """
    return store / "index" / hashlib.blake2b(scope.encode(), digest_size=8).hexdigest()


def check_scope(scope: str) -> str:
    """Refuse what cannot name a scope.

    Args:
        scope: The name.

    Returns:
        The same.

    Raises:
        ConfigError: It cannot.
    """
    if not SCOPE.fullmatch(scope):
        raise ConfigError(
            f"{scope!r} cannot name a scope",
            hint="Take 1 to 64 of: a-z, 0-9, '_' and '-'",
        )
    return scope
