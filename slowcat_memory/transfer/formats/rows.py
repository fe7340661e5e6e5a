"""Our own JSON lines: each is a turn, a note, or a whole conversation.

A turn, as ``export`` writes it; only "text" is required::

    {"text": "My dog is called Max.", "speaker": "Anna", "role": "user",
     "at": "2024-05-12T18:30:00+02:00", "session": "evening", "id": "17"}

"at" is ISO 8601. "role" is "user" or "assistant", by default "assistant" for a speaker of the name
"assistant", "agent" or "bot". "session" groups turns; without it, a pause of an hour separates
sessions. "id" is kept as the turn's origin. "content" is read as "text", as in chat logs. Our export
adds "scope" and, where they apply, "channel", "interrupted", "tools", "cut", "aside", "pinned",
"local_only" and "muted".

A note: ``{"note": "Allergic to nuts.", "speaker": "Anna", "pinned": true}``.

A conversation, as in evaluation sets: ``{"conversation_id", "sessions": [{"session_id",
"started_at", "turns": [{"turn_id", "speaker", "role", "text", "image_caption"?, "at"?}]}]}``.
"""

import json
from collections.abc import Iterator
from typing import Any

from slowcat_memory.core.text.normalize import clean
from slowcat_memory.records import Role
from slowcat_memory.transfer.formats.format import Break, Format, Piece, Placed, Sample, Text
from slowcat_memory.transfer.transcript import (
    AGENTS,
    Line,
    Note,
    Report,
    Utterance,
    fault,
    label_of,
    name_of,
    role_of,
    time_of,
)

MOST_TOOLS = 100
MOST_CUT = 2**53  # the largest integer that every JSON reader keeps
PEOPLE = frozenset({"user", "human"})
Row = dict[str, Any]
_KEYS = (".text", ".note", ".content", ".sessions")
_NAMES = (".jsonl", ".ndjson", ".jsonl.gz", ".jsonl.zst")


def _knows(sample: Sample) -> bool:
    """Return whether the lines are rows; of a damaged first line the others, or the name, decide."""
    if sample.is_json and any(sample.has(key) for key in _KEYS):
        return True
    return sample.name.endswith(_NAMES) or any(map(_is_row, sample.lines[:50]))


def _is_row(line: str) -> bool:
    try:
        row = _object(line) if line.startswith("{") else {}
    except (ValueError, RecursionError):
        return False
    return any(key[1:] in row for key in _KEYS)


def _read(text: Text, report: Report) -> Iterator[Piece]:
    for number, line in text.lines(report):
        if line.strip():
            yield from _pieces((number, line), report)


def _pieces(line: Line, report: Report) -> Iterator[Piece]:
    number, text = line
    try:
        row = _object(text)
        if "sessions" in row:
            yield from _conversation(row, number, report)
        else:
            yield placed(row, number)
    except (ValueError, RecursionError) as error:
        report(fault(number, error))


def _object(text: str) -> Row:
    try:
        row = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON: {error.msg} at column {error.colno}") from None
    if not isinstance(row, dict):
        raise ValueError("not a JSON object")
    return row


def placed(row: Row, number: int) -> Placed:
    """Return the turn or note of a row.

    Raises:
        ValueError: It is neither.
    """
    said = _note(row) if "note" in row else _utterance(row, _role(row), str(number))
    session = "" if "note" in row else label_of(row.get("session"))
    return Placed(said=said, line=number, session=session, scope=label_of(row.get("scope")))


def _note(row: Row) -> Note:
    importance = row.get("importance", 0.8)
    if not isinstance(importance, int | float) or not 0 <= importance <= 1:
        raise ValueError('"importance" is not a number from 0 to 1')
    return Note(
        text=_text(row, "note")[0],
        speaker=name_of(row.get("speaker")),
        at=time_of(row.get("at")),
        pinned=row.get("pinned") is True,
        importance=float(importance),
        local_only=row.get("local_only") is True,
        muted=row.get("muted") is True,
    )


def _utterance(row: Row, role: Role, origin: str, id_key: str = "id") -> Utterance:
    text, cut = _text(row, "text" if "text" in row else "content")
    already = row.get("cut", 0)
    tools = row.get("tools") or ()
    return Utterance(
        speaker=name_of(row.get("speaker")),
        text=text,
        role=role,
        at=time_of(row.get("at")),
        origin=label_of(row.get(id_key)) or origin,
        cut=cut + _count(already),
        channel="voice" if row.get("channel") == "voice" else "text",
        interrupted=row.get("interrupted") is True,
        aside=row.get("aside") is True,
        tools=tuple(map(name_of, tools[:MOST_TOOLS])) if isinstance(tools, list) else (),
        pinned=row.get("pinned") is True,
        local_only=row.get("local_only") is True,
        muted=row.get("muted") is True,
    )


def _count(value: object) -> int:
    """Return a number of characters that a record can hold, 0 for anything else."""
    return min(value, MOST_CUT) if isinstance(value, int) and value > 0 else 0


def _text(row: Row, key: str) -> tuple[str, int]:
    said = row.get(key)
    if not isinstance(said, str):
        raise ValueError('no "text"' if said is None else f'"{key}" is not a string')
    if caption := row.get("image_caption"):
        said = f"{said} (photo: {caption})".strip()
    text, cut = clean(said)
    if not text:
        raise ValueError("the text is empty")
    return text, cut


def _role(row: Row) -> Role:
    role = row.get("role")
    if role is None:
        return role_of(name_of(row.get("speaker")))
    known = str(role).casefold()
    if known in AGENTS:
        return "assistant"
    if known in PEOPLE:
        return "user"
    raise ValueError(f'role {str(role)[:40]!r} is neither "user" nor "assistant"')


def _conversation(row: Row, number: int, report: Report) -> Iterator[Piece]:
    name = label_of(row.get("conversation_id")) or f"line {number}"
    for place, session in enumerate(_list(row, "sessions"), start=1):
        try:
            yield from _session(session, name, place, number, report)
        except ValueError as error:
            report(fault(number, f"session {place}: {error}"))


def _session(row: Any, name: str, place: int, number: int, report: Report) -> Iterator[Piece]:
    if not isinstance(row, dict):
        raise ValueError("not a JSON object")
    turns = _list(row, "turns")
    label = label_of(row.get("session_id")) or f"{name}/{place}"
    started = None
    try:
        started = time_of(row.get("started_at"))
    except ValueError as error:
        report(fault(number, f"session {label}: {error}"))
    yield Break(line=number, label=label, started=started, conversation=name)
    for at, turn in enumerate(turns, start=1):
        try:
            said = _turn(turn, f"{label}:{at}")
        except ValueError as error:
            report(fault(number, f"session {label}, turn {at}: {error}"))
        else:
            yield Placed(said=said, line=number, session=label, conversation=name)


def _turn(row: Any, origin: str) -> Utterance:
    """Read a turn of a conversation; its speakers may have any role, such as "A" and "B"."""
    if not isinstance(row, dict):
        raise ValueError("not a JSON object")
    role: Role = "assistant" if str(row.get("role")).casefold() in AGENTS else "user"
    return _utterance(row, role, origin, "turn_id")


def _list(row: Row, key: str) -> list[Any]:
    value = row.get(key)
    if not isinstance(value, list):
        raise ValueError(f'"{key}" is not a list')
    return value


FORMAT = Format(name="JSON lines", knows=_knows, read=_read)
