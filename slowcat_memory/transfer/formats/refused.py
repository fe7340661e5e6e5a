"""Files that are known and not read: each is named, with what to do instead."""

import re
from collections.abc import Callable

from msgspec import Struct

from slowcat_memory.transfer.formats.format import Sample

OTHER = "`slowcat-memory import --help` lists the formats."


class Refused(Struct, frozen=True, kw_only=True):
    """A kind of files that is not read."""

    name: str  # with its article: "a Slack export"
    hint: str = OTHER
    chat: bool = True  # False for what may lie beside a chat: then it is left out silently


class _Magic(Struct, frozen=True):
    begin: bytes
    at: int
    kind: Refused


def _beside(name: str, hint: str = OTHER) -> Refused:
    return Refused(name=name, hint=hint, chat=False)


_UNPACK = "Unpack it, and import the folder."
_MAGIC = (
    _Magic(b"%PDF", 0, _beside("a PDF document", "Save its text as a .txt file.")),
    _Magic(b"\xd0\xcf\x11\xe0", 0, _beside("an old Office document", "Save it as text.")),
    _Magic(b"SQLite format 3\0", 0, _beside("an SQLite database")),
    _Magic(b"\x89PNG", 0, _beside("a picture")),
    _Magic(b"\xff\xd8\xff", 0, _beside("a picture")),
    _Magic(b"GIF8", 0, _beside("a picture")),
    _Magic(b"RIFF", 0, _beside("a recording or a picture")),
    _Magic(b"OggS", 0, _beside("a recording")),
    _Magic(b"ID3", 0, _beside("a recording")),
    _Magic(b"fLaC", 0, _beside("a recording")),
    _Magic(b"ftyp", 4, _beside("a film")),
    _Magic(b"7z\xbc\xaf\x27\x1c", 0, Refused(name="a 7z archive", hint=_UNPACK)),
    _Magic(b"Rar!", 0, Refused(name="a RAR archive", hint=_UNPACK)),
    _Magic(b"BZh", 0, Refused(name="a bzip2 archive", hint=_UNPACK)),
    _Magic(b"\xfd7zXZ\0", 0, Refused(name="an xz archive", hint=_UNPACK)),
    _Magic(b"ustar", 257, Refused(name="a tar archive", hint=_UNPACK)),
)
OFFICE = _beside("an Office document", "Save it as plain text or CSV.")


def by_bytes(start: bytes) -> Refused | None:
    """Return which kind of files begins so, of those that are no text."""
    return next(
        (m.kind for m in _MAGIC if start[m.at : m.at + len(m.begin)] == m.begin),
        None,
    )


_AS_JSON = "Export it as JSON instead."
_JSON: tuple[tuple[tuple[str, ...], Refused], ...] = (
    (("[].ts", "[].user"), Refused(name="a Slack export")),
    (("[].ts", "[].text"), Refused(name="a Slack export")),
    (("[].is_general",), Refused(name="a Slack export")),
    ((".guild", ".channel"), Refused(name="a Discord export")),
    (("[].ID", "[].Contents"), Refused(name="a Discord export")),
    ((".messages[].sender_name",), Refused(name="a Messenger or Instagram export")),
    ((".messages[].creator",), Refused(name="a Google Chat export")),
    (("[].header", "[].titleUrl"), Refused(name="a Google activity export (Gemini)")),
    (("[].header", "[].products"), Refused(name="a Google activity export (Gemini)")),
    ((".conversations[].MessageList",), Refused(name="a Skype export")),
    (("[].chat.history",), Refused(name="an Open WebUI export", hint="Export one chat as text.")),
    ((".messages[].versions",), Refused(name="an LM Studio conversation")),
    (("[].conversations[].value",), Refused(name="a ShareGPT data set")),
    ((".chunkedPrompt",), Refused(name="a Google AI Studio prompt")),
    ((".rooms", ".export_date"), Refused(name="a Matrix export")),
    ((".messages[].content.msgtype",), Refused(name="a Matrix export")),
    ((".agents", ".blocks"), Refused(name="a Letta agent file")),
    (("[].email_address",), _beside("a list of accounts")),
    ((".email", ".id"), _beside("an account")),
    (("[].conversation_id", "[].title"), _beside("a list of shared conversations")),
    (("[].docs", "[].name"), _beside("a list of projects")),
)

_TEXT: tuple[tuple[Callable[[Sample], object], Refused], ...] = (
    (
        lambda sample: re.match(r"<(?:!doctype|html|head|\?xml)", sample.first.strip(), re.I),
        _beside("a web page", _AS_JSON),
    ),
    (
        lambda sample: sample.first.startswith("[LINE]"),
        Refused(name="a LINE export"),
    ),
    (
        lambda sample: re.match(r"From \S+@\S+ ", sample.first) or _is_mail(sample),
        Refused(name="a mailbox of e-mail"),
    ),
    (lambda sample: sample.first.startswith("{\\rtf"), Refused(name="an RTF document",
                                                               hint="Save it as plain text.")),
    (lambda sample: sample.first.startswith("BEGIN:VC"), _beside("a contact or a calendar")),
)  # fmt: skip


def _is_mail(sample: Sample) -> bool:
    heads = {line.partition(":")[0].casefold() for line in sample.lines[:40] if ":" in line}
    return {"from", "subject", "message-id"} <= heads


def by_text(sample: Sample, *, chat: bool) -> Refused | None:
    """Return which kind of files a text is, of those that are known and not read.

    Args:
        chat: Whether to look among chats, or among what may lie beside one.
    """
    if sample.is_json:
        kinds = (kind for paths, kind in _JSON if sample.has(*paths))
    else:
        kinds = (kind for knows, kind in _TEXT if knows(sample))
    return next((kind for kind in kinds if kind.chat is chat), None)
