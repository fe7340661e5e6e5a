"""What a transcript says, before any of it is in a log."""

from collections.abc import Callable
from datetime import datetime

from msgspec import Struct

from slowcat_memory.core.text.normalize import clean
from slowcat_memory.errors import TranscriptError
from slowcat_memory.records import Channel, Role

Report = Callable[[TranscriptError], None]
"""Told of each part of a transcript that cannot be read; the rest is read all the same."""

NAME_CHARS, LABEL_CHARS = 64, 200
AGENTS = frozenset({"assistant", "agent", "bot", "ai", "model"})


class Utterance(Struct, frozen=True, kw_only=True):
    """One turn of a transcript.

    Attributes:
        speaker: Who said it, "" when the transcript does not say.
        text: What was said, clean, not empty.
        role: Whether a person or an agent said it.
        at: When, as the transcript says it: naive when it names no time zone, None when no time.
        origin: Its id in the transcript; the number of its line when it has none.
        cut: Characters left out at the end because it was too long to keep.
        channel: Spoken or typed.
        interrupted: The user cut the agent off.
        aside: It was said to the memory, or by it.
        tools: Names of the tools that the agent used.
        pinned: A person asked that it always counts.
        local_only: It must never go before an LLM on another machine.
    """

    speaker: str
    text: str
    role: Role = "user"
    at: datetime | None = None
    origin: str = ""
    cut: int = 0
    channel: Channel = "text"
    interrupted: bool = False
    aside: bool = False
    tools: tuple[str, ...] = ()
    pinned: bool = False
    local_only: bool = False


class TranscriptSession(Struct, frozen=True, kw_only=True):
    """One session of a transcript.

    Attributes:
        id: Its name in the transcript; its number when it has none.
        started: When it began; naive when no time zone is named.
        utterances: In order.
        scope: The scope it was exported from; "" unless our own ``export`` wrote it.
    """

    id: str
    started: datetime | None
    utterances: tuple[Utterance, ...]
    scope: str = ""


class Note(Struct, frozen=True, kw_only=True):
    """A statement to keep that nobody said in a session.

    Attributes:
        text: The statement, clean.
        speaker: Whom it is about, "" for the user.
        at: Since when it holds.
        pinned: Whether it always counts.
        importance: 0 to 1.
        local_only: Whether it must never go before an LLM on another machine.
    """

    text: str
    speaker: str = ""
    at: datetime | None = None
    pinned: bool = False
    importance: float = 0.8
    local_only: bool = False


class Transcript(Struct, frozen=True, kw_only=True):
    """One conversation of a file.

    Attributes:
        conversation: Its name.
        sessions: In order.
        notes: Statements that belong to no session.
        scope: The scope it was exported from; "" unless our own ``export`` wrote it.
    """

    conversation: str
    sessions: tuple[TranscriptSession, ...]
    notes: tuple[Note, ...] = ()
    scope: str = ""

    @property
    def turns(self) -> int:
        """How many turns it holds."""
        return sum(len(session.utterances) for session in self.sessions)


def name_of(raw: object) -> str:
    """Make a speaker's name from whatever a transcript calls them.

    Args:
        raw: The name, None when there is none.
    """
    return " ".join(clean("" if raw is None else str(raw), NAME_CHARS)[0].split())


def label_of(raw: object) -> str:
    """Make an id that can be kept from whatever a transcript calls a session or a turn.

    Args:
        raw: The id, None when there is none.
    """
    return " ".join(clean("" if raw is None else str(raw), LABEL_CHARS)[0].split())


def role_of(speaker: str) -> Role:
    """Tell from a speaker's name who speaks."""
    return "assistant" if speaker.casefold() in AGENTS else "user"


def time_of(raw: object) -> datetime | None:
    """Read a time.

    Args:
        raw: ISO 8601, a date or a date with a time; None or "" when there is none.

    Returns:
        The time, naive when it names no time zone.

    Raises:
        ValueError: It is no time.
    """
    if raw is None or raw == "":
        return None
    try:
        at = datetime.fromisoformat(raw.strip() if isinstance(raw, str) else "")
    except ValueError:
        raise ValueError(f"{str(raw)[:40]!r} is not a time such as 2024-05-12T18:30") from None
    if not 1 < at.year < 9999:  # a change of time zone could leave the calendar
        raise ValueError(f"{at.year} is not a year that can be kept")
    return at


def fault(line: int, reason: object) -> TranscriptError:
    """Make the error for a line that cannot be read.

    Args:
        line: Its number, from 1.
    """
    return TranscriptError(f"line {line}: {reason}")
