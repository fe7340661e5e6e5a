"""Exports in JSON of chat programs and of memories."""

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import Any, TypeVar

import msgspec
from msgspec import Raw, Struct, field

from slowcat_memory.core.text.normalize import clean
from slowcat_memory.errors import TranscriptError
from slowcat_memory.records import Role
from slowcat_memory.transfer import transcript
from slowcat_memory.transfer.transcript import Format, Note, Piece, Placed, Report, Text, label_of

Decoded = TypeVar("Decoded")
Time = str | float | None  # ISO 8601, or seconds since 1970


def _decoded(
    every: Iterable[Raw], kind: type[Decoded], noun: str, report: Report
) -> Iterator[tuple[int, Decoded]]:
    """Yield the numbered values that are of a kind; report the others."""
    for number, raw in enumerate(every, start=1):
        try:
            yield number, msgspec.json.decode(raw, type=kind)
        except (ValueError, RecursionError) as error:
            report(TranscriptError(f"{noun} {number}: {error}"))


def _time(at: Time) -> datetime | None:
    if isinstance(at, str) and not at.isdecimal():
        return transcript.time_of(at)
    return datetime.fromtimestamp(float(at), UTC) if at else None


def _turn(
    number: int, role: Role, content: Any, at: Time, report: Report, **of: str
) -> Iterator[Placed]:
    """Yield the turn of a message; nothing without text, as of a picture.

    Args:
        of: "speaker", "session", "conversation" and "origin", as far as they are known.
    """
    text, cut = clean(transcript.text_of(content))
    origin = of.pop("origin", str(number))
    try:
        utterance = transcript.Utterance(
            speaker=transcript.name_of(of.pop("speaker", "")),
            text=text, role=role, at=_time(at), origin=label_of(origin), cut=cut,
        )  # fmt: skip
    except (ValueError, OverflowError, OSError) as error:
        report(TranscriptError(f"message {number}: {error}"))
    else:
        if text:
            yield Placed(said=utterance, line=number, **{key: label_of(of[key]) for key in of})


# ------------------------------------------------------------------- chatgpt
# A list of conversations, each a tree of messages: edited and regenerated messages branch it. The
# branch that the app shows is read.


class _Author(Struct):
    role: str = ""


class _Content(Struct):
    parts: Any = ""


class _GptMessage(Struct):
    author: _Author
    content: _Content
    create_time: Time = None


class _Node(Struct):
    message: _GptMessage | None = None
    parent: str | None = None


class _GptTalk(Struct):
    mapping: dict[str, _Node]
    current_node: str | None = None
    id: str | None = None
    conversation_id: str | None = None
    create_time: Time = None


def _chatgpt(text: Text, report: Report) -> Iterator[Piece]:
    count = 0
    for number, talk in _decoded(text.objects, _GptTalk, "conversation", report):
        label = talk.id or talk.conversation_id or f"conversation {number}"
        place, branch = talk.current_node or next(reversed(talk.mapping), ""), list[_GptMessage]()
        while node := talk.mapping.pop(place, None):  # a circle ends, too
            branch += [node.message] if node.message else []
            place = node.parent or ""
        for message in reversed(branch):
            role: Role = "assistant" if message.author.role == "assistant" else "user"
            if role == message.author.role:
                count += 1
                when = message.create_time or talk.create_time
                yield from _turn(count, role, message.content.parts, when, report, session=label)


# ------------------------------------------------------------------- claude


class _ClaudeMessage(Struct):
    sender: str = ""
    text: Any = ""
    content: Any = ""
    created_at: Time = None


class _ClaudeTalk(Struct):
    chat_messages: list[_ClaudeMessage]
    uuid: str = ""
    created_at: Time = None


def _claude(text: Text, report: Report) -> Iterator[Piece]:
    count = 0
    for number, talk in _decoded(text.objects, _ClaudeTalk, "conversation", report):
        label = talk.uuid or f"conversation {number}"
        for message in talk.chat_messages:
            count += 1
            role: Role = "assistant" if message.sender == "assistant" else "user"
            words, at = message.text or message.content, message.created_at or talk.created_at
            yield from _turn(count, role, words, at, report, session=label)


# ------------------------------------------------------------------- telegram
# One chat, or all of them, as "Export as JSON" writes it.


class _TelegramMessage(Struct):
    type: str = "message"
    sender: str | None = field(name="from", default=None)
    from_id: str | None = None
    text: Any = ""
    date: str = ""
    date_unixtime: Time = None
    id: int = 0


class _TelegramChat(Struct):
    messages: list[Raw] = []
    name: str | None = None


class _TelegramChats(Struct):
    list: list[_TelegramChat]


class _Account(Struct):
    user_id: int | str = ""


class _Telegram(_TelegramChat):
    chats: _TelegramChats | None = None
    personal_information: _Account | None = None


def _telegram(text: Text, report: Report) -> Iterator[Piece]:
    for _, export in _decoded(text.objects, _Telegram, "export", report):
        if export.chats is None:
            yield from _telegram_chat(export.messages, "", "", report)
            continue
        me = f"user{export.personal_information.user_id}" if export.personal_information else ""
        for number, chat in enumerate(export.chats.list, start=1):
            yield from _telegram_chat(chat.messages, chat.name or f"chat {number}", me, report)


def _telegram_chat(messages: list[Raw], chat: str, me: str, report: Report) -> Iterator[Piece]:
    for number, row in _decoded(messages, _TelegramMessage, "message", report):
        if row.type == "message":
            speaker = "" if me and row.from_id == me else row.sender or "Somebody"
            at, id = row.date_unixtime or row.date, str(row.id or number)
            yield from _turn(
                number, "user", row.text, at, report, speaker=speaker, origin=id, conversation=chat
            )


# ------------------------------------------------------------------- mem0
# What ``get_all`` returns: a list of memories, or {"results": […]}. A memory becomes a note, which
# holds since the memory was made.


class _Mem0Memory(Struct):
    memory: str
    created_at: Time = None


class _Mem0Results(Struct):
    results: list[Raw]


def _mem0(text: Text, report: Report) -> Iterator[Piece]:
    memories = text.objects
    if "results" in text.keys:
        memories = msgspec.json.decode(text.objects[0], type=_Mem0Results).results
    for number, memory in _decoded(memories, _Mem0Memory, "memory", report):
        try:
            note = Note(text=clean(memory.memory)[0], at=_time(memory.created_at))
        except ValueError as error:
            report(TranscriptError(f"memory {number}: {error}"))
        else:
            yield Placed(said=note, line=number)


def _format(name: str, read: Callable[[Text, Report], Iterator[Piece]], *keys: set[str]) -> Format:
    """Return a format that knows its files by some sets of keys."""
    return Format(name=name, read=read, knows=lambda text: any(k <= text.keys for k in keys))


FORMATS = (
    _format("ChatGPT", _chatgpt, {"mapping"}),
    _format("Claude", _claude, {"chat_messages"}),
    _format("Telegram", _telegram, {"messages", "type"}, {"chats", "personal_information"}),
    _format("Mem0", _mem0, {"memory"}, {"results"}),
)
