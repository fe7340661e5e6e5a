"""Reads the files of a path: their formats, conversations and sessions, and who speaks in them.

Pieces with the same label form one session, wherever they stand. Without labels, a session ends
where the file says so, or after an hour without a turn. Each conversation and each exporting scope
of a file has sessions of its own.
"""

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory.errors import ConfigError, TranscriptError
from slowcat_memory.runtime.namespaces.registry import check_scope
from slowcat_memory.transfer.formats import recognise
from slowcat_memory.transfer.sources import Files
from slowcat_memory.transfer.transcript import (
    PACE,
    Break,
    Note,
    Placed,
    Report,
    Skipped,
    Text,
    Transcript,
    TranscriptSession,
    fault,
    utc,
)

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
        late: Break | None = None  # the session that is left out
        for piece in self.format.read(text, self._fail):
            if isinstance(piece, Skipped):
                self.skipped[piece.why] += 1
            elif isinstance(piece, Break):
                late = piece if self._is_late(piece.line, piece.started) else None
                if late is None:
                    self._chat(piece.conversation, "").begin(piece.label, piece.started)
            elif late is None or piece.session not in ("", late.label):
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

    def _take(self, piece: Placed) -> None:
        if self._options.scoped and piece.scope:
            try:
                check_scope(piece.scope)
            except ConfigError as error:
                return self._fail(fault(piece.line, error))
        if self._is_late(piece.line, piece.said.at):
            return
        chat = self._chat(piece.conversation, piece.scope)
        if isinstance(piece.said, Note):
            chat.notes.append(piece.said)
            return
        session = chat.current
        if label := piece.session:
            session = chat.every.setdefault(label, TranscriptSession(id=label, scope=piece.scope))
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
        if latest is None or at is None or utc(at, self._options.zone) <= latest:
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
        return [utc(at, self._options.zone) for at in times if at is not None]


def _is_over(session: TranscriptSession, at: datetime | None) -> bool:
    """Return whether a turn at a time is too late to belong to a session."""
    if at is None or not session.utterances:
        return False
    last = next((turn.at for turn in reversed(session.utterances) if turn.at), session.started)
    return (
        last is not None and (at.tzinfo is None) == (last.tzinfo is None) and abs(at - last) > GAP
    )


def readings(path: Path, options: Options, report: Report, beside: Report) -> Files[FileReading]:
    """Return the files that a path stands for, read while they are iterated; see ``Files``."""
    return Files(path, lambda text: FileReading(text, options), report, beside)


def read(path: Path, on_error: Report) -> Iterator[Transcript]:
    """Yield the conversations of a file, folder or archive, whatever its format; all have a start.

    Args:
        on_error: Called with an error for each unreadable part; the rest is read.

    Raises:
        TranscriptError: The file cannot be read at all.
    """
    for reading in readings(path, Options(scoped=False), on_error, on_error):
        for error in reading.faults:
            on_error(error)
        yield from reading.transcripts()
