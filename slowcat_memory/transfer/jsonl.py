"""JSON lines: each is a turn, a note, or a whole conversation.

A turn, as ``export`` writes it; only "text" is required::

    {"text": "My dog is called Max.", "speaker": "Anna", "role": "user",
     "at": "2024-05-12T18:30:00+02:00", "session": "evening", "id": "17"}

"at" is ISO 8601. "role" is "user" or "assistant", by default "assistant" for a speaker of the name
"assistant", "agent" or "bot". "session" groups turns; without it, a pause of an hour separates
sessions. "id" is kept as the turn's origin. "content" is read as "text", as in chat logs. Our export
adds "scope" and, where they apply, "channel", "interrupted", "tools", "cut", "aside", "pinned" and
"local_only".

A note: ``{"note": "Allergic to nuts.", "speaker": "Anna", "pinned": true}``.

A conversation, as in evaluation sets: ``{"conversation_id", "sessions": [{"session_id",
"started_at", "turns": [{"turn_id", "speaker", "role", "text", "image_caption"?, "at"?}]}]}``.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from slowcat_memory.core.text.normalize import clean
from slowcat_memory.errors import ConfigError
from slowcat_memory.records import Role
from slowcat_memory.runtime.namespaces.registry import check_scope
from slowcat_memory.transfer.transcript import (
    AGENTS,
    Line,
    Note,
    Report,
    SessionGrouper,
    Transcript,
    TranscriptSession,
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


def transcripts(
    lines: Iterable[Line], name: str, report: Report, *, scoped: bool = True
) -> Iterator[Transcript]:
    """Read JSON lines: yield whole conversations in order, then single turns by exporting scope.

    Args:
        name: The conversation's name for single turns.
        report: Called with an error for each unreadable line.
        scoped: Whether a line's "scope" must be a valid name.
    """
    return from_rows(_rows(lines, report), name, report, scoped=scoped)


def _rows(lines: Iterable[Line], report: Report) -> Iterator[tuple[int, Row]]:
    for number, text in lines:
        if text.strip():
            try:
                yield number, _object(text)
            except (ValueError, RecursionError) as error:
                report(fault(number, error))


def from_rows(
    rows: Iterable[tuple[int, Row]], name: str, report: Report, *, scoped: bool = True
) -> Iterator[Transcript]:
    """Read numbered objects as ``transcripts`` reads lines."""
    loose: dict[str, tuple[SessionGrouper, list[Note]]] = {}
    for number, row in rows:
        try:
            if "sessions" in row:
                yield _conversation(row, number, report)
            else:
                scope = label_of(row.get("scope"))
                if scoped and scope:
                    check_scope(scope)
                _add_row(row, number, *loose.setdefault(scope, (SessionGrouper(scope), [])))
        except (ValueError, RecursionError, ConfigError) as error:
            report(fault(number, error))
    for scope, (gathering, notes) in loose.items():
        if (sessions := gathering.sessions()) or notes:
            yield Transcript(conversation=name, sessions=sessions, notes=tuple(notes), scope=scope)


def _object(text: str) -> Row:
    try:
        row = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON: {error.msg} at column {error.colno}") from None
    if not isinstance(row, dict):
        raise ValueError("not a JSON object")
    return row


def _add_row(row: Row, number: int, gathering: SessionGrouper, notes: list[Note]) -> None:
    if "note" in row:
        notes.append(_note(row))
    else:
        utterance = _utterance(row, _role(row), str(number))
        gathering.add(utterance, label_of(row.get("session")))


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
        doubted=row.get("doubted") is True,
        tools=tuple(map(name_of, tools[:MOST_TOOLS])) if isinstance(tools, list) else (),
        pinned=row.get("pinned") is True,
        local_only=row.get("local_only") is True,
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


def _conversation(row: Row, number: int, report: Report) -> Transcript:
    name = label_of(row.get("conversation_id")) or f"line {number}"
    sessions = []
    for place, session in enumerate(_list(row, "sessions"), start=1):
        try:
            sessions.append(_session(session, f"{name}/{place}", number, report))
        except ValueError as error:
            report(fault(number, f"session {place}: {error}"))
    return Transcript(conversation=name, sessions=tuple(s for s in sessions if s.utterances))


def _session(row: Any, default_id: str, number: int, report: Report) -> TranscriptSession:
    if not isinstance(row, dict):
        raise ValueError("not a JSON object")
    name = label_of(row.get("session_id")) or default_id
    utterances = []
    for place, turn in enumerate(_list(row, "turns"), start=1):
        try:
            utterances.append(_turn(turn, f"{name}:{place}"))
        except ValueError as error:
            report(fault(number, f"session {name}, turn {place}: {error}"))
    started = None
    try:
        started = time_of(row.get("started_at"))
    except ValueError as error:
        report(fault(number, f"session {name}: {error}"))
    return TranscriptSession(id=name, started=started, utterances=tuple(utterances))


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
