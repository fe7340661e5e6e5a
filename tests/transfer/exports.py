"""Export files of made-up people, as the apps write them: each with what must be read from it."""

import json
from collections.abc import Callable
from typing import Any

from msgspec import Struct

DOG, GOOD = "My dog is called Max.", "What a good name!"
AT = 1_715_531_400  # 2024-05-12 16:30 UTC
UTC_TIME = "2024-05-12T16:30:00+00:00"
LOCAL_TIME = "2024-05-12T18:30:00"


class Export(Struct, frozen=True, kw_only=True):
    """A file, and what must be read from it."""

    content: str | bytes
    format: str
    said: list[tuple[str, str, str]]  # speaker, role ("u" or "a") and text
    first: str = ""  # the time of the first turn, "" for none
    sessions: int = 1
    notes: tuple[str, ...] = ()
    skipped: int = 0


USER, AGENT = ("", "u", DOG), ("", "a", GOOD)
ANNA, BEN = ("Anna", "u", DOG), ("Ben", "u", GOOD)
ANNA_BOT = [ANNA, ("Assistant", "a", GOOD)]


def as_json(document: Any, indent: int | None = None) -> str:
    return json.dumps(document, indent=indent, ensure_ascii=False)


def chatgpt() -> list[Any]:
    def node(role: str, text: str, parent: str, at: int = AT) -> dict[str, Any]:
        message = {"author": {"role": role}, "content": {"parts": [text]}, "create_time": at}
        return {"message": message, "parent": parent}

    mapping = {
        "root": {"message": None, "parent": None},
        "s": node("system", "You are helpful.", "root"),
        "old": node("user", "My cat is called Mimi.", "s"),
        "a": node("user", DOG, "s"),
        "t": node("tool", "{}", "a"),
        "b": node("assistant", GOOD, "t", AT + 10),
    }
    second = {"x": node("user", "Hello there.", ""), "y": node("assistant", "Hello!", "x")}
    return [
        {"title": "Dogs", "create_time": AT, "mapping": mapping, "current_node": "b", "id": "c1"},
        {"title": "Hi", "create_time": AT, "mapping": second, "current_node": "y", "id": "c2"},
    ]


def claude() -> list[Any]:
    said = [("human", DOG, "2024-05-12T16:30:00Z"), ("assistant", GOOD, "2024-05-12T16:30:10Z")]
    messages = [
        {"uuid": f"m{n}", "sender": who, "text": "", "created_at": at,
         "content": [{"type": "text", "text": text}]}
        for n, (who, text, at) in enumerate(said)
    ]  # fmt: skip
    return [{"uuid": "c1", "name": "Dogs", "account": {"uuid": "a"}, "chat_messages": messages}]


def telegram_messages() -> list[Any]:
    def message(number: int, who: str, text: Any, at: int) -> dict[str, Any]:
        return {"id": number, "type": "message", "date": "2024-05-12T18:30:00",
                "date_unixtime": str(at), "from": who, "from_id": f"user{len(who)}",
                "text": text}  # fmt: skip

    service = {"id": 1, "type": "service", "date": "2024-05-12T18:00:00", "text": ""}
    rich = ["My dog is ", {"type": "bold", "text": "called Max."}]
    photo = message(3, "Ben", "", AT + 5) | {"photo": "photos/1.jpg"}
    return [service, message(2, "Anna", rich, AT), photo, message(4, "Ben", GOOD, AT + 10)]


def telegram() -> dict[str, Any]:
    return {"name": "Ben", "type": "personal_chat", "id": 7, "messages": telegram_messages()}


def telegram_all() -> dict[str, Any]:
    me = {"user_id": 4, "first_name": "Anna", "phone_number": "+00"}  # "user4" is Anna
    later = [{"id": 1, "type": "message", "date": "2023-01-01T10:00:00", "from": "Cleo",
              "from_id": "user9", "text": "Happy new year!"}]  # fmt: skip
    chats = [telegram(), {"name": "Cleo", "type": "personal_chat", "id": 8, "messages": later}]
    return {"about": "Here is the data", "personal_information": me,
            "chats": {"about": "This page lists all chats", "list": chats}}  # fmt: skip


def messages() -> list[Any]:
    return [
        {"role": "system", "content": "You are helpful."},
        {"role": "user", "content": [{"type": "text", "text": DOG}]},
        {"role": "assistant", "content": None, "tool_calls": []},
        {"role": "tool", "content": "{}"},
        {"role": "assistant", "content": GOOD},
    ]


MEM0 = [
    {"id": "1", "memory": "Loves Thai food", "user_id": "anna", "created_at": UTC_TIME},
    {"id": "2", "memory": "Has a dog", "user_id": "anna", "created_at": None},
]

ANDROID = f"""\
12/05/2024, 18:29 - Messages and calls are end-to-end encrypted. Tap to learn more.
12/05/2024, 18:30 - Anna: {DOG[:9]}
{DOG[10:]}
12/05/2024, 18:31 - Ben: <Media omitted>
13/05/2024, 07:00 - Ben changed the subject to "Trip: Rome"
13/05/2024, 07:02 - Ben: {GOOD}
"""
IOS = f"""\
[12.05.24, 18:29:00] Ben: \u200eMessages and calls are end-to-end encrypted.
[12.05.24, 18:30:00] Anna: {DOG}
\u200e[12.05.24, 18:30:30] Anna: \u200eimage omitted
[12.05.24, 18:31:02] ~\u202fBen: {GOOD} \u200e<This message was edited>
"""
TWO = [ANNA, BEN]
SPLIT = [("Anna", "u", f"{DOG[:9]}\n{DOG[10:]}"), BEN]
ROWS = [
    {"text": DOG, "speaker": "Anna", "at": UTC_TIME, "session": "evening"},
    {"text": GOOD, "role": "assistant", "session": "evening"},
    {"note": "Likes tea."},
]

EXPORTS: dict[str, Export] = {
    "own.jsonl": Export(
        content="\n".join(map(as_json, ROWS)), format="JSON lines",
        said=[ANNA, AGENT], first=UTC_TIME, notes=("Likes tea.",),
    ),
    "plain.txt": Export(
        content=f"# 2024-05-12 18:30\nAnna: {DOG}\nAssistant: {GOOD}\n", format="plain text",
        said=ANNA_BOT,
    ),
    "dates on their own lines.txt": Export(
        content=f"2024-05-12 18:30\nAnna: {DOG}\n\n2024-05-14 09:00\nAssistant: {GOOD}\n",
        format="plain text", said=ANNA_BOT, sessions=2,
    ),
    "german dates.txt": Export(
        content=f"--- 12.05.2024 ---\nAnna: {DOG}\nBot: {GOOD}\n", format="plain text",
        said=[ANNA, ("Bot", "a", GOOD)],
    ),
    "whatsapp android.txt": Export(
        content=ANDROID, format="WhatsApp", said=SPLIT, first=LOCAL_TIME, sessions=2, skipped=3,
    ),
    "whatsapp ios.txt": Export(
        content=IOS, format="WhatsApp", said=TWO, first=LOCAL_TIME, skipped=2,
    ),
    "whatsapp us.txt": Export(
        content=f"5/12/24, 6:30\u202fPM - Anna: {DOG}\n5/13/24, 12:05\u202fAM - Ben: {GOOD}\n",
        format="WhatsApp", said=TWO, first=LOCAL_TIME, sessions=2,
    ),
    "whatsapp spain.txt": Export(
        content=f"12/5/24, 6:30\xa0p.\xa0m. - Anna: {DOG}\n13/5/24, 6:31\xa0p.\xa0m. - Ben: {GOOD}\n",
        format="WhatsApp", said=TWO, first=LOCAL_TIME, sessions=2,
    ),
    "whatsapp iso.txt": Export(
        content=f"[2024-05-12, 18:30:00] Anna: {DOG}\n[2024-05-12, 18:31:00] Ben: {GOOD}\n",
        format="WhatsApp", said=TWO, first=LOCAL_TIME,
    ),
    "telegram.json": Export(
        content=as_json(telegram(), 1), format="Telegram", said=TWO, first=UTC_TIME,
    ),
    "telegram all.json": Export(
        content=as_json(telegram_all(), 1), format="Telegram", first=UTC_TIME, sessions=2,
        said=[USER, BEN, ("Cleo", "u", "Happy new year!")],
    ),
    "chatgpt.json": Export(
        content=as_json(chatgpt()), format="ChatGPT", first=UTC_TIME, sessions=2,
        said=[USER, AGENT, ("", "u", "Hello there."), ("", "a", "Hello!")],
    ),
    "chatgpt, one conversation.json": Export(
        content=as_json(chatgpt()[0], 2), format="ChatGPT", said=[USER, AGENT], first=UTC_TIME,
    ),
    "claude.json": Export(
        content=as_json(claude()), format="Claude", said=[USER, AGENT], first=UTC_TIME,
    ),
    "mem0.json": Export(
        content=as_json({"results": MEM0}), format="Mem0", said=[],
        notes=("Loves Thai food", "Has a dog"), sessions=0,
    ),
    "mem0 list.json": Export(
        content=as_json(MEM0, 2), format="Mem0", said=[], notes=("Loves Thai food", "Has a dog"),
        sessions=0,
    ),
    "messages.json": Export(
        content=as_json(messages()), format="JSON lines", said=[USER, AGENT], skipped=3,
    ),
    "utf-16.txt": Export(
        content=f"Anna: {DOG}\r\nBen: {GOOD}\r\n".encode("utf-16"), format="plain text", said=TWO,
    ),
    "utf-16 without a mark.json": Export(
        content=as_json(messages()).encode("utf-16-le"), format="JSON lines",
        said=[USER, AGENT], skipped=3,
    ),
}  # fmt: skip

SLACK = {"type": "message", "user": "U1", "text": DOG, "ts": "1715531400.0002"}
MESSENGER = {
    "participants": [{"name": "Anna"}],
    "messages": [{"sender_name": "Anna", "timestamp_ms": 1, "content": DOG}],
}

REFUSED: dict[str, tuple[str | bytes, str]] = {
    "slack.json": (as_json([SLACK]), "is JSON of no known kind"),
    "messenger.json": (as_json(MESSENGER), "is JSON of no known kind"),
    "chat.html": (f"<!DOCTYPE html><p>{DOG}</p>", "without names of speakers"),
    "paper.pdf": (b"%PDF-1.7\n\xff\xfe\0\0", "is not a text file"),
    "chat.7z": (b"7z\xbc\xaf\x27\x1c" + bytes(90), "is not a text file"),
    "latin.txt": ("Anna: Käse\nBen: Süß\n".encode("cp1252"), "by line 1 it is Latin-1"),
    "novel.txt": ("It was a dark and stormy night\nin May.\n", "without names of speakers"),
    "empty.txt": ("", "is empty"),
    "blank.txt": (" \n\n", "is empty"),
    "noise.bin": (bytes(range(256)) * 9, "is not a text file"),
}
Convert = Callable[[str], bytes]


def content_of(content: str | bytes) -> bytes:
    return content if isinstance(content, bytes) else content.encode()
