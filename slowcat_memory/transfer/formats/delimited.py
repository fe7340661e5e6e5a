"""Tables as text: CSV with a header, separated by commas, semicolons, tabs or bars."""

import csv
from collections.abc import Iterator

from slowcat_memory.errors import TranscriptError
from slowcat_memory.transfer.formats.format import Format, Piece, Sample, Text
from slowcat_memory.transfer.formats.json_rows import iso
from slowcat_memory.transfer.formats.rows import Row, placed
from slowcat_memory.transfer.transcript import Report, fault

DELIMITERS = ",;\t|"
COLUMNS = {
    "text": ("text", "content", "message", "utterance", "body", "nachricht"),
    "who": ("speaker", "role", "name", "from", "sender", "author", "user", "absender"),
    "at": ("at", "time", "timestamp", "date", "datetime", "created_at", "sent_at", "datum"),
    "session": ("session", "session_id", "conversation", "conversation_id", "thread", "chat"),
    "note": ("note", "memory", "fact"),
}
MOST_CELL = 10_000_000  # characters of a cell


def _knows(sample: Sample) -> bool:
    columns = _columns(sample.first)
    return ("text" in columns and ("who" in columns or "at" in columns)) or "note" in columns


def _delimiter(header: str) -> str:
    return max(DELIMITERS, key=header.count)


def _columns(header: str) -> dict[str, int]:
    """Return the place of each column that is known, by what it holds."""
    [cells] = csv.reader([header], delimiter=_delimiter(header)) if header else [[]]
    names = [cell.strip().casefold().replace(" ", "_") for cell in cells]
    return {
        kind: names.index(name)
        for kind, known in COLUMNS.items()
        if (name := next((name for name in known if name in names), None)) and len(names) > 1
    }


def _read(text: Text, report: Report) -> Iterator[Piece]:
    csv.field_size_limit(MOST_CELL)
    lines = (line for line in text.lines(report))
    header = next(line for _, line in lines if line.strip())
    columns = _columns(header)
    rows = csv.reader((line + "\n" for _, line in lines), delimiter=_delimiter(header))
    try:
        for row in rows:
            number = rows.line_num + 1
            if any(cell.strip() for cell in row):
                try:
                    yield placed(_row(row, columns), number)
                except ValueError as error:
                    report(fault(number, error))
    except csv.Error as error:
        report(TranscriptError(f"after line {rows.line_num + 1}: {error}"))


def _row(cells: list[str], columns: dict[str, int]) -> Row:
    def cell(kind: str) -> str:
        place = columns.get(kind, len(cells))
        return cells[place].strip() if place < len(cells) else ""

    at = iso(cell("at")) or cell("at").replace("Z", "+00:00")
    if "note" in columns and "text" not in columns:
        return {"note": cell("note"), "at": at, "speaker": cell("who")}
    who = cell("who")
    known = {"role": who.casefold()} if who.casefold() in ("user", "human", "assistant") else {}
    return {"speaker": "" if known else who, "text": cell("text"), "at": at,
            "session": cell("session"), **known}  # fmt: skip


FORMAT = Format(name="CSV", knows=_knows, read=_read)
