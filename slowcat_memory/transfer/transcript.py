"""The content of a transcript: utterances in sessions, and notes."""

from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import count
from typing import Any

from msgspec import Struct

from slowcat_memory.core.text.normalize import clean
from slowcat_memory.errors import TranscriptError
from slowcat_memory.records import Channel, Role

Line = tuple[int, str]  # number from 1, text without its end
PACE = timedelta(seconds=10)  # between turns when a transcript gives no times

Report = Callable[[TranscriptError], None]
"""Called with an error for each unreadable part of a transcript; the rest is read."""

NAME_CHARS, LABEL_CHARS = 64, 200
YEARS = 1900, 3000  # of a turn
AGENTS = frozenset({"assistant", "agent", "bot", "ai", "model"})


class Utterance(Struct, frozen=True, kw_only=True):
    """One turn of a transcript."""

    speaker: str  # "" when the transcript does not name one
    text: str  # clean, not empty
    role: Role = "user"
    at: datetime | None = None  # naive without a time zone, None without a time
    origin: str = ""  # its id in the transcript, else its line number
    cut: int = 0  # characters removed at the end because it was too long
    channel: Channel = "text"
    interrupted: bool = False
    aside: bool = False  # a voice command, or the answer to one
    tools: tuple[str, ...] = ()
    pinned: bool = False  # the user asked to always include it
    local_only: bool = False  # never send it to an LLM on another machine
    muted: bool = False  # keep it, and put it before no LLM
    # role and speaker as the file has them, where the user said who is who; None otherwise
    written: tuple[str, str] | None = None

    def who(self) -> tuple[str, str]:
        """Return role and speaker as the file has them: they stay the same in every import."""
        return self.written or (self.role, self.speaker)


class TranscriptSession(Struct, kw_only=True):
    """One session of a transcript."""

    id: str  # its name in the transcript, else its number
    started: datetime | None = None  # naive without a time zone
    utterances: list[Utterance] = []
    scope: str = ""  # the scope it was exported from; "" unless ``export`` wrote it
    numbered: bool = False  # whether its id is its number alone


class Note(Struct, frozen=True, kw_only=True):
    """A statement to store that was not said in a session."""

    text: str  # clean
    speaker: str = ""  # the person it is about, "" for the user
    at: datetime | None = None  # since when it holds
    pinned: bool = False
    importance: float = 0.8  # 0 to 1
    local_only: bool = False  # never send it to an LLM on another machine
    muted: bool = False  # keep it, and put it before no LLM


class Transcript(Struct, kw_only=True):
    """One conversation of a file, with notes outside its sessions; ``scope`` as in a session."""

    conversation: str
    scope: str = ""
    notes: list[Note] = []
    every: dict[str, TranscriptSession] = {}  # by id, also those in which nothing was said
    current: TranscriptSession | None = None  # that goes on while its file is read

    @property
    def sessions(self) -> list[TranscriptSession]:
        return [session for session in self.every.values() if session.utterances]

    @property
    def turns(self) -> int:
        return sum(len(session.utterances) for session in self.sessions)

    def begin(self, label: str = "", started: datetime | None = None) -> TranscriptSession:
        """Begin a session; without a ``label``, and with one that is taken, it is numbered."""
        name, numbers = label, count(len(self.every) + 1)
        while not name or name in self.every:
            name = f"{label} ({next(numbers)})" if label else str(next(numbers))
        made = TranscriptSession(id=name, started=started, scope=self.scope, numbered=not label)
        self.current = self.every[name] = made
        return made


def name_of(raw: object) -> str:
    return " ".join(clean("" if raw is None else str(raw), NAME_CHARS)[0].split())


def label_of(raw: object) -> str:
    return " ".join(clean("" if raw is None else str(raw), LABEL_CHARS)[0].split())


def text_of(content: Any) -> str:
    """Return the text of a message's content: a string, or a list of strings and text parts."""
    if isinstance(content, list):
        return "".join(map(text_of, content))
    text = content.get("text") if isinstance(content, dict) else content
    return text if isinstance(text, str) else ""


def role_of(speaker: str) -> Role:
    return "assistant" if speaker.casefold() in AGENTS else "user"


def time_of(raw: object) -> datetime | None:
    """Parse an ISO 8601 date or time, naive without a time zone; None for None and "".

    Raises:
        ValueError: It is not a time.
    """
    if raw is None or raw == "":
        return None
    try:
        at = datetime.fromisoformat(raw.strip() if isinstance(raw, str) else "")
    except ValueError:
        raise ValueError(f"{str(raw)[:40]!r} is not a time such as 2024-05-12T18:30") from None
    if not YEARS[0] <= at.year <= YEARS[1]:
        raise ValueError(f"the year {at.year} is not between {YEARS[0]} and {YEARS[1]}")
    return at


def fault(line: int, reason: object) -> TranscriptError:
    """Return the error for an unreadable line; lines count from 1."""
    return TranscriptError(f"line {line}: {reason}")
