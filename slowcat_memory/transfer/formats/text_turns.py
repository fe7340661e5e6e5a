"""Turns of text formats: a turn may go on over several lines."""

import re
from collections.abc import Iterable, Iterator
from datetime import datetime

from msgspec import Struct

from slowcat_memory.core.text.normalize import clean
from slowcat_memory.transfer.formats.format import Break, Piece, Placed, Skipped
from slowcat_memory.transfer.transcript import Report, Utterance, fault, name_of, role_of

_MARKS = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")


class Turn(Struct, frozen=True, kw_only=True):
    """A line that begins a turn."""

    line: int
    who: str
    said: str
    at: datetime | None = None
    empty: str = ""  # why it may have no text, as in ``Skipped``; "" when that is a fault


class More(Struct, frozen=True, kw_only=True):
    """A line that continues the turn before it."""

    line: int
    said: str


class Bad(Struct, frozen=True, kw_only=True):
    """A line that begins a turn, and cannot be read."""

    line: int
    why: str


Part = Turn | More | Bad | Break | Skipped


def joined(parts: Iterable[Part], report: Report) -> Iterator[Piece]:
    """Yield the pieces of a file's parts; report turns without text, and lines without a speaker."""
    turn: Turn | None = None
    lines = list[str]()
    for part in parts:
        if isinstance(part, More):
            if turn is None:
                report(fault(part.line, 'no speaker; a turn is "Name: text"'))
            else:
                lines.append(part.said)
            continue
        yield from _finished(turn, lines, report)
        turn, lines = (part, [part.said]) if isinstance(part, Turn) else (None, [])
        if isinstance(part, Bad):
            report(fault(part.line, part.why))
        elif isinstance(part, Break | Skipped):
            yield part
    yield from _finished(turn, lines, report)


def _finished(turn: Turn | None, lines: list[str], report: Report) -> Iterator[Piece]:
    if turn is None:
        return
    text, cut = clean("\n".join(lines))
    if not text and turn.empty:
        yield Skipped(line=turn.line, why=turn.empty)
        return
    if not text:
        return report(fault(turn.line, "the text is empty"))
    who = name_of(turn.who)
    said = Utterance(
        speaker=who, text=text, role=role_of(who), at=turn.at, origin=str(turn.line), cut=cut
    )
    yield Placed(said=said, line=turn.line)


def unmarked(text: str) -> str:
    """Return a text without the invisible marks of direction that apps write around names."""
    return _MARKS.sub("", text)
