"""Exports in JSON of chat programs and of memories; each format says what it reads.

What is read becomes rows, which ``json_rows.pieces`` turns into utterances. Each conversation, and
each message of Telegram, is read when it is needed: an export of years is hundreds of megabytes.
"""

from collections.abc import Iterator
from typing import Any

from slowcat_memory.transfer.formats.format import Format, Piece, Sample, Text
from slowcat_memory.transfer.formats.json_reader import JsonReader
from slowcat_memory.transfer.formats.json_rows import CHAT, SPOKEN, iso, objects, pieces, text_of
from slowcat_memory.transfer.formats.rows import Row
from slowcat_memory.transfer.transcript import Report

# ------------------------------------------------------------------- chatgpt
# ChatGPT's conversations.json: a list of conversations, each a tree of messages.
#
# Edited and regenerated messages branch the tree; what is read is the branch that the app shows.


def _chatgpt_knows(sample: Sample) -> bool:
    return sample.has("[].mapping") or sample.has(".mapping")


def _chatgpt_read(text: Text, report: Report) -> Iterator[Piece]:
    talks = enumerate(text.json().rows(), start=1)
    return pieces((row for number, talk in talks for row in _chatgpt_rows(talk, number)), report)


def _chatgpt_rows(talk: Row, number: int) -> Iterator[Row]:
    label = str(talk.get("id") or talk.get("conversation_id") or f"conversation {number}")
    for message in _chatgpt_branch(talk):
        author, content = message.get("author"), message.get("content")
        role = author.get("role") if isinstance(author, dict) else None
        if role in SPOKEN and isinstance(content, dict):
            at = iso(message.get("create_time") or talk.get("create_time"))
            said = text_of(content.get("parts", ""))
            yield {"role": role, "text": said, "at": at, "session": label}


def _chatgpt_branch(talk: Row) -> list[Row]:
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


CHATGPT = Format(name="ChatGPT", knows=_chatgpt_knows, read=_chatgpt_read)


# ------------------------------------------------------------------- claude
# Claude's conversations.json: a list of conversations with their messages.


def _claude_knows(sample: Sample) -> bool:
    return sample.has("[].chat_messages") or sample.has(".chat_messages")


def _claude_read(text: Text, report: Report) -> Iterator[Piece]:
    talks = enumerate(text.json().rows(), start=1)
    return pieces((row for number, talk in talks for row in _claude_rows(talk, number)), report)


def _claude_rows(talk: Row, number: int) -> Iterator[Row]:
    label = str(talk.get("uuid") or f"conversation {number}")
    for message in objects(talk.get("chat_messages") or []):
        at = message.get("created_at") or talk.get("created_at") or ""
        said = message.get("text") or text_of(message.get("content", ""))
        role = "assistant" if message.get("sender") == "assistant" else "user"
        yield {"role": role, "text": said, "at": at, "session": label}


CLAUDE = Format(name="Claude", knows=_claude_knows, read=_claude_read)


# ------------------------------------------------------------------- telegram
# Telegram's result.json: one chat, or all of them, as "Export as JSON" writes it.
#
# Each message is read when it is needed, for an export of years is hundreds of megabytes.


def _telegram_knows(sample: Sample) -> bool:
    return (
        sample.has(".messages[].date", ".messages[].type")
        or sample.has(".chats.list[].messages")
        or sample.has(".personal_information", ".chats")
    )


def _telegram_read(text: Text, report: Report) -> Iterator[Piece]:
    return pieces(_telegram_document(text.json()), report)


def _telegram_document(json: JsonReader) -> Iterator[Row]:
    """Yield the rows of a chat, or of each chat under "chats"."""
    me = ""
    for key in json.members():
        if key == "messages" and json.peek() == "[":
            yield from _telegram_messages(json, "", "")
        elif key == "chats" and json.peek() == "{":
            yield from _telegram_chats(json, me)
        else:
            value = json.value()
            if key == "personal_information" and isinstance(value, dict):
                me = f"user{value.get('user_id')}"


def _telegram_chats(json: JsonReader, me: str) -> Iterator[Row]:
    for key in json.members():
        if key == "list" and json.peek() == "[":
            for number, _ in enumerate(json.elements(), start=1):
                yield from _telegram_chat(json, f"chat {number}", me)
        else:
            json.value()


def _telegram_chat(json: JsonReader, name: str, me: str) -> Iterator[Row]:
    for key in json.members():
        if key == "messages" and json.peek() == "[":
            yield from _telegram_messages(json, name, me)
        else:
            value = json.value()
            name = str(value) if key == "name" and value else name


def _telegram_messages(json: JsonReader, chat: str, me: str) -> Iterator[Row]:
    for _ in json.elements():
        message = json.value()
        if isinstance(message, dict) and message.get("type", "message") == "message":
            yield _telegram_row(message, chat, me)


def _telegram_row(message: dict[str, Any], chat: str, me: str) -> Row:
    mine = bool(me) and message.get("from_id") == me
    return {
        "speaker": "" if mine else message.get("from") or "Somebody",
        "role": "user" if mine else None,
        "text": text_of(message.get("text", "")),
        "at": iso(message.get("date_unixtime")) or message.get("date", ""),
        "id": message.get("id"),
        CHAT: chat,
    }


TELEGRAM = Format(name="Telegram", knows=_telegram_knows, read=_telegram_read)


# ------------------------------------------------------------------- mem0
# What Mem0's ``get_all`` returns, as JSON: a list of memories, or {"results": […]}.
#
# A memory becomes a note, which holds since the memory was made.


def _mem0_knows(sample: Sample) -> bool:
    return any(sample.has(f"{place}.memory") for place in ("", "[]", ".results[]", "[].results[]"))


def _mem0_read(text: Text, report: Report) -> Iterator[Piece]:
    return pieces(_mem0_rows(text.json().rows()), report, "memory")


def _mem0_rows(documents: Iterator[Row]) -> Iterator[Row]:
    for document in documents:
        for one in objects(document.get("results", document)):
            if isinstance(one.get("memory"), str):
                yield {"note": one["memory"], "at": one.get("created_at") or ""}


MEM0 = Format(name="Mem0", knows=_mem0_knows, read=_mem0_read)


# ------------------------------------------------------------------- messages
# Lists of messages with "role" and "content", as LLM services take them.
#
# A list, {"messages": […]}, a list of those, or one of those a line, as for fine-tuning. Messages of
# the system and of tools are left out.


_PLACES = (".messages[]", "[].messages[]", "[]")


def _messages_knows(sample: Sample) -> bool:
    return any(
        sample.has(f"{place}.role") or sample.has(f"{place}.text", f"{place}.speaker")
        for place in _PLACES
    ) or sample.has("[].text")


def _messages_read(text: Text, report: Report) -> Iterator[Piece]:
    return pieces(_messages_rows(text), report)


def _messages_rows(text: Text) -> Iterator[Row]:
    several = _messages_a_line_each(text.sample) or text.sample.has("[].messages")
    for number, one in enumerate(text.json().rows(), start=1):
        if "messages" in one:
            label = str(one.get("id") or (f"conversation {number}" if several else ""))
            for message in objects(one["messages"]):
                yield from _messages_row(message, label)
        else:
            yield from _messages_row(one, "")


def _messages_a_line_each(sample: Sample) -> bool:
    return all(line[0] == "{" for line in sample.lines[:2]) and len(sample.lines) > 1


def _messages_row(message: Row, label: str) -> Iterator[Row]:
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


MESSAGES = Format(name="messages with roles", knows=_messages_knows, read=_messages_read)
