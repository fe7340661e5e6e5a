"""Whose memory is whose: which scope a person's words go to, and which scopes may be read to them.

The ids of speakers come from a recogniser, a transport or the application; a voice's owner is not
checked here. Only those ids that the application names are known. Everything is a value: what is
decided here is carried out elsewhere.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Annotated, Literal

from msgspec import Meta, Struct

from slowcat_memory.errors import ConfigError
from slowcat_memory.records import Forget
from slowcat_memory.runtime.namespaces.registry import check_scope


class PeopleOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whose memory is whose, where several people talk to one agent.

    Attributes:
        scopes: "one": everybody in a conversation shares its ``user_id``. "each": what a person
            said is theirs alone; who is not known is a guest. Not the default, since it needs a
            recogniser that tells voices apart.
        household: A scope that everybody known reads beside their own, "" for none. Nothing is
            written there in a conversation: only on purpose, as by `slowcat-memory remember`.
        guest: The scope of people who are not known, with "each". What they say is logged and
            never indexed, embedded or recalled. What the scope already holds is treated alike.
        guest_hours: Hours until what a guest said is erased: long enough to look up what a visitor
            said today, and no longer. 0 erases it in the next quiet minute.
        strip_on_change: With "each", take blocks of other people's memories out of the LLM's
            context when another person speaks. It costs the LLM's prefix cache once per change.
    """

    scopes: Literal["one", "each"] = "one"
    household: str = ""
    guest: str = "guest"
    guest_hours: Annotated[float, Meta(ge=0)] = 24.0
    strip_on_change: bool = True


def guest_scope(options: PeopleOptions) -> str:
    """Tell which scope is the guests'.

    Args:
        options: The options.

    Returns:
        The scope, "" when nobody is a guest.
    """
    return options.guest if options.scopes == "each" else ""


def expired(options: PeopleOptions, now: datetime) -> Forget:
    """Say what of the guests is to be erased.

    Args:
        options: The options, with "each".
        now: The time.

    Returns:
        The wish to forget.
    """
    return Forget(scope=options.guest, until=now - timedelta(hours=options.guest_hours))


class Audience:
    """The people of one conversation.

    Attributes:
        apart: Each has a scope of their own.
        guest: The guests' scope, "" when nobody is a guest.
    """

    def __init__(
        self, options: PeopleOptions, own: str, speakers: Mapping[str, str] | None = None
    ) -> None:
        """Name the people who are known.

        Args:
            options: The rules.
            own: The conversation's own scope: of those whom nothing tells apart.
            speakers: Scopes by the recogniser's ids of speakers.

        Raises:
            ConfigError: A name that cannot be a scope, or a scope that is two things at once.
        """
        self.apart = options.scopes == "each"
        self._own = check_scope(own)
        self._speakers = {id_: check_scope(scope) for id_, scope in (speakers or {}).items()}
        self._household = check_scope(options.household) if options.household else ""
        self.guest = check_scope(options.guest) if self.apart else ""
        if speakers and not self.apart:
            raise ConfigError(
                "speakers have scopes of their own, but people.scopes is 'one'",
                hint="Set [people] scopes = 'each', or give speaker_names to tell names alone",
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
        """Scopes of everybody known, the conversation's own first."""
        known = (scope for scope in self._speakers.values() if scope != self.guest)
        return tuple(dict.fromkeys((self._own, *known)))

    @property
    def remembered(self) -> tuple[str, ...]:
        """Every scope that may be recalled from here."""
        shared = (self._household,) if self._household else ()
        return tuple(dict.fromkeys((*self.people, *shared)))

    def scope_of(self, speaker: str) -> str:
        """Tell whose words these are.

        Args:
            speaker: The recogniser's id, may be empty.

        Returns:
            A scope: the conversation's own when nothing tells who speaks, the guests' when it is
            nobody known.
        """
        if not self.apart or not speaker:
            return self._own
        return self._speakers.get(speaker, self.guest)

    def named(self, person: str) -> str:
        """Tell whose words these are when the application says who speaks.

        Args:
            person: A recogniser's id, or the scope of somebody known.

        Returns:
            A scope.
        """
        return person if self.apart and person in self.people else self.scope_of(person)

    def greeted(self, person: str) -> str:
        """Tell whose memory may stand in the system instruction, which everybody's turns follow.

        Args:
            person: Who is there, as the application says, "" when it does not.

        Returns:
            A scope, "" for nobody's: where people have scopes of their own, and nobody is named.
        """
        return self.named(person) if person or not self.apart else ""

    def reads(self, scopes: Sequence[str]) -> tuple[str, ...]:
        """Tell which scopes may be read to those who speak.

        Args:
            scopes: Of everybody who speaks in one turn.

        Returns:
            What all of them may read: one's own and the household's to one person, the household's
            alone to several, nothing where a guest is among them.
        """
        if self.guest and self.guest in scopes:
            return ()
        shared = (self._household,) if self._household else ()
        own = tuple(dict.fromkeys(scopes))
        return tuple(dict.fromkeys((*own, *shared))) if len(own) == 1 else shared
