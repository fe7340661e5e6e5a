"""Chat apps' exports: one JSON document to the rows that ``transfer.jsonl`` reads.

Known are ChatGPT's and Claude's conversations.json, Telegram's result.json, lists of messages with
"role" and "content" (also under "messages"), and what Mem0's ``get_all`` returns.
"""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

Row = dict[str, Any]
Reader = Callable[[Any], Iterator[Row]]

_SPOKEN = ("user", "assistant")


def rows(document: Any) -> Iterator[Row]:
    """Yield the turns or notes of a document, in the order of each conversation.

    Raises:
        ValueError: It is none of the known exports.
    """
    found = next((reader for knows, reader in _FORMATS if knows(document)), None)
    if found is None:
        raise ValueError(
            "this JSON is no known chat export: known are ChatGPT's and Claude's "
            "conversations.json, Telegram's result.json, a list of messages with role and "
            "content, and Mem0's get_all"
        )
    return found(document)


def _first(document: Any, *fields: str) -> bool:
    """Return whether a list's first object, or the object itself, has all of the fields."""
    one = document[0] if isinstance(document, list) and document else document
    return isinstance(one, dict) and all(field in one for field in fields)


def _each(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _objects(value: Any) -> Iterator[Row]:
    return (one for one in _each(value) if isinstance(one, dict))


def _text(content: Any) -> str:
    """Return the text of a message's content: a string, or a list of strings and text parts."""
    parts = []
    for part in _each(content):
        text = part.get("text", "") if isinstance(part, dict) else part
        parts.append(text if isinstance(text, str) else "")
    return "".join(parts)


def _time(seconds: Any) -> str:
    if not isinstance(seconds, int | float) or isinstance(seconds, bool) or seconds <= 0:
        return ""
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat()
    except (OverflowError, OSError, ValueError):
        return ""


def _chatgpt(document: Any) -> Iterator[Row]:
    for number, talk in enumerate(_objects(document), start=1):
        label = str(talk.get("id") or talk.get("conversation_id") or f"conversation {number}")
        for message in _branch(talk):
            author = message.get("author") or {}
            text = _text((message.get("content") or {}).get("parts", ""))
            if author.get("role") in _SPOKEN and text.strip():
                at = _time(message.get("create_time") or talk.get("create_time"))
                yield {"role": author["role"], "text": text, "at": at, "session": label}


def _branch(talk: Row) -> list[Row]:
    """Return the messages that led to the last one shown: edits branch the tree of messages."""
    nodes = talk.get("mapping")
    if not isinstance(nodes, dict):
        return []
    at, seen, messages = talk.get("current_node") or next(reversed(nodes), ""), set[str](), []
    while isinstance(node := nodes.get(at), dict) and at not in seen:
        seen.add(at)
        if isinstance(node.get("message"), dict):
            messages.append(node["message"])
        at = node.get("parent") or ""
    return messages[::-1]


def _claude(document: Any) -> Iterator[Row]:
    for number, talk in enumerate(_objects(document), start=1):
        label = str(talk.get("uuid") or f"conversation {number}")
        for message in _objects(talk.get("chat_messages") or []):
            text = message.get("text") or _text(message.get("content", ""))
            role = "assistant" if message.get("sender") == "assistant" else "user"
            if isinstance(text, str) and text.strip():
                at = message.get("created_at", "")
                yield {"role": role, "text": text, "at": at, "session": label}


def _telegram(document: Any) -> Iterator[Row]:
    chats = (document.get("chats") or {}).get("list") if "chats" in document else [document]
    for chat in _objects(chats or []):
        for message in _objects(chat.get("messages") or []):
            text = _text(message.get("text", ""))
            if message.get("type", "message") == "message" and text.strip():
                at = _time(_number(message.get("date_unixtime"))) or message.get("date", "")
                yield {"speaker": message.get("from") or "", "text": text, "at": at}


def _number(value: Any) -> int:
    return int(value) if isinstance(value, str) and value.isdecimal() else 0


def _messages(document: Any) -> Iterator[Row]:
    every = document["messages"] if isinstance(document, dict) else document
    for message in _objects(every):
        text = _text(message.get("content", message.get("text", "")))
        if message.get("role") in (*_SPOKEN, "human", None) and text.strip():
            at = message.get("at") or message.get("timestamp") or message.get("created_at") or ""
            at = at if isinstance(at, str) else _time(at)
            known = {name: message[name] for name in ("speaker", "role") if message.get(name)}
            yield {**known, "text": text, "at": at}


def _mem0(document: Any) -> Iterator[Row]:
    every = document.get("results") if isinstance(document, dict) else document
    for one in _objects(every or []):
        if isinstance(one.get("memory"), str) and one["memory"].strip():
            yield {"note": one["memory"], "at": one.get("created_at") or ""}


_FORMATS: tuple[tuple[Callable[[Any], bool], Reader], ...] = (
    (lambda d: _first(d, "mapping"), _chatgpt),
    (lambda d: _first(d, "chat_messages"), _claude),
    (lambda d: _first(d, "memory"), _mem0),
    (lambda d: _first(d, "results") and _first(d["results"], "memory"), _mem0),
    (lambda d: isinstance(d, dict) and "chats" in d, _telegram),
    (lambda d: isinstance(d, dict) and _first(d.get("messages"), "date", "type"), _telegram),
    (lambda d: isinstance(d, dict) and _first(d.get("messages"), "role"), _messages),
    (lambda d: isinstance(d, list) and _first(d, "role"), _messages),
    (lambda d: isinstance(d, list) and _first(d, "text"), _messages),
)
