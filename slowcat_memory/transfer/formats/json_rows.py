"""Reads the rows that a chat app's JSON is turned into: turns and notes as in ``formats.rows``."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

from msgspec.structs import replace

from slowcat_memory.errors import TranscriptError
from slowcat_memory.transfer.formats.format import Piece
from slowcat_memory.transfer.formats.rows import Row, placed
from slowcat_memory.transfer.transcript import Report, label_of

SPOKEN = ("user", "assistant")
CHAT = "chat's name"  # key of a row's conversation, where a file has several


def pieces(rows: Iterable[Row], report: Report, noun: str = "message") -> Iterator[Piece]:
    """Yield the pieces of rows; report those that are none, by their numbers.

    Rows without text are no turns of anybody, and are left out.
    """
    number, found = 0, iter(rows)
    while True:
        try:
            row = next(found, None)
        except ValueError as error:
            report(TranscriptError(f"after {noun} {number}: {error}"))
            return
        if row is None:
            return
        number += 1
        if str(row.get("note", row.get("text", ""))).strip():
            try:
                yield replace(placed(row, number), conversation=label_of(row.get(CHAT)))
            except (ValueError, RecursionError) as error:
                report(TranscriptError(f"{noun} {number}: {error}"))


def text_of(content: Any) -> str:
    """Return the text of a message's content: a string, or a list of strings and text parts."""
    parts = []
    for part in content if isinstance(content, list) else [content]:
        text = part.get("text", "") if isinstance(part, dict) else part
        parts.append(text if isinstance(text, str) else "")
    return "".join(parts)


def objects(value: Any) -> Iterator[Row]:
    every = value if isinstance(value, list) else [value]
    return (one for one in every if isinstance(one, dict))


def iso(seconds: Any) -> str:
    """Return the time of seconds since 1970, as a number or as digits; "" for anything else."""
    if isinstance(seconds, str) and seconds.isdecimal():
        seconds = int(seconds)
    if not isinstance(seconds, int | float) or isinstance(seconds, bool) or seconds <= 0:
        return ""
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat()
    except (OverflowError, OSError, ValueError):
        return ""
