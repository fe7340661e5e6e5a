"""The content of a transcript, and how its utterances are grouped into sessions.

A label groups turns wherever they stand. Without labels, a session ends where the file says so, or
after an hour without a turn.
"""

from collections.abc import Callable
from datetime import datetime, timedelta

from msgspec import Struct

from slowcat_memory.core.text.normalize import clean
from slowcat_memory.errors import TranscriptError
from slowcat_memory.records import Channel, Role

Line = tuple[int, str]  # number from 1, text without its end
PACE = timedelta(seconds=10)  # between turns when a transcript gives no times
GAP = timedelta(hours=1)  # longest pause within an unlabelled session

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


class SessionGrouper:
    """Puts utterances, as they come, into sessions.

    A label names a session wherever its turns stand. Without one, a new session begins when told
    to, and after more than an hour without a word.
    """

    def __init__(self, scope: str = "") -> None:
        """Start empty.

        Args:
            scope: The scope the sessions were exported from, else "".
        """
        self._scope = scope
        self._turns: dict[str, list[Utterance]] = {}
        self._started: dict[str, datetime | None] = {}
        self._open = ""
        self._last: datetime | None = None

    def begin(self, label: str = "", started: datetime | None = None) -> None:
        """Begin a session.

        Args:
            label: Its name; "" numbers it.
        """
        number = len(self._turns) + 1
        self._open = label or str(number)
        if label in self._turns:  # two sessions under one heading
            self._open = f"{label} ({number})"
        self._turns[self._open], self._started[self._open] = [], started
        self._last = started

    def add(self, utterance: Utterance, label: str = "") -> None:
        """Add an utterance to its session.

        Args:
            label: Its session's name, "" when the transcript has no names for sessions.
        """
        if label:
            self._turns.setdefault(label, []).append(utterance)
            return
        if not self._open or self._after_gap(utterance):
            self.begin()
        self._last = utterance.at or self._last
        self._turns[self._open].append(utterance)

    def _after_gap(self, utterance: Utterance) -> bool:
        if utterance.at is None or self._last is None or not self._turns[self._open]:
            return False
        if (utterance.at.tzinfo is None) != (self._last.tzinfo is None):
            return False
        return utterance.at - self._last > GAP

    def append_line(self, more: str) -> bool:
        """Go on with the latest utterance.

        Returns:
            False when there is none to go on with.
        """
        turns = self._turns.get(self._open)
        if not turns:
            return False
        last = turns[-1]
        turns[-1] = Utterance(
            speaker=last.speaker,
            text=f"{last.text}\n{more}".strip(),
            role=last.role,
            at=last.at,
            origin=last.origin,
        )
        return True

    def sessions(self) -> tuple[TranscriptSession, ...]:
        """Return what was gathered.

        Returns:
            Sessions in the order in which they began; those without a word are left out.
        """
        return tuple(
            TranscriptSession(
                id=label,
                started=self._started.get(label),
                utterances=tuple(turns),
                scope=self._scope,
            )
            for label, turns in self._turns.items()
            if turns
        )
