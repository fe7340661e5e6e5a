"""ChatGPT's conversations.json: a list of conversations, each a tree of messages.

Edited and regenerated messages branch the tree; what is read is the branch that the app shows.
"""

from collections.abc import Iterator

from slowcat_memory.transfer.formats.format import Format, Piece, Sample, Text
from slowcat_memory.transfer.formats.json_rows import SPOKEN, iso, pieces, text_of
from slowcat_memory.transfer.formats.rows import Row
from slowcat_memory.transfer.transcript import Report


def _knows(sample: Sample) -> bool:
    return sample.has("[].mapping") or sample.has(".mapping")


def _read(text: Text, report: Report) -> Iterator[Piece]:
    talks = enumerate(text.json().rows(), start=1)
    return pieces((row for number, talk in talks for row in _rows(talk, number)), report)


def _rows(talk: Row, number: int) -> Iterator[Row]:
    label = str(talk.get("id") or talk.get("conversation_id") or f"conversation {number}")
    for message in _branch(talk):
        author, content = message.get("author"), message.get("content")
        role = author.get("role") if isinstance(author, dict) else None
        if role in SPOKEN and isinstance(content, dict):
            at = iso(message.get("create_time") or talk.get("create_time"))
            said = text_of(content.get("parts", ""))
            yield {"role": role, "text": said, "at": at, "session": label}


def _branch(talk: Row) -> list[Row]:
    """Return the messages that led to the last one shown."""
    nodes = talk.get("mapping")
    if not isinstance(nodes, dict):
        return []
    at, seen, messages = talk.get("current_node") or next(reversed(nodes), ""), set[str](), []
    while isinstance(at, str) and isinstance(node := nodes.get(at), dict) and at not in seen:
        seen.add(at)
        if isinstance(node.get("message"), dict):
            messages.append(node["message"])
        at = node.get("parent") or ""
    return messages[::-1]


FORMAT = Format(name="ChatGPT", knows=_knows, read=_read)
