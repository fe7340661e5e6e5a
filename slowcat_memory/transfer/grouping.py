"""Groups the pieces of a file into sessions, in the order they come.

Pieces with the same label form one session, wherever they stand. Without labels, a session ends
where the file says so, or after an hour without a turn. Each conversation and each exporting scope
of a file has sessions of its own.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from itertools import count

from msgspec import Struct

from slowcat_memory.transfer.formats.format import Break, Piece, Placed
from slowcat_memory.transfer.transcript import Note, TranscriptSession, Utterance

GAP = timedelta(hours=1)  # longest pause within an unlabelled session

Channel = tuple[str, str]  # conversation and scope
Key = tuple[str, str, str]  # conversation, scope and the session's name


class Head(Struct, frozen=True, kw_only=True):
    """What is known of a session when it begins."""

    started: datetime | None = None
    numbered: bool = False  # whether its name is its number alone


class Grouped(Struct, frozen=True, kw_only=True):
    """A finished session, or a note, with where it belongs."""

    what: TranscriptSession | Note
    conversation: str
    scope: str


class _Open:
    """The open session of a channel."""

    def __init__(self) -> None:
        self.name, self.turns = "", 0
        self.last: datetime | None = None


class Sessions:
    """Finds the session of each piece; keeps the heads of sessions, and none of their turns."""

    def __init__(self) -> None:
        self.heads: dict[Key, Head] = {}
        self._open: dict[Channel, _Open] = {}
        self._names: dict[Channel, int] = {}

    def key(self, piece: Piece) -> Key | None:
        """Return the session of an utterance; None for a note, and for what is none."""
        if isinstance(piece, Break):
            self._begin((piece.conversation, ""), piece.label, piece.started)
            return None
        if not isinstance(piece, Placed) or not isinstance(piece.said, Utterance):
            return None
        channel = (piece.conversation, piece.scope)
        if piece.session:
            return self._key(channel, piece.session, Head())
        open_ = self._open.get(channel)
        if open_ is None or not open_.name or _after_gap(open_, piece.said):
            open_ = self._begin(channel)
        open_.last, open_.turns = piece.said.at or open_.last, open_.turns + 1
        return (*channel, open_.name)

    def _key(self, channel: Channel, name: str, head: Head) -> Key:
        key = (*channel, name)
        if key not in self.heads:
            self.heads[key] = head
            self._names[channel] = self._names.get(channel, 0) + 1
        return key

    def _begin(self, channel: Channel, label: str = "", started: datetime | None = None) -> _Open:
        """Begin a session; without a ``label``, and with one that is taken, it is numbered."""
        name = label
        if not label or (*channel, label) in self.heads:
            numbers = count(self._names.get(channel, 0) + 1)
            names = (f"{label} ({number})" if label else str(number) for number in numbers)
            name = next(name for name in names if (*channel, name) not in self.heads)
        self._key(channel, name, Head(started=started, numbered=not label))
        open_ = self._open[channel] = _Open()
        open_.name, open_.last = name, started
        return open_


def _after_gap(open_: _Open, said: Utterance) -> bool:
    if said.at is None or open_.last is None or not open_.turns:
        return False
    if (said.at.tzinfo is None) != (open_.last.tzinfo is None):
        return False
    return abs(said.at - open_.last) > GAP


def grouped(pieces: Iterable[Piece], last: Mapping[Key, int]) -> Iterator[Grouped]:
    """Yield the notes of a file, and its sessions in the order in which they began.

    A session is yielded, and no longer held, when its last piece and those of the sessions before
    it have come.

    Args:
        pieces: Of the file, as they come.
        last: The number of each session's last piece, counted from 0 over ``pieces``; a session
            that is not in it ends with the file.
    """
    sessions, turns, ended = Sessions(), dict[Key, list[Utterance]](), set[Key]()
    for number, piece in enumerate(pieces):
        key = sessions.key(piece)
        if key is not None and isinstance(piece, Placed) and isinstance(piece.said, Utterance):
            turns.setdefault(key, []).append(piece.said)
            if last.get(key) == number:
                ended.add(key)
                while turns and (first := next(iter(turns))) in ended:
                    yield _session(first, sessions.heads[first], turns.pop(first))
        elif isinstance(piece, Placed) and isinstance(piece.said, Note):
            yield Grouped(what=piece.said, conversation=piece.conversation, scope=piece.scope)
    for key, said in turns.items():
        yield _session(key, sessions.heads[key], said)


def _session(key: Key, head: Head, said: list[Utterance]) -> Grouped:
    conversation, scope, name = key
    session = TranscriptSession(
        id=name,
        started=head.started,
        utterances=tuple(said),
        scope=scope,
        numbered=head.numbered,
    )
    return Grouped(what=session, conversation=conversation, scope=scope)
