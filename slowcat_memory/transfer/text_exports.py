"""Text exports to the lines that ``transfer.plain_text`` reads: WhatsApp, WebVTT, CSV, Markdown."""

import csv
import re
from collections.abc import Callable, Iterable, Iterator

from slowcat_memory.transfer.transcript import Line

_WHATSAPP = re.compile(
    r"[\u200e\u200f]?\[?(\d{1,2})([./-])(\d{1,2})\2(\d{4}|\d\d),? +(\d{1,2})[:.](\d\d)(?:[:.](\d\d))?"
    r"(?:[\s\u202f]*([AaPp])\.?[Mm]\.?)?\]?(?: - | )(.*)",
    re.DOTALL,
)
_NAMED = re.compile(r"[^:]{1,64}: ")
_CUE = re.compile(r"(?:\d+:)?\d\d:\d\d[.,]\d{3} --> .*")
_VOICE = re.compile(r"<v(?:\.\w+)* ([^>]+)>(.*)")
_TAG = re.compile(r"</?[a-z][^>]*>")
_BOLD = re.compile(r"\s*(?:[-*]\s+)?\*\*([^*:]{1,64}):?\*\*\s*:?\s*(.*)")
_COLUMNS = {
    "text": ("text", "content", "message", "utterance"),
    "who": ("speaker", "role", "name", "from", "sender", "author"),
    "at": ("at", "time", "timestamp", "date", "datetime", "created_at"),
}


def as_plain_text(first: str, lines: Iterable[Line]) -> Iterable[Line]:
    """Return a file's lines as "[time] Name: text", unchanged if it is no known export.

    Args:
        first: The first line that is not blank.
    """
    for knows, convert in _FORMATS:
        if knows(first):
            return convert(lines)
    return lines


def _whatsapp(lines: Iterable[Line]) -> Iterator[Line]:
    every = list(lines)
    month_first = _month_first([m for _, line in every if (m := _WHATSAPP.fullmatch(line))])
    for number, line in every:
        match = _WHATSAPP.fullmatch(line)
        if match is None:
            yield number, line.lstrip("\u200e\u200f")
        elif _NAMED.match(match[9]):  # else a notice of the app
            yield number, f"[{_whatsapp_time(match, month_first)}] {_short_name(match[9])}"


def _month_first(found: list[re.Match[str]]) -> bool:
    """Return whether a file writes the month before the day; a 12-hour clock decides a tie."""
    if any(int(match[1]) > 12 for match in found) or any(match[2] == "." for match in found):
        return False
    return any(int(match[3]) > 12 for match in found) or any(match[8] for match in found)


def _whatsapp_time(match: re.Match[str], month_first: bool) -> str:
    day, month = (match[3], match[1]) if month_first else (match[1], match[3])
    year = int(match[4]) + (2000 if len(match[4]) == 2 else 0)
    hour = int(match[5])
    if half := match[8]:
        hour = hour % 12 + (12 if half in "pP" else 0)
    return f"{year:04}-{int(month):02}-{int(day):02}T{hour:02}:{match[6]}:{match[7] or '00'}"


def _short_name(said: str) -> str:
    """Return "Name: text" with a name that plain text reads: at most three words, no signs."""
    name, _, text = said.partition(": ")
    words = re.findall(r"[^\W_][\w.'’-]*", name)[:3] or ["Someone"]
    return f"{' '.join(w[0].upper() + w[1:] for w in words)}: {text}"


def _vtt(lines: Iterable[Line]) -> Iterator[Line]:
    in_cue = False
    for number, line in lines:
        if _CUE.fullmatch(line.strip()):
            in_cue = True
        elif not line.strip():
            in_cue = False
        elif in_cue:
            voice = _VOICE.match(line)
            said = _TAG.sub("", voice[2] if voice else line).strip()
            yield number, _short_name(f"{voice[1]}: {said}") if voice else said


def _csv(lines: Iterable[Line]) -> Iterator[Line]:
    numbered = iter(lines)
    number, header = next(numbered)
    dialect = ";" if header.count(";") > header.count(",") else "\t" if "\t" in header else ","
    rows = csv.reader((line for _, line in numbered), delimiter=dialect)
    columns = [name.strip().casefold() for name in next(csv.reader([header], delimiter=dialect))]
    text, who, at = (_column(columns, kind) for kind in ("text", "who", "at"))
    for row in rows:
        cell = dict(enumerate(row))
        said = " ".join(cell.get(text, "").split())
        time = f"[{cell[at].strip()}] " if cell.get(at, "").strip() else ""
        speaker = cell.get(who, "").strip() or "User"
        yield number + rows.line_num, time + _short_name(f"{speaker}: {said}")


def _column(columns: list[str], kind: str) -> int:
    return next((columns.index(name) for name in _COLUMNS[kind] if name in columns), -1)


def _is_csv(first: str) -> bool:
    columns = {name.strip().strip('"').casefold() for name in re.split(r"[,;\t]", first)}
    return bool(columns & {*_COLUMNS["text"]} and columns & {*_COLUMNS["who"]})


def _markdown(lines: Iterable[Line]) -> Iterator[Line]:
    for number, line in lines:
        match = _BOLD.fullmatch(line)
        yield number, _short_name(f"{match[1]}: {match[2]}") if match else line


_FORMATS: tuple[tuple[Callable[[str], object], Callable[[Iterable[Line]], Iterable[Line]]], ...] = (
    (lambda first: first.startswith("WEBVTT"), _vtt),
    (_WHATSAPP.fullmatch, _whatsapp),
    (_is_csv, _csv),
    (_BOLD.fullmatch, _markdown),
)
