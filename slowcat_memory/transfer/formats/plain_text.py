r"""Text, one turn a line: "Name: text", or as WhatsApp exports a chat (below).

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
from slowcat_memory.transfer import transcript
from slowcat_memory.transfer.transcript import Break, Piece, Report, Skipped, Text, fault, time_of


class TextTurn(Struct, frozen=True, kw_only=True):
    """A line that begins a turn."""

    line: int
    who: str
    said: str
    at: datetime | None = None
    empty: str = ""  # why it may have no text, as in ``Skipped``; "" when that is a fault


Part = TextTurn | transcript.Line | TranscriptError | Break | Skipped
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
    who = transcript.name_of(turn.who)
    utterance = transcript.Utterance(
        speaker=who,
        text=text,
        role=transcript.role_of(who),
        at=turn.at,
        origin=str(turn.line),
        cut=cut,
    )
    yield transcript.Placed(said=utterance, line=turn.line)


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
    label = transcript.label_of(line.lstrip("# ") if line.startswith("#") else line)
    return Break(line=number, label=label, started=_time(date[1] if date else label))


def _time(text: str) -> datetime | None:
    if match := re.fullmatch(r"(\d\d?)\.(\d\d?)\.(\d{4})", text):
        text = f"{match[3]}-{int(match[2]):02}-{int(match[1]):02}"
    try:
        return time_of(" ".join(text.replace("T", " ").split()))
    except ValueError:
        return None  # a heading, and no time


PLAIN = transcript.Format(name="plain text", knows=_knows, read=_read)


# ------------------------------------------------------------------- WhatsApp's "Export chat"
# A text file, on Android and iOS, with dates as the phone writes them. A message may go on over
# several lines. Media, deleted messages and the app's own notices are left out. Whether the day or
# the month comes first is decided from the whole file.


_CHAT_LINE = re.compile(
    r"[\u200e\u200f\ufeff]*\[?(\d{1,4})([./-])(\d{1,2})\2(\d{1,4})\.?,?\s+(?:à\s+|um\s+)?"
    r"(\d{1,2})[:.](\d\d)(?:[:.](\d\d))?(?:\s*([AaPp])\.?\s?[Mm]\.?)?(?:\]\s?|\s[-–]\s)(.*)",
    re.DOTALL,
)
_NAMED = re.compile(r"([^:\"“„]{1,64}):(?: (.*)|$)", re.DOTALL)
_MEDIA = re.compile(
    r"<[^<>]{3,60}>|null|\S.{0,80} \((?:file attached|Datei angehängt)\)"
    r"|(?:image|video|audio|sticker|GIF|document|contact card|Contact card) omitted"
    r"|(?:This message was deleted|You deleted this message|Diese Nachricht wurde gelöscht"
    r"|Du hast diese Nachricht gelöscht|Missed (?:voice|video) call)\.?"
)
_EDITED = re.compile(r"\s*\u200e?<[^<>]*(?:edited|bearbeitet)[^<>]*>$")
_MARKS = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")  # of direction
_APP = "\u200e"  # begins what the app, and nobody else, wrote
MEDIA, NOTICES = "media and deleted messages", "notices of the app"
YEAR, DAY, MONTH = "year first", "day first", "month first"


def _knows_chat(text: Text) -> bool:
    return any(map(_CHAT_LINE.fullmatch, text.beginning[:3]))


def _read_chat(text: Text, report: Report) -> Iterator[Piece]:
    order = _chat_order(line for _, line in text.lines(lambda error: None))
    return joined(_chat_parts(text, order, report), report)


def _chat_parts(text: Text, order: str, report: Report) -> Iterator[Part]:
    for number, line in text.lines(report):
        if match := _CHAT_LINE.fullmatch(line):
            yield _chat_part(number, match, order)
        elif line.strip():
            yield number, _unmarked(line)


def _chat_part(number: int, match: re.Match[str], order: str) -> Part:
    named = _NAMED.fullmatch(match[9])
    if named is None:
        return Skipped(line=number, why=NOTICES)
    try:
        at = _chat_time(match, order)
    except ValueError as error:
        return fault(number, error)
    words = _EDITED.sub("", named[2] or "")
    own = words.startswith(_APP) or _MEDIA.fullmatch(_unmarked(words).strip())
    return TextTurn(
        line=number,
        who=_unmarked(named[1]).strip().lstrip("~").strip(),
        said="" if own else _unmarked(words),
        at=at,
        empty=MEDIA if own or not words.strip() else "",
    )


def _unmarked(text: str) -> str:
    return _MARKS.sub("", text)


def _chat_time(match: re.Match[str], order: str) -> datetime | None:
    year, month, day = _chat_date(match, order)
    hour = int(match[5])
    if half := match[8]:
        hour = hour % 12 + (12 if half in "pP" else 0)
    return time_of(f"{year:04}-{month:02}-{day:02}T{hour:02}:{match[6]}:{match[7] or '00'}")


def _chat_date(match: re.Match[str], order: str) -> tuple[int, int, int]:
    first, second, last = int(match[1]), int(match[3]), int(match[4])
    if order == YEAR:
        return first, second, last
    year = last + (2000 if last < 100 else 0)
    return (year, first, second) if order == MONTH else (year, second, first)


def _chat_order(lines: Iterable[str]) -> str:
    """Return in which order a file writes its dates.

    A number above 12 decides it; else the order in which the messages follow each other; else the
    shorter time in all; else a point means the day, and a 12-hour clock the month.
    """
    matches = [match for line in lines if (match := _CHAT_LINE.fullmatch(line))]
    if any(len(match[1]) == 4 for match in matches):
        return YEAR
    if any(int(match[1]) > 12 for match in matches):
        return DAY
    if any(int(match[3]) > 12 for match in matches):
        return MONTH
    unlikely = {order: _unlikely(matches, order) for order in (DAY, MONTH)}
    if unlikely[DAY] != unlikely[MONTH]:
        return min(unlikely, key=lambda order: unlikely[order])
    halves = any(match[8] for match in matches) and not any(match[2] == "." for match in matches)
    return MONTH if halves else DAY


def _unlikely(matches: list[re.Match[str]], order: str) -> tuple[int, int]:
    """Return how often a date is before the one above it, and how many days lie between all."""
    dates = [_chat_date(match, order) for match in matches]
    back = sum(later < earlier for earlier, later in zip(dates, dates[1:], strict=False))
    first, last = min(dates), max(dates)
    return back, sum((b - a) * n for a, b, n in zip(first, last, (372, 31, 1), strict=True))


WHATSAPP = transcript.Format(name="WhatsApp", knows=_knows_chat, read=_read_chat)
