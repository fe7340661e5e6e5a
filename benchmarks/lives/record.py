"""What a memory showed during a life: plain values, from which the oracle judges."""

from datetime import date, datetime

from msgspec import Struct

Place = tuple[int, int, bool]
"""A turn's session, its exchange in it, and whether the agent said it."""


class Line(Struct, frozen=True):
    """One memory as it was worded in a block.

    Attributes:
        sources: The turns that it was made from.
        over: Whether the memory itself has ended.
    """

    text: str
    kind: str = ""
    sources: tuple[Place, ...] = ()
    over: bool = False


class Answer(Struct, frozen=True):
    """What was offered for a question.

    Attributes:
        ask: Its position in the life's questions.
        unknown: Whether the block says that nothing is stored.
        stage: How far recall came.
    """

    ask: int
    block: str
    lines: tuple[Line, ...] = ()
    unknown: bool = False
    stage: str = ""


class Derived(Struct, frozen=True):
    """A fact or a relation.

    Attributes:
        day: The day that it is dated to, if any.
        since: The day since when it is true.
        until: The day from which on it is no longer true, None while it is.
        retired: The day on which it was replaced.
    """

    id: str
    kind: str
    text: str
    sources: tuple[Place, ...]
    day: date | None = None
    since: date | None = None
    until: date | None = None
    retired: date | None = None

    def holds(self, on: date) -> bool:
        """Return whether it is believed, and true on a day that has come."""
        begun = self.since is None or self.since <= on
        return begun and self.retired is None and (self.until is None or self.until > on)


class Opener(Struct, frozen=True):
    """An icebreaker that a session was given."""

    at: datetime
    text: str
    sources: tuple[Place, ...] = ()


class Seen(Struct, frozen=True):
    """A text that was shown or spoken at a time: a head, or a spoken summary."""

    at: datetime
    text: str


class Held(Struct, frozen=True):
    """The facts and relations at a time."""

    at: datetime
    derived: tuple[Derived, ...]


class Record(Struct, frozen=True, kw_only=True):
    """All that a memory showed during a life."""

    answers: tuple[Answer, ...] = ()
    heads: tuple[Seen, ...] = ()
    openers: tuple[Opener, ...] = ()
    held: tuple[Held, ...] = ()
    spoken: tuple[Seen, ...] = ()
    seconds: float = 0.0
