"""WhatsApp's "Export chat": a text file, on Android and iOS, with dates as the phone writes them.

A message may go on over several lines. Media, deleted messages and the app's own notices are left
out. Whether the day or the month comes first is decided from the whole file.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import datetime

from slowcat_memory.transfer.formats.plain_text import Part, TextTurn, joined
from slowcat_memory.transfer.transcript import Format, Piece, Report, Skipped, Text, fault, time_of

_LINE = re.compile(
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


def _knows(text: Text) -> bool:
    return any(map(_LINE.fullmatch, text.beginning[:3]))


def _read(text: Text, report: Report) -> Iterator[Piece]:
    order = _order(line for _, line in text.lines(lambda error: None))
    return joined(_parts(text, order, report), report)


def _parts(text: Text, order: str, report: Report) -> Iterator[Part]:
    for number, line in text.lines(report):
        if match := _LINE.fullmatch(line):
            yield _part(number, match, order)
        elif line.strip():
            yield number, _unmarked(line)


def _part(number: int, match: re.Match[str], order: str) -> Part:
    named = _NAMED.fullmatch(match[9])
    if named is None:
        return Skipped(line=number, why=NOTICES)
    try:
        at = _time(match, order)
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


def _time(match: re.Match[str], order: str) -> datetime | None:
    year, month, day = _date(match, order)
    hour = int(match[5])
    if half := match[8]:
        hour = hour % 12 + (12 if half in "pP" else 0)
    return time_of(f"{year:04}-{month:02}-{day:02}T{hour:02}:{match[6]}:{match[7] or '00'}")


def _date(match: re.Match[str], order: str) -> tuple[int, int, int]:
    first, second, last = int(match[1]), int(match[3]), int(match[4])
    if order == YEAR:
        return first, second, last
    year = last + (2000 if last < 100 else 0)
    return (year, first, second) if order == MONTH else (year, second, first)


def _order(lines: Iterable[str]) -> str:
    """Return in which order a file writes its dates.

    A number above 12 decides it; else the order in which the messages follow each other; else the
    shorter time in all; else a point means the day, and a 12-hour clock the month.
    """
    matches = [match for line in lines if (match := _LINE.fullmatch(line))]
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
    dates = [_date(match, order) for match in matches]
    back = sum(later < earlier for earlier, later in zip(dates, dates[1:], strict=False))
    first, last = min(dates), max(dates)
    return back, sum((b - a) * n for a, b, n in zip(first, last, (372, 31, 1), strict=True))


FORMAT = Format(name="WhatsApp", knows=_knows, read=_read)
