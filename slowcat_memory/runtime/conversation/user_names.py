"""What a scope's user is called where the speech recogniser names nobody.

The configured name; else the name by which the user introduced themselves, which the latest such
turn carries; else the scope's own, with a capital. Memories stored under an earlier of these names
are shown under the present one.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from itertools import islice

from slowcat_memory.core.disclosure import Called
from slowcat_memory.store.snapshot import Snapshot

ANONYMOUS = "User"  # the name where none is configured
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
