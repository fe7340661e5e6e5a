"""Maps speakers to scopes: where their words are stored, what may be recalled for them, their names.

Speaker ids come from the STT, a transport or the application; they are not verified here. Only ids
that the application names are known.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import islice
from typing import Annotated, Literal

from msgspec import Meta, Struct

from slowcat_memory.core.disclosure import Called, Reader
from slowcat_memory.errors import ConfigError
from slowcat_memory.runtime.namespaces.registry import check_scope, scope_of_user
from slowcat_memory.store.snapshot import Snapshot


class PeopleOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who shares which memory, where several people talk to one agent.

    Attributes:
        scopes: "one": everybody in a conversation shares its ``user_id``. "each": every known
            speaker has a scope of their own, others are guests. Not the default, since it needs an
            STT that tells speakers apart.
        household: A scope that every known speaker reads beside their own, "" for none. A
            conversation writes there only on purpose, as does `slowcat-memory remember`.
        guest: The scope of unknown speakers, with "each". What they say is logged and never
            indexed, embedded or recalled. What the scope already holds is treated alike.
        guest_hours: Hours until what a guest said is erased: long enough to look up what a visitor
            said today, and no longer. 0 erases it at the next idle run.
        strip_on_change: With "each", remove blocks of other people's memories from the LLM's
            context when another user speaks. It costs the LLM's prefix cache once per change.
    """

    scopes: Literal["one", "each"] = "one"
    household: str = ""
    guest: str = "guest"
    guest_hours: Annotated[float, Meta(ge=0, le=87_600)] = 24.0
    strip_on_change: bool = True


def guest_scope(options: PeopleOptions) -> str:
    return options.guest if options.scopes == "each" else ""


def reader_of(
    options: PeopleOptions, *scopes: str, local: bool = False, muted: bool = False
) -> Reader:
    """Return who reads some namespaces, for ``core.disclosure``; that of guests is left out.

    Args:
        local: Whether the texts stay on this machine: the LLM that reads them runs here.
        muted: Whether a person reads them, and no LLM: muted memories are included.
    """
    return Reader(frozenset(scopes) - {guest_scope(options)}, local, muted=muted)


class Audience:
    """The speakers of one conversation.

    ``apart``: each known speaker has a scope of their own. ``guest`` is "" without guests.
    """

    def __init__(
        self, options: PeopleOptions, own: str, speakers: Mapping[str, str] | None = None
    ) -> None:
        """Set the known speakers.

        Args:
            own: The conversation's own scope, for speakers without an id.

        Raises:
            ConfigError: An invalid scope name, or a scope with two roles.
        """
        self.apart = options.scopes == "each"
        self._own = scope_of_user(own)
        self._speakers = {id_: check_scope(scope) for id_, scope in (speakers or {}).items()}
        self._shared = (check_scope(options.household),) if options.household else ()
        self.guest = check_scope(options.guest) if self.apart else ""
        if speakers and not self.apart:
            raise ConfigError(
                "speakers have scopes of their own, but people.scopes is 'one'",
                hint="Set [people] scopes = 'each', or pass speaker_names for names alone",
            )
        if self.apart and {self.guest, *self.people}.intersection(self._shared):
            raise ConfigError(
                f"the household {options.household!r} is a person's scope too",
                hint="Give it a name of its own: it is written only on purpose",
            )
        if self.apart and self._own == self.guest:
            raise ConfigError(
                f"user_id {self._own!r} is the guests' scope", hint="Change people.guest"
            )

    @property
    def people(self) -> tuple[str, ...]:
        known = (scope for scope in self._speakers.values() if scope != self.guest)
        return tuple(dict.fromkeys((self._own, *known)))

    @property
    def recallable(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.people, *self._shared)))

    def scope_of(self, speaker: str) -> str:
        """Return a speaker's scope: the conversation's own without an id, guests' if unknown."""
        if not self.apart or not speaker:
            return self._own
        return self._speakers.get(speaker, self.guest)

    def named_scope(self, person: str) -> str:
        return person if self.apart and person in self.people else self.scope_of(person)

    def greeted_scope(self, person: str) -> str:
        """Return the scope whose memory may be in the system instruction, which all turns share.

        Args:
            person: The user as named by the application, may be empty.

        Returns:
            "" if people have scopes of their own, and no user is named.
        """
        return self.named_scope(person) if person or not self.apart else ""

    def readable(self, scopes: Sequence[str]) -> tuple[str, ...]:
        """Return the scopes that all speakers of a turn may read.

        One speaker's own and the household's; the household's alone for several; none with a guest.
        """
        if self.guest and self.guest in scopes:
            return ()
        own = tuple(dict.fromkeys(scopes))
        return tuple(dict.fromkeys((*own, *self._shared))) if len(own) == 1 else self._shared


# ------------------------------------------------------------------- names
# What a scope's user is called where the speech recogniser names nobody: the configured name; else
# the name by which the user introduced themselves, which the latest such turn carries; else the
# scope's own, with a capital. Memories stored under an earlier of these names are shown under the
# present one.


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
