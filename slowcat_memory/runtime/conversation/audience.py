"""Maps speakers to scopes: where their words are stored, and what may be recalled for them.

Speaker ids come from the STT, a transport or the application; they are not verified here. Only ids
that the application names are known. All functions are pure.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from msgspec import Meta, Struct

from slowcat_memory.core.disclosure import Reader
from slowcat_memory.errors import ConfigError
from slowcat_memory.runtime.namespaces.registry import check_scope, scope_of_user


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
        self._household = check_scope(options.household) if options.household else ""
        self.guest = check_scope(options.guest) if self.apart else ""
        if speakers and not self.apart:
            raise ConfigError(
                "speakers have scopes of their own, but people.scopes is 'one'",
                hint="Set [people] scopes = 'each', or pass speaker_names for names alone",
            )
        if self.apart and self._household in {self.guest, *self.people}:
            raise ConfigError(
                f"the household {self._household!r} is a person's scope too",
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
        shared = (self._household,) if self._household else ()
        return tuple(dict.fromkeys((*self.people, *shared)))

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
        shared = (self._household,) if self._household else ()
        own = tuple(dict.fromkeys(scopes))
        return tuple(dict.fromkeys((*own, *shared))) if len(own) == 1 else shared
