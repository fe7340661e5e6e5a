"""Reads the files of a path: their formats, conversations and sessions, and who speaks in them.

A path is a file, a folder or a zip archive, or a folder of archives. Nothing is unpacked to disk. The
bytes that are read of it are limited as a whole, those of archives as they are unpacked.

Pieces with the same label form one session, wherever they stand. Without labels, a session ends
where the file says so, or after an hour without a turn. Each conversation and each exporting scope
of a file has sessions of its own.
"""

import codecs
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from functools import partial
from pathlib import Path, PurePath
from typing import IO, Any

from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory.errors import ConfigError, TranscriptError
from slowcat_memory.runtime.namespaces.registry import check_scope
from slowcat_memory.transfer import transcript
from slowcat_memory.transfer.formats import HINT, recognise
from slowcat_memory.transfer.transcript import PACE, NotATranscriptError, Report, Text, Transcript

MOST_BYTES = 100_000_000  # of what one path stands for, unpacked
UTF8 = "utf-8"
ZIP = b"PK\x03\x04"
BROKEN = (EOFError, zipfile.BadZipFile, NotImplementedError, RuntimeError, zlib.error)
START, PART = 4096, 1_000_000  # bytes that tell text, and bytes that tell its encoding
_TEXT_CONTROLS = frozenset(b"\t\n\r\f\x1b")  # a few others are accepted
GAP = timedelta(hours=1)  # longest pause within an unlabelled session
MOST_FAULTS = 1000  # that are kept of a file


class Options(Struct, frozen=True, kw_only=True):
    """How a file is read.

    Attributes:
        scoped: Whether a line's own scope must be a valid name, as it will be used.
        me: The name in the file of the user; "" when the file says it, or nothing does.
        agents: The names in the file of agents, besides "Assistant" and the like.
        latest: Turns later than this are left out and reported; None to take them.
        zone: Of times without a zone.
    """

    scoped: bool = True
    me: str = ""
    agents: frozenset[str] = frozenset()
    latest: datetime | None = None
    zone: tzinfo = UTC


class FileReading:
    """A file, read.

    Attributes:
        text: The file.
        format: Its format.
        conversations: Their names, one for each scope that they were exported from.
        sessions: How many there are.
        turns: How many there are.
        notes: How many there are.
        undated: How many turns are in conversations that have no date at all.
        span: The first and the last time, none without any.
        speakers: How many turns each has, by name and role.
        skipped: How many things are left out, by what they are.
        faults: What could not be read, at most ``MOST_FAULTS``.
        unreadable: How many there are of them.
    """

    def __init__(self, text: Text, options: Options) -> None:
        """Read a file.

        Raises:
            TranscriptError: It is of no known format, or damaged.
        """
        self.text, self._options = text, options
        self._chats: dict[tuple[str, str], Transcript] = {}  # by conversation and scope
        self.speakers, self.skipped = Counter[tuple[str, str]](), Counter[str]()
        self.faults, self.unreadable = list[TranscriptError](), 0
        self.format = recognise(text)
        late = False  # whether the session that is open is left out
        for piece in self.format.read(text, self._fail):
            if isinstance(piece, transcript.Skipped):
                self.skipped[piece.why] += 1
            elif isinstance(piece, transcript.Break):
                late = self._is_late(piece.line, piece.started)
                if not late:
                    self._chat("", "").begin(piece.label, piece.started)
            elif not late:
                self._take(piece)
        chats = self._chats.values()
        every = [at for chat in chats for at in self._times(chat)]
        self.conversations = [chat.conversation for chat in chats]
        self.sessions = sum(len(chat.sessions) for chat in chats)
        self.notes = sum(len(chat.notes) for chat in chats)
        self.undated = sum(chat.turns for chat in chats if not self._times(chat))
        self.turns = self.speakers.total()
        self.span: tuple[datetime, ...] = (min(every), max(every)) if every else ()

    def _fail(self, error: TranscriptError) -> None:
        self.unreadable += 1
        if len(self.faults) < MOST_FAULTS:
            self.faults.append(error)

    def _chat(self, conversation: str, scope: str) -> Transcript:
        # Without a name of its own it has that of the file, without endings.
        name = conversation or self.text.name.replace("\\", "/").rpartition("/")[2].split(".")[0]
        new = Transcript(conversation=name, scope=scope)
        return self._chats.setdefault((conversation, scope), new)

    def _take(self, piece: transcript.Placed) -> None:
        if self._options.scoped and piece.scope:
            try:
                check_scope(piece.scope)
            except ConfigError as error:
                return self._fail(transcript.fault(piece.line, error))
        if self._is_late(piece.line, piece.said.at):
            return
        chat = self._chat(piece.conversation, piece.scope)
        if isinstance(piece.said, transcript.Note):
            chat.notes.append(piece.said)
            return
        session = chat.current
        if label := piece.session:
            new = transcript.TranscriptSession(id=label, scope=piece.scope)
            session = chat.every.setdefault(label, new)
        elif session is None or _is_over(session, piece.said.at):
            session = chat.begin()
        utterance, name = piece.said, piece.said.speaker.casefold()
        if name and name == self._options.me.casefold():
            utterance = replace(utterance, speaker="", role="user")
        elif name in self._options.agents:
            utterance = replace(utterance, role="assistant")
        self.speakers[utterance.speaker, utterance.role] += 1
        session.utterances.append(utterance)

    def _is_late(self, line: int, at: datetime | None) -> bool:
        """Return whether a time is in the future; then it is reported."""
        latest = self._options.latest
        if latest is None or at is None or transcript.utc(at, self._options.zone) <= latest:
            return False
        reason, hint = f"dated in the future: {at:%Y-%m-%d %H:%M}", "Correct it in the file."
        self._fail(TranscriptError(f"line {line}: {reason}", hint=hint))
        return True

    def transcripts(self, undated: datetime | None = None) -> Iterator[Transcript]:
        """Yield the conversations; each session has a start.

        It is the session's own, that of its first turn, or the end of the session before.

        Args:
            undated: When the first turn of a conversation without any date was said; None for so
                long before the file was changed that its last turn is no later.
        """
        for chat in self._chats.values():
            turns = [turn.at for session in chat.sessions for turn in session.utterances]
            after = undated or self.text.changed - PACE * len(turns)
            if times := self._times(chat):
                before = next((n for n, at in enumerate(turns) if at is not None), len(turns))
                after = min(times) - PACE * before
            for session in chat.sessions:
                utterances = session.utterances
                session.started = session.started or utterances[0].at or after
                last = next((turn.at for turn in reversed(utterances) if turn.at is not None), None)
                after = last + PACE if last else session.started + PACE * len(utterances)
            yield chat

    def _times(self, chat: Transcript) -> list[datetime]:
        """Return every time of a conversation, in UTC."""
        times = [session.started for session in chat.sessions]
        times += [turn.at for session in chat.sessions for turn in session.utterances]
        return [transcript.utc(at, self._options.zone) for at in times if at is not None]


def _is_over(session: transcript.TranscriptSession, at: datetime | None) -> bool:
    """Return whether a turn at a time is too late to belong to a session."""
    if at is None or not session.utterances:
        return False
    last = next((turn.at for turn in reversed(session.utterances) if turn.at), session.started)
    return (
        last is not None and (at.tzinfo is None) == (last.tzinfo is None) and abs(at - last) > GAP
    )


class TooMuchError(TranscriptError):
    """A path stands for more than may be read of one."""


class FileReadings:
    """The files of a path, in the order of their names, each as it is read."""

    def __init__(self, path: Path, options: Options, report: Report, beside: Report) -> None:
        """Only look at the path while it is iterated.

        Args:
            path: A file, a folder or a zip archive.
            options: How each file is read.
            report: Called with an error for each file of a folder or an archive that cannot be read.
            beside: Called for each of them that is no transcript, such as a picture.
        """
        self._path, self._options, self._report, self._beside = path, options, report, beside
        self._bytes = MOST_BYTES

    def __iter__(self) -> Iterator[FileReading]:
        """Read one file after the other.

        Raises:
            TranscriptError: The path, or the only file that it stands for, cannot be read; or there
                is too much of it.
        """
        path = self._path
        if path.exists() and not path.is_file() and not path.is_dir():
            raise TranscriptError(f"cannot read {path}: it is no file and no folder")
        if not path.is_dir():
            try:
                with path.open("rb") as file:
                    yield from self._opened(str(path), _changed(path), file)
            except OSError as error:
                raise TranscriptError(f"cannot read {path}: {error.strerror or error}") from error
            return
        for inside in sorted(path.rglob("*")):
            name = inside.relative_to(path)
            if not _is_hidden(name) and not inside.is_symlink() and inside.is_file():
                yield from self._inside(str(name), inside, partial(inside.open, "rb"))

    def _inside(
        self, name: str, where: Path | zipfile.ZipInfo, open_: Callable[[], Any]
    ) -> Iterator[FileReading]:
        """Read a file of a folder or an archive; report what cannot be read."""
        try:
            with open_() as file:
                yield from self._opened(name, _changed(where), file)
        except TooMuchError:
            raise
        except NotATranscriptError as error:
            self._beside(error)
        except TranscriptError as error:
            self._report(error)
        except OSError as error:
            self._report(TranscriptError(f"cannot read {name}: {error.strerror or error}"))
        except BROKEN as error:
            self._report(TranscriptError(f"{name} is damaged: {error}", hint="Unpack the archive."))

    def _opened(self, name: str, changed: datetime, file: IO[bytes]) -> Iterator[FileReading]:
        """Read a file, or those of an archive."""
        start = file.read(START)
        if not start.startswith(ZIP):
            yield FileReading(self._text(name, changed, start, file), self._options)
            return
        if isinstance(file, zipfile.ZipExtFile):
            raise TranscriptError(f"{name} is an archive in an archive", hint="Unpack it.")
        try:
            archive = zipfile.ZipFile(file)
        except BROKEN as error:
            raise TranscriptError(f"{name} is damaged: {error}") from error
        for member in sorted(archive.infolist(), key=lambda entry: entry.filename):
            if not member.is_dir() and not _is_hidden(PurePath(member.filename)):
                opened = partial(archive.open, member)
                yield from self._inside(f"{name}/{member.filename}", member, opened)

    def _text(self, name: str, changed: datetime, start: bytes, file: IO[bytes]) -> Text:
        """Return the text of a file that begins with ``start``.

        Raises:
            TooMuchError: There is too much of it.
        """
        encoding = _encoding(name, start)
        content = start + file.read(self._bytes + 1)
        self._bytes -= len(content)
        if self._bytes < 0:
            hint = "Import its files one by one, and a long chat in parts."
            most = f"{MOST_BYTES // 10**6} MB"
            raise TooMuchError(f"{self._path} is more than {most} when it is unpacked", hint=hint)
        if not content.strip():
            raise NotATranscriptError(f"{name} is empty")
        if encoding != UTF8:
            content = content.decode(encoding, errors="replace").encode()
        _check_utf8(name, content)
        return Text(name, content.removeprefix(codecs.BOM_UTF8), encoding, changed)


def _is_hidden(name: PurePath) -> bool:
    return any(part.startswith((".", "__MACOSX")) for part in name.parts)


def _changed(file: Path | zipfile.ZipInfo) -> datetime:
    if isinstance(file, Path):
        return datetime.fromtimestamp(file.stat().st_mtime, UTC)
    try:
        return datetime(*file.date_time, tzinfo=UTC)
    except ValueError:  # an archive without dates
        return datetime(1980, 1, 1, tzinfo=UTC)


def _encoding(name: str, start: bytes) -> str:
    """Return how a file that begins so is encoded.

    Raises:
        NotATranscriptError: It is no text.
    """
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if sum(byte < 32 and byte not in _TEXT_CONTROLS for byte in start) > len(start) / 50:
        raise NotATranscriptError(f"{name} is not a text file", hint=HINT)
    return UTF8


def _check_utf8(name: str, content: bytes) -> None:
    """Refuse a file whose beginning is in another encoding; a wrong line among others is a fault."""
    start = content[:PART]
    try:
        start[: start.rfind(b"\n") + 1 or None].decode()
    except UnicodeDecodeError as error:
        if start.decode(errors="ignore").isascii():
            line = start.count(b"\n", 0, error.start) + 1
            raise TranscriptError(
                f"{name} is not UTF-8: by line {line} it is Latin-1 (Windows-1252)",
                hint="`iconv -f cp1252 -t UTF-8` converts it.",
            ) from None
