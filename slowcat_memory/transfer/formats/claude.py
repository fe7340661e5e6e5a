"""Claude's conversations.json: a list of conversations with their messages."""

from collections.abc import Iterator

from slowcat_memory.transfer.formats.format import Format, Piece, Sample, Text
from slowcat_memory.transfer.formats.json_rows import objects, pieces, text_of
from slowcat_memory.transfer.formats.rows import Row
from slowcat_memory.transfer.transcript import Report


def _knows(sample: Sample) -> bool:
    return sample.has("[].chat_messages") or sample.has(".chat_messages")


def _read(text: Text, report: Report) -> Iterator[Piece]:
    talks = enumerate(text.json().rows(), start=1)
    return pieces((row for number, talk in talks for row in _rows(talk, number)), report)


def _rows(talk: Row, number: int) -> Iterator[Row]:
    label = str(talk.get("uuid") or f"conversation {number}")
    for message in objects(talk.get("chat_messages") or []):
        at = message.get("created_at") or talk.get("created_at") or ""
        said = message.get("text") or text_of(message.get("content", ""))
        role = "assistant" if message.get("sender") == "assistant" else "user"
        yield {"role": role, "text": said, "at": at, "session": label}


FORMAT = Format(name="Claude", knows=_knows, read=_read)
