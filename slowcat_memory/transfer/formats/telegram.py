"""Telegram's result.json: one chat, or all of them, as "Export as JSON" writes it.

Each message is read when it is needed, for an export of years is hundreds of megabytes.
"""

from collections.abc import Iterator
from typing import Any

from slowcat_memory.transfer.formats.format import Format, Piece, Sample, Text
from slowcat_memory.transfer.formats.json_reader import JsonReader
from slowcat_memory.transfer.formats.json_rows import CHAT, iso, pieces, text_of
from slowcat_memory.transfer.formats.rows import Row
from slowcat_memory.transfer.transcript import Report


def _knows(sample: Sample) -> bool:
    return (
        sample.has(".messages[].date", ".messages[].type")
        or sample.has(".chats.list[].messages")
        or sample.has(".personal_information", ".chats")
    )


def _read(text: Text, report: Report) -> Iterator[Piece]:
    return pieces(_document(text.json()), report)


def _document(json: JsonReader) -> Iterator[Row]:
    """Yield the rows of a chat, or of each chat under "chats"."""
    me = ""
    for key in json.members():
        if key == "messages" and json.peek() == "[":
            yield from _messages(json, "", "")
        elif key == "chats" and json.peek() == "{":
            yield from _chats(json, me)
        else:
            value = json.value()
            if key == "personal_information" and isinstance(value, dict):
                me = f"user{value.get('user_id')}"


def _chats(json: JsonReader, me: str) -> Iterator[Row]:
    for key in json.members():
        if key == "list" and json.peek() == "[":
            for number, _ in enumerate(json.elements(), start=1):
                yield from _chat(json, f"chat {number}", me)
        else:
            json.value()


def _chat(json: JsonReader, name: str, me: str) -> Iterator[Row]:
    for key in json.members():
        if key == "messages" and json.peek() == "[":
            yield from _messages(json, name, me)
        else:
            value = json.value()
            name = str(value) if key == "name" and value else name


def _messages(json: JsonReader, chat: str, me: str) -> Iterator[Row]:
    for _ in json.elements():
        message = json.value()
        if isinstance(message, dict) and message.get("type", "message") == "message":
            yield _row(message, chat, me)


def _row(message: dict[str, Any], chat: str, me: str) -> Row:
    mine = bool(me) and message.get("from_id") == me
    return {
        "speaker": "" if mine else message.get("from") or "Somebody",
        "role": "user" if mine else None,
        "text": text_of(message.get("text", "")),
        "at": iso(message.get("date_unixtime")) or message.get("date", ""),
        "id": message.get("id"),
        CHAT: chat,
    }


FORMAT = Format(name="Telegram", knows=_knows, read=_read)
