"""The loaded namespaces and their users' names."""

import re
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from weakref import WeakSet

from slowcat_memory.core.disclosure import Called
from slowcat_memory.core.text.normalize import Tokenizer
from slowcat_memory.errors import ConfigError, StoreError
from slowcat_memory.runtime.namespaces.namespace import Namespace
from slowcat_memory.runtime.namespaces.sealing import SealOrder
from slowcat_memory.store import Snapshot, Store
from slowcat_memory.store.disk.folder import index_folder

ANONYMOUS = "User"  # the name where none is configured
SCOPE = re.compile(r"[a-z0-9_-]{1,64}")
FLUSH_S = 10.0


@dataclass(eq=False, repr=False)
class Namespaces:
    """Loads namespaces, and drops those that nobody uses. Safe to use from several threads.

    Attributes:
        order: Returns what a scope's index is made with.
        guest: The guests' scope, which is never indexed; "" for none.
        user_name: The configured name of users.
        users: Their names, each read with its namespace.
    """

    store: Store
    order: Callable[[str], SealOrder]
    tokenizer: Tokenizer
    hot_cache_size: int
    guest: str = ""
    give_way: Callable[[], None] = lambda: None
    user_name: str = ANONYMOUS

    def __post_init__(self) -> None:
        self.users = UserNames(self.store.snapshot, self.user_name)
        self._loaded: dict[str, Namespace] = {}
        self._alive = defaultdict[str, "WeakSet[Namespace]"](WeakSet)  # replaced ones too
        self._used: dict[str, float] = {}  # when each was used last, in monotonic seconds
        self._locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)

    def is_guests(self, scope: str) -> bool:
        return scope == self.guest != ""

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
            if time.monotonic() - self._used[scope] >= after_s and not self.store.unsaved():
                self._loaded.pop(scope).stop()

    def reload(self, scope: str) -> None:
        """Load a namespace again if it is loaded.

        Raises:
            StoreError: Turns wait to be saved: they would be missing.
        """
        with self._locks[scope]:
            if scope not in self._loaded:
                return
            if not self.store.flush(FLUSH_S):
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
        self.users.forget(scope)
        for namespace in alive:
            namespace.forget(gone)
            namespace.abandon_build()

    def _load(self, scope: str) -> Namespace:
        if self.is_guests(scope):
            raise ConfigError(
                f"{scope!r} is the guests' scope, which is not indexed",
                hint=f"To see what guests said: `slowcat-memory show --last 20 --scope {scope}`",
            )
        self.users.load(scope)
        root, order, size = index_folder(Path(), scope), self.order(scope), self.hot_cache_size
        opened = Namespace(order, self.store, root, self.tokenizer, size, self.give_way)
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


# ------------------------------------------------------------------- names of users
# What a scope's user is called where the speech recogniser names nobody: the configured name; else
# the name by which the user introduced themselves, which the latest such turn carries; else the
# scope's own, with a capital. Memories stored under an earlier of these names are shown under the
# present one.


DEFAULT_SCOPE = "user"
_LATEST = 200  # turns of a scope that are looked through for a name


def default_name(scope: str, configured: str) -> str:
    """Return the name of a user who has not introduced themselves."""
    if configured != ANONYMOUS or scope == DEFAULT_SCOPE:
        return configured
    return " ".join(part.capitalize() for part in scope.replace("-", "_").split("_") if part)


def learned_name(snapshot: Snapshot, scope: str, configured: str) -> str:
    """Return the name that a scope's user had last, "" if it was never learned or is configured."""
    if configured != ANONYMOUS:
        return ""
    latest = (turn for turn in snapshot.latest_turns(scope) if turn.role == "user")
    name = next((turn.speaker for turn in islice(latest, _LATEST) if turn.unnamed), "")
    return "" if name in (ANONYMOUS, default_name(scope, configured)) else name


class UserNames:
    """The names of scopes' users, read from the log once. Safe to use from several threads."""

    def __init__(
        self, snapshot: Callable[[], AbstractContextManager[Snapshot]], configured: str
    ) -> None:
        self._snapshot, self._configured = snapshot, configured
        self._learned: dict[str, str] = {}

    def load(self, scope: str) -> None:
        """Read a scope's name; until then, it has its default name."""
        if scope and scope not in self._learned:  # "" names nobody, and is refused elsewhere
            with self._snapshot() as snapshot:
                self._learned.setdefault(scope, learned_name(snapshot, scope, self._configured))

    def learn(self, scope: str, name: str) -> None:
        """Set a scope's name: that of a logged turn in which the recogniser named nobody."""
        self._learned[scope] = name

    def forget(self, *scopes: str) -> None:
        """Drop names that forgotten turns may have told, without scopes all; they are read again."""
        for scope in scopes or [*self._learned]:
            self._learned.pop(scope, None)

    def of(self, scope: str) -> str:
        return self._learned.get(scope) or default_name(scope, self._configured)

    def loaded(self, *scopes: str) -> tuple[Called, ...]:
        """Return what ``called`` does, after reading the scopes' names."""
        for scope in scopes:
            self.load(scope)
        return self.called(*scopes)

    def called(self, *scopes: str) -> tuple[Called, ...]:
        """Return the earlier default names by scope, with the present one."""
        return tuple(
            Called(scope, old, present)
            for scope in scopes
            for present in (self.of(scope),)
            for old in {ANONYMOUS, default_name(scope, self._configured)}
            if old != present and self._configured == ANONYMOUS
        )
