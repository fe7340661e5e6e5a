"""A life: what was true of a person on each day, what was said, and what is asked.

Generated lives and hand-written diaries are the same `Life`, so one player and one oracle judge both.
A diary is a TOML file with these fields (``load``).
"""

from collections.abc import Iterator
from datetime import date, datetime
from pathlib import Path
from typing import Literal

import msgspec

Kind = Literal[
    "fact",  # the user states something that is true of the life: `says` or `ends` names it
    "correction",  # the user corrects what the agent or they themselves said
    "question",  # the user asks the agent for something of the life
    "small talk",  # nothing of it should be kept as a fact
    "hypothetical",  # "if I moved to Rome, …"
    "joke",
    "quote",  # "in the film she says: I live in Paris"
    "other",  # another person's fact, stated as such: `says` may name a claim with that subject
    "command",  # a voice command
]
Outcome = Literal["happened", "moved", "cancelled", "open"]
FOLDER = Path(__file__).parents[1] / "data" / "diaries"
# Of these slots a subject has one claim at a time: a new one ends the one before.
EXCLUSIVE = frozenset({"home", "job", "employer", "partner", "diet", "phone", "car"})


class Claim(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One thing that is true of a life for a span of days.

    Attributes:
        id: Unique in the life.
        subject: "user", or the name of the person or animal that it is about.
        slot: What it is about. Claims of one subject in a slot of ``EXCLUSIVE`` end each other; others are open ("sister", "brother",
            "mother", "father", "son", "daughter", "friend", "colleague", "boss", "dog", "cat", "pet",
            "likes", "dislikes", "allergy", "condition", "hobby", "goal", "plan", "appointment",
            "event", "thread" (an open matter), "decision", "purchase", "success").
        value: The value in few words: "Leeds", "nurse", "coffee", "dentist appointment".
        words: Alternatives, any of which shows that a text carries the value (case-insensitive).
        begins: First day on which it is true; None for before the first day.
        ends: First day on which it is no longer true; None if it holds to the end.
        on: The day on which a dated event takes place, or took place; None for a state.
        outcome: What became of a dated event or an open matter.
        opposite: Id of the claim that contradicts this one and cannot hold with it ("likes coffee" and
            "dislikes coffee").
    """

    id: str
    subject: str
    slot: str
    value: str
    words: tuple[str, ...]
    begins: date | None = None
    ends: date | None = None
    on: date | None = None
    outcome: Outcome | None = None
    opposite: str | None = None

    def holds(self, on: date) -> bool:
        """Return whether it is true on a day."""
        begun = self.begins is None or self.begins <= on
        return begun and (self.ends is None or self.ends > on)


class Exchange(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One utterance of the user and the agent's reply.

    Attributes:
        user: The words, as a speech recogniser writes them.
        agent: The reply; empty when the agent says nothing.
        kind: What kind of utterance it is.
        says: Ids of the claims that it states; for a dated event also those that move or cancel it.
        ends: Ids of the claims that it says are over.
        wording: Id of the wording it was rendered from; empty in a diary.
        when: The words that name a day, as they stand in it; empty for none, and in a diary.
        asks: Ids of the claims that answer a question.
    """

    user: str
    agent: str = ""
    kind: Kind = "small talk"
    says: tuple[str, ...] = ()
    ends: tuple[str, ...] = ()
    wording: str = ""
    when: str = ""
    asks: tuple[str, ...] = ()


class Session(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One conversation; exchanges are about 20 seconds apart.

    Attributes:
        at: When it begins, local time of the user, naive.
        turns: What is said, in order.
    """

    at: datetime
    turns: tuple[Exchange, ...]


class Ask(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A question that the memory must serve, asked in a fresh session and not stored.

    Attributes:
        at: When it is asked, local time, naive.
        question: The user's words.
        expect: Ids of the claims of which each must be in the memory block (any word of `words`).
        reject: Ids of claims that are over (or untrue) and must not be offered as if they held.
        unknown: True when nothing in the life answers it.
    """

    at: datetime
    question: str
    expect: tuple[str, ...] = ()
    reject: tuple[str, ...] = ()
    unknown: bool = False


class Life(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A person's truth, conversations and questions.

    Attributes:
        name: Id of the life.
        language: Of the conversations: "en" or "de".
        user: Given name of the person who speaks.
        voice: How they speak, in one line, for a reader.
        lower_case: The recogniser writes neither capitals nor punctuation.
        claims: All that is true, of the user and those around them.
        sessions: In order of time.
        asks: In order of time.
        half: "held out" lives and wordings judge the rules; "tuned" ones may be looked at.
    """

    name: str
    language: Literal["en", "de"]
    user: str
    voice: str
    claims: tuple[Claim, ...]
    sessions: tuple[Session, ...]
    asks: tuple[Ask, ...]
    lower_case: bool = False
    half: Literal["tuned", "held out"] = "held out"


def load(path: Path) -> Life:
    """Read a diary.

    Raises:
        msgspec.MsgspecError: It is no valid TOML of a `Life`.
    """
    return msgspec.toml.decode(path.read_bytes(), type=Life)


def diaries() -> Iterator[Life]:
    """Yield the hand-written diaries by name: lives of two to four weeks."""
    for path in sorted(FOLDER.glob("*.toml")):
        yield load(path)
