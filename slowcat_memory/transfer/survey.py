"""What a file contains, before anything of it is imported: who, from when to when, how much."""

from collections import Counter
from collections.abc import Iterator
from datetime import datetime

from msgspec import Struct, field
from msgspec.structs import replace

from slowcat_memory.errors import TranscriptError
from slowcat_memory.transfer.formats.format import Placed, Skipped
from slowcat_memory.transfer.grouping import Channel, Grouped, Key, Sessions, grouped
from slowcat_memory.transfer.reading import Reading
from slowcat_memory.transfer.transcript import PACE, Note, TranscriptSession

MOST_FAULTS = 1000  # that are kept of a file


class Chat(Struct):
    """One conversation of a file, or what was exported from one scope."""

    turns: int = 0
    notes: int = 0
    first: datetime | None = None  # in UTC, as ``last``
    last: datetime | None = None
    before_first: int = 0  # turns without a time before the first that has one


class Survey(Struct):
    """What a file contains.

    Attributes:
        format: Its name, for a person.
        encoding: As it was read.
        chats: By conversation and scope.
        sessions: How many there are.
        speakers: How many turns each has, by name and role.
        skipped: How many things are left out, by what they are.
        faults: What could not be read, at most ``MOST_FAULTS``.
        unreadable: How many there are of them.
        last: The number of each session's last piece.
    """

    format: str
    encoding: str
    chats: dict[Channel, Chat] = field(default_factory=dict)
    sessions: int = 0
    speakers: Counter[tuple[str, str]] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    faults: list[TranscriptError] = field(default_factory=list)
    unreadable: int = 0
    last: dict[Key, int] = field(default_factory=dict)

    @property
    def turns(self) -> int:
        return sum(chat.turns for chat in self.chats.values())

    @property
    def notes(self) -> int:
        return sum(chat.notes for chat in self.chats.values())

    @property
    def undated(self) -> int:
        """How many turns are in conversations that have no date at all."""
        return sum(chat.turns for chat in self.chats.values() if chat.first is None)

    def span(self) -> tuple[datetime, datetime] | None:
        """Return the first and the last time; None without any."""
        firsts = [chat.first for chat in self.chats.values() if chat.first]
        lasts = [chat.last for chat in self.chats.values() if chat.last]
        return (min(firsts), max(lasts)) if firsts and lasts else None

    def fail(self, error: TranscriptError) -> None:
        self.unreadable += 1
        if len(self.faults) < MOST_FAULTS:
            self.faults.append(error)


def survey(reading: Reading) -> Survey:
    """Read a file once, and keep what it contains but for its words."""
    found = Survey(format=reading.format.name, encoding=reading.encoding)
    sessions = Sessions()
    try:
        for number, piece in enumerate(reading.pieces(found.fail)):
            key = sessions.key(piece)
            if isinstance(piece, Skipped):
                found.skipped[piece.why] += 1
            elif isinstance(piece, Placed):
                _count(found, piece, reading)
                if key is not None:
                    found.last[key] = number
    except TranscriptError as error:
        found.fail(error)
    for key in found.last:
        if started := sessions.heads[key].started:
            _date(found.chats[key[0], key[1]], reading.utc(started))
    found.sessions = len(found.last)
    return found


def _count(found: Survey, piece: Placed, reading: Reading) -> None:
    chat = found.chats.setdefault((piece.conversation, piece.scope), Chat())
    if isinstance(piece.said, Note):
        chat.notes += 1
        return
    chat.turns += 1
    found.speakers[piece.said.speaker, piece.said.role] += 1
    if piece.said.at is not None:
        _date(chat, reading.utc(piece.said.at))
    elif chat.first is None:
        chat.before_first += 1


def _date(chat: Chat, at: datetime) -> None:
    chat.first = min(at, chat.first or at)
    chat.last = max(at, chat.last or at)


def dated(reading: Reading, found: Survey, undated: datetime | None) -> Iterator[Grouped]:
    """Yield a file's sessions and notes; each session has a start.

    It is the session's own, that of its first turn, or the end of the session before.

    Args:
        undated: When the first turn of a conversation without any date was said; None for so long
            before the file was changed that its last turn is no later.
    """
    after: dict[Channel, datetime] = {}
    for one in grouped(reading.pieces(_ignore), found.last):
        if isinstance(one.what, Note):
            yield one
            continue
        channel = (one.conversation, one.scope)
        if channel not in after:
            after[channel] = _begin(found.chats.get(channel, Chat()), reading, undated)
        started = one.what.started or one.what.utterances[0].at or after[channel]
        after[channel] = _end(one.what, started)
        yield replace(one, what=replace(one.what, started=started))


def _begin(chat: Chat, reading: Reading, undated: datetime | None) -> datetime:
    """Return the start of a conversation's first session, if it has none itself."""
    if chat.first is not None:
        return chat.first - PACE * chat.before_first
    return undated or reading.source.changed - PACE * chat.turns


def _end(session: TranscriptSession, started: datetime) -> datetime:
    times = [said.at for said in session.utterances if said.at is not None]
    return times[-1] + PACE if times else started + PACE * len(session.utterances)


def _ignore(error: TranscriptError) -> None:
    pass
