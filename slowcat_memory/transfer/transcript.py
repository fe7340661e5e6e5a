"""The text of a file, the formats that it may have, and the conversations that it becomes."""

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from functools import cached_property
from io import BytesIO
from itertools import count
from typing import Any

import msgspec
from msgspec import Raw, Struct

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
SAMPLE = 64_000  # bytes by which a format is recognised
MOST_VALUES = 5_000_000  # of a JSON text; each costs memory, however short it is
_JSON = re.compile(rb'\s*(?:\{|\[\s*[{"\[\]])')


class NotATranscriptError(TranscriptError):
    """The file is no transcript: in a folder or an archive, something that lies beside one."""


class Marked(Struct, frozen=True, kw_only=True):
    """The marks that a user gave to something."""

    pinned: bool = False  # always include it
    local_only: bool = False  # never send it to an LLM on another machine
    muted: bool = False  # keep it, and put it before no LLM


def marks_of(marked: Any) -> dict[str, bool]:
    """Return the marks of a piece of a transcript, or of a memory."""
    return {name: getattr(marked, name) for name in Marked.__struct_fields__}


class Utterance(Marked, frozen=True, kw_only=True):
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


class TranscriptSession(Struct, kw_only=True):
    """One session of a transcript."""

    id: str  # its name in the transcript, else its number
    started: datetime | None = None  # naive without a time zone
    utterances: list[Utterance] = []
    scope: str = ""  # the scope it was exported from; "" unless ``export`` wrote it
    numbered: bool = False  # whether its id is its number alone


class Note(Marked, frozen=True, kw_only=True):
    """A statement to store that was not said in a session."""

    text: str  # clean
    speaker: str = ""  # the person it is about, "" for the user
    at: datetime | None = None  # since when it holds
    importance: float = 0.8  # 0 to 1


class Transcript(Struct, kw_only=True):
    """One conversation of a file, with notes outside its sessions."""

    conversation: str
    scope: str = ""  # as in a session
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
        session = TranscriptSession(id=name, started=started, scope=self.scope, numbered=not label)
        self.current = self.every[name] = session
        return session


class Break(Struct, frozen=True, kw_only=True):
    """A session begins; without a ``label`` it is numbered."""

    line: int = 0
    label: str = ""
    started: datetime | None = None  # naive without a time zone


class Placed(Struct, frozen=True, kw_only=True):
    """An utterance or a note with its place in the file."""

    said: Utterance | Note
    line: int = 0  # of the file, or the number of its message; for faults
    session: str = ""  # the label of its session; "" for the one that is open
    scope: str = ""  # the scope it was exported from; "" unless ``export`` wrote it
    conversation: str = ""  # its conversation; "" for the file's only one


class Skipped(Struct, frozen=True, kw_only=True):
    """Something that is no turn, and is left out without a fault."""

    line: int
    why: str  # in the plural: "notices of the app"


Piece = Break | Placed | Skipped


class Text:
    """The content of a file, unpacked and in UTF-8.

    Attributes:
        name: For a person, with its archive's name.
        encoding: As it was read.
        changed: When it was last changed, as far as is known.
    """

    def __init__(
        self,
        name: str,
        content: bytes,
        encoding: str = "utf-8",
        changed: datetime = datetime.min.replace(tzinfo=UTC),
    ) -> None:
        """Keep the content, and look at its beginning."""
        self.name, self.content, self.encoding = name, content, encoding
        self.changed = changed
        self.is_json = _JSON.match(content) is not None
        self.is_list = self.is_json and content.lstrip().startswith(b"[")
        start = content[:SAMPLE].decode(errors="replace").splitlines()
        self.beginning = [line for line in start if line.strip()]

    def lines(self, report: Report) -> Iterator[Line]:
        """Yield the numbered lines without their ends; report those that are not UTF-8."""
        for number, raw in enumerate(BytesIO(self.content), start=1):
            try:
                yield number, raw.decode().rstrip("\r\n")
            except UnicodeDecodeError:
                report(fault(number, "not UTF-8"))

    @cached_property
    def objects(self) -> list[Raw]:
        """The values of a JSON list, or the only value of other JSON; none of another text.

        Raises:
            TranscriptError: The JSON is damaged.
        """
        if not self.is_json:
            return []
        content = self.content if self.is_list else b"[%b]" % self.content
        try:
            check_values(content)
            return msgspec.json.decode(content, type=list[Raw])
        except (ValueError, RecursionError) as error:
            hint = "Export it again: it may have been cut off."
            raise TranscriptError(f"{self.name} is damaged: {error}", hint=hint) from None

    @cached_property
    def keys(self) -> frozenset[str]:
        """The keys of the first of its JSON objects."""
        try:
            return frozenset(msgspec.json.decode(self.objects[0], type=dict[str, Raw]))
        except (IndexError, ValueError):
            return frozenset()


def check_values(text: bytes) -> None:
    """Refuse JSON of so many values that they would not fit into memory.

    Raises:
        ValueError: There are more than ``MOST_VALUES``.
    """
    if sum(map(text.count, (b",", b"[", b"{"))) > MOST_VALUES:
        raise ValueError(f"it has more than {MOST_VALUES:,} values")


class Format(Struct, frozen=True, kw_only=True):
    """One format of files.

    ``read`` yields a file's pieces in order; it reports what cannot be read, and goes on.
    """

    name: str  # for a person: "WhatsApp"
    knows: Callable[[Text], bool]
    read: Callable[[Text, Report], Iterator[Piece]]


def name_of(raw: object) -> str:
    return label_of(raw, NAME_CHARS)


def label_of(raw: object, most: int = LABEL_CHARS) -> str:
    return " ".join(clean("" if raw is None else str(raw), most)[0].split())


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


def utc(at: datetime, zone: tzinfo) -> datetime:
    return (at if at.tzinfo else at.replace(tzinfo=zone)).astimezone(UTC)
