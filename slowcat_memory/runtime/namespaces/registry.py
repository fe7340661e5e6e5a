"""The loaded namespaces, each loaded on first use, and the release of their pages when idle."""

import re
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path
from weakref import WeakSet

from loguru import logger

from slowcat_memory.core.text.normalize import Tokenizer
from slowcat_memory.errors import ConfigError, StoreError
from slowcat_memory.pages import mapped_mb, resident_mb
from slowcat_memory.runtime.namespaces.namespace import Namespace
from slowcat_memory.runtime.namespaces.sealing import SealOrder
from slowcat_memory.store import Store
from slowcat_memory.store.disk.folder import index_folder

Later = Callable[[Callable[[], None]], "Future[None] | None"]


class PageCache:
    """Releases pages of mapped files to the system after a while without recalls.

    Every query reads other pages, and some systems map two megabytes around each: eventually all
    files of the store and the indexes would count as this process's memory. A background worker
    releases them once no recall has come for a while; the next recall takes a few milliseconds
    longer at a million memories. With little memory they can be released after every recall.
    """

    def __init__(
        self,
        most_mb: float,
        after_s: float,
        releases: Sequence[Callable[[], None]],
        later: Later,
        measure: Callable[[], float] = mapped_mb,
        warn_mb: float = 0,
        resident: Callable[[], float] = resident_mb,
    ) -> None:
        """Connect the parts.

        Args:
            most_mb: Megabytes of mapped files above which they are released; 0 for never.
            after_s: Seconds without a recall until then, at most twice as many; 0 for after every
                recall.
            releases: Functions that release what they can, in some milliseconds.
            later: Runs a function on a worker that no turn waits for.
            warn_mb: Megabytes of the whole process above which a warning is logged once; 0 for
                never.
        """
        self._warn, self._resident, self._warned = warn_mb, resident, False
        self._most, self._releases, self._later = most_mb, releases, later
        self._measure = measure
        self._running: Future[None] | None = None
        self._after_each = most_mb > 0 and after_s <= 0
        self._recalls, self._stopped = 0, threading.Event()
        if most_mb > 0 and after_s > 0:
            threading.Thread(None, self._run, "slowcat-pages", (after_s,), daemon=True).start()

    def recalled(self) -> None:
        """Restart the idle period after a recall; takes microseconds."""
        self._recalls += 1
        if self._after_each:
            self._trim_later()

    def stop(self) -> None:
        self._stopped.set()

    def _run(self, after_s: float) -> None:
        seen, trimmed = 0, -1
        while not self._stopped.wait(after_s):
            if trimmed != seen == self._recalls:
                trimmed = seen
                self._trim_later()
            seen = self._recalls

    def trim(self) -> None:
        if self._measure() > self._most:
            for release in self._releases:
                release()
        if not self._warned and 0 < self._warn < (used := self._resident()):
            self._warned = True
            logger.warning(
                f"This process uses {used:,.0f} MB, more than memory.warn_mb ({self._warn:,.0f}). "
                'preset = "small" makes the memory smaller.'
            )

    def _trim_later(self) -> None:
        if self._running is None or self._running.done():
            self._running = self._later(self.trim)


SCOPE = re.compile(r"[a-z0-9_-]{1,64}")
FLUSH_S = 10.0


class Namespaces:
    """Loads namespaces, and drops those that nobody uses. Safe to use from several threads."""

    def __init__(
        self,
        store: Store,
        order: Callable[[str], SealOrder],
        tokenizer: Tokenizer,
        hot_cache_size: int,
        guest: str = "",
        give_way: Callable[[], None] = lambda: None,
    ) -> None:
        """Start with none loaded; the arguments are as for ``Namespace``.

        Args:
            order: Returns what a scope's index is made with.
            guest: The guests' scope, which is never indexed; "" for none.
        """
        self._guest, self._store, self._order = guest, store, order
        self._arguments = tokenizer, hot_cache_size, give_way
        self._loaded: dict[str, Namespace] = {}
        self._alive = defaultdict[str, "WeakSet[Namespace]"](WeakSet)  # replaced ones too
        self._used: dict[str, float] = {}  # when each was used last, in monotonic seconds
        self._locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)

    def is_guests(self, scope: str) -> bool:
        return scope == self._guest != ""

    def loaded(self, scope: str) -> Namespace | None:
        """Return a scope's namespace if it is loaded."""
        self._used[scope] = time.monotonic()
        return self._loaded.get(scope)

    def __iter__(self) -> Iterator[Namespace]:
        return iter([*self._loaded.values()])

    def get(self, scope: str) -> Namespace:
        """Return a scope's namespace; blocks while it is loaded, and for no other one.

        Raises:
            ConfigError: The scope's name is invalid, or it is the guests'.
        """
        namespace = self.loaded(scope)
        if namespace is None:
            with self._locks[check_scope(scope)]:
                namespace = self._loaded.get(scope) or self._load(scope)
                self._loaded[scope] = namespace
        return namespace

    def is_loading(self, scope: str) -> bool:
        return self._locks[scope].locked()

    def drop_unused(self, after_s: float = 1800.0, kept: int = 8) -> None:
        """Drop all but the latest used namespaces, a home's, if nobody used them for a while.

        Must be called on the thread that adds turns. All are kept while turns wait to be saved.
        """
        for scope in sorted([*self._loaded], key=self._used.__getitem__, reverse=True)[kept:]:
            if time.monotonic() - self._used[scope] >= after_s and not self._store.unsaved():
                self._loaded.pop(scope).stop()

    def reload(self, scope: str) -> None:
        """Load a namespace again if it is loaded.

        Raises:
            StoreError: Turns wait to be saved: they would be missing.
        """
        with self._locks[scope]:
            if scope not in self._loaded:
                return
            if not self._store.flush(FLUSH_S):
                raise StoreError("an index is not loaded again while turns wait to be saved")
            loaded = self._load(scope)
            loaded.finish_opening()  # now, so that no recall misses anything
            self._loaded[scope] = loaded

    def forget(self, scope: str, gone: set[str]) -> None:
        """Remove memories from a scope's index, and end a build that may have read them.

        The sealed files are the store's to delete. Waits while the scope is loaded or built. An
        index that was replaced or dropped still has its memories while a build or a recall uses it.
        """
        with self._locks[scope]:
            alive = [*self._alive[scope]]
        for namespace in alive:
            namespace.forget(gone)
            namespace.abandon_build()

    def _load(self, scope: str) -> Namespace:
        if self.is_guests(scope):
            raise ConfigError(
                f"{scope!r} is the guests' scope, which is not indexed",
                hint=f"To see what guests said: `slowcat-memory show --last 20 --scope {scope}`",
            )
        root = index_folder(Path(), scope)
        opened = Namespace(self._order(scope), self._store, root, *self._arguments)
        self._alive[scope].add(opened)
        return opened


def scope_of_user(user_id: str, what: str = "user_id") -> str:
    """Return the scope of a user: the id in lower case, so that "Anna" and "anna" are one person.

    Args:
        what: Name of the argument, for the error.

    Raises:
        ConfigError: The id has characters that no scope may have.
    """
    if SCOPE.fullmatch(scope := user_id.strip().casefold()):
        return scope
    raise ConfigError(
        f"{what} {user_id!r} cannot name a memory",
        hint="Use 1 to 64 letters a-z (of any case), digits, '_' and '-', such as 'anna'",
    )


def check_scope(scope: str) -> str:
    """Return a scope's name unchanged if it is valid, else raise ``ConfigError``."""
    if not SCOPE.fullmatch(scope):
        raise ConfigError(
            f"{scope!r} cannot name a scope", hint="Use 1 to 64 of: a-z, 0-9, '_' and '-'"
        )
    return scope
