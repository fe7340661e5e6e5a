"""Lists of messages with "role" and "content", as LLM services take them.

A list, {"messages": […]}, a list of those, or one of those a line, as for fine-tuning. Messages of
the system and of tools are left out.
"""

from collections.abc import Iterator
from typing import Any

from slowcat_memory.transfer.formats.format import Format, Piece, Sample, Text
from slowcat_memory.transfer.formats.json_rows import SPOKEN, iso, objects, pieces, text_of
from slowcat_memory.transfer.formats.rows import Row
from slowcat_memory.transfer.transcript import Report

_PLACES = (".messages[]", "[].messages[]", "[]")


def _knows(sample: Sample) -> bool:
    return any(
        sample.has(f"{place}.role") or sample.has(f"{place}.text", f"{place}.speaker")
        for place in _PLACES
    ) or sample.has("[].text")


def _read(text: Text, report: Report) -> Iterator[Piece]:
    return pieces(_rows(text), report)


def _rows(text: Text) -> Iterator[Row]:
    several = _a_line_each(text.sample) or text.sample.has("[].messages")
    for number, one in enumerate(text.json().rows(), start=1):
        if "messages" in one:
            label = str(one.get("id") or (f"conversation {number}" if several else ""))
            for message in objects(one["messages"]):
                yield from _row(message, label)
        else:
            yield from _row(one, "")


def _a_line_each(sample: Sample) -> bool:
    return all(line[0] == "{" for line in sample.lines[:2]) and len(sample.lines) > 1


def _row(message: Row, label: str) -> Iterator[Row]:
    if message.get("role") not in (*SPOKEN, "human", None):
        return
    at: Any = message.get("at") or message.get("timestamp") or message.get("created_at") or ""
    known = {name: message[name] for name in ("speaker", "role", "id") if message.get(name)}
    said = text_of(message.get("content", message.get("text", "")))
    yield {
        **known,
        "text": said,
        "at": at if isinstance(at, str) else iso(at),
        "session": label or message.get("session"),
    }


FORMAT = Format(name="messages with roles", knows=_knows, read=_read)
