r"""Plain text, one turn a line: "Name: text".

::

    # 2024-05-12 18:30
    Anna: My dog is called Max.
    Assistant: What a good name!
    [2024-05-12 18:31] Anna: He was
    a present.

A line starting with "#" begins a session and may hold its time, as does a line that is only a date;
two blank lines also begin one. A time in brackets may precede a name. A line without a name
continues the turn before it.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import datetime

from msgspec import Struct

from slowcat_memory.core.text.normalize import clean
from slowcat_memory.errors import TranscriptError
from slowcat_memory.transfer.transcript import (
    Break,
    Format,
    Line,
    Piece,
    Placed,
    Report,
    Skipped,
    Text,
    Utterance,
    fault,
    label_of,
    name_of,
    role_of,
    time_of,
)


class TextTurn(Struct, frozen=True, kw_only=True):
    """A line that begins a turn."""

    line: int
    who: str
    said: str
    at: datetime | None = None
    empty: str = ""  # why it may have no text, as in ``Skipped``; "" when that is a fault


Part = TextTurn | Line | TranscriptError | Break | Skipped
"""A line that begins a turn, that continues the one before it, or that begins one and is faulty."""


def joined(parts: Iterable[Part], report: Report) -> Iterator[Piece]:
    """Yield the pieces of a file's parts; report turns without text, and lines without a speaker."""
    turn: TextTurn | None = None
    lines = list[str]()
    for part in parts:
        if isinstance(part, tuple):
            if turn is None:
                report(fault(part[0], 'no speaker; a turn is "Name: text"'))
            else:
                lines.append(part[1])
            continue
        yield from _finished(turn, lines, report)
        turn, lines = (part, [part.said]) if isinstance(part, TextTurn) else (None, [])
        if isinstance(part, TranscriptError):
            report(part)
        elif isinstance(part, Break | Skipped):
            yield part
    yield from _finished(turn, lines, report)


def _finished(turn: TextTurn | None, lines: list[str], report: Report) -> Iterator[Piece]:
    if turn is None:
        return
    text, cut = clean("\n".join(lines))
    if not text and turn.empty:
        yield Skipped(line=turn.line, why=turn.empty)
        return
    if not text:
        return report(fault(turn.line, "the text is empty"))
    who = name_of(turn.who)
    utterance = Utterance(
        speaker=who, text=text, role=role_of(who), at=turn.at, origin=str(turn.line), cut=cut
    )
    yield Placed(said=utterance, line=turn.line)


# A continuation line may contain a colon too: a name has at most three words, and a name of several
# words is not in lower case.
_TURN = re.compile(
    r"\s*(?:\[(?P<at>[^\]]*)\]\s*)?"
    r"(?P<name>[^\W_][\w.'’-]*(?: [^\W_][\w.'’-]*){0,2})\s*:(?:\s+(?P<said>.*)|$)"
)
_DATE = re.compile(
    r"\W*(?:[^\W\d]+,? )?(\d{4}-\d\d-\d\d(?:[T ]+\d\d:\d\d(?::\d\d)?)?|\d\d?\.\d\d?\.\d{4})\W*"
)
_PARTICLES = frozenset("al bin da de del den der di dos du el la le van von".split())


def _knows(text: Text) -> bool:
    return not text.is_json and any(map(_turn, text.beginning))


def _read(text: Text, report: Report) -> Iterator[Piece]:
    return joined(_parts(text, report), report)


def _parts(text: Text, report: Report) -> Iterator[Part]:
    blank, begun = 0, False
    for number, line in text.lines(report):
        if not line.strip():
            blank += 1
            continue
        if heading := _heading(number, line):
            begun = False
            yield heading
        else:
            if blank > 1 and begun:
                yield Break(line=number)
            yield _part(number, line)
            begun = True
        blank = 0


def _part(number: int, line: str) -> Part:
    match = _turn(line)
    if match is None:
        return number, line
    try:
        at = time_of(match["at"])
    except ValueError as error:
        return fault(number, error)
    return TextTurn(line=number, who=match["name"], said=match["said"] or "", at=at)


def _turn(line: str) -> re.Match[str] | None:
    """Return the match of a line that begins a turn."""
    match = _TURN.fullmatch(line)
    return match if match and _is_name(match["name"]) else None


def _is_name(name: str) -> bool:
    words = name.split()
    return len(words) == 1 or not any(w[0].islower() and w not in _PARTICLES for w in words)


def _heading(number: int, line: str) -> Break | None:
    """Return the break of a line that begins a session: "# …", or only a date."""
    date = _DATE.fullmatch(line)
    if not line.startswith("#") and date is None:
        return None
    label = label_of(line.lstrip("# ")) if line.startswith("#") else label_of(line)
    return Break(line=number, label=label, started=_time(date[1] if date else label))


def _time(text: str) -> datetime | None:
    if match := re.fullmatch(r"(\d\d?)\.(\d\d?)\.(\d{4})", text):
        text = f"{match[3]}-{int(match[2]):02}-{int(match[1]):02}"
    try:
        return time_of(" ".join(text.replace("T", " ").split()))
    except ValueError:
        return None  # a heading, and no time


FORMAT = Format(name="plain text", knows=_knows, read=_read)
