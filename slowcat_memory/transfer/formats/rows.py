"""Our own rows, as JSON lines or in a JSON list, read and written: turns and notes.

A turn, as ``export`` writes it; only "text" is required::

    {"text": "My dog is called Max.", "speaker": "Anna", "role": "user",
     "at": "2024-05-12T18:30:00+02:00", "session": "evening", "id": "17"}

"at" is ISO 8601. "role" is "user" or "assistant", by default "assistant" for a speaker of the name
"assistant", "agent" or "bot". "session" groups turns; without it, a pause of an hour separates
sessions. "id" is kept as the turn's origin. "content" is read as "text", as in the messages that an
LLM takes; those of the system and of tools are left out. Our export adds "scope" and, where they
apply, "channel", "interrupted", "tools", "cut", "aside", "pinned", "local_only" and "muted".

A note: ``{"note": "Allergic to nuts.", "speaker": "Anna", "pinned": true}``.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from itertools import islice
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from slowcat_memory.core.memory import NOTE, chunk_id
from slowcat_memory.core.text.normalize import clean
from slowcat_memory.records import Memory, Turn
from slowcat_memory.store import Snapshot
from slowcat_memory.transfer import transcript
from slowcat_memory.transfer.transcript import AGENTS, Note, Piece, label_of, marks_of, name_of

PART = 1000  # turns that are read in one snapshot
MOST_TOOLS = 100
MOST_CUT = 2**53  # the largest integer that every JSON reader keeps
PEOPLE = frozenset({"user", "human"})
MACHINES = frozenset({"system", "developer", "tool", "function"})
Name = str | int | float | None
_TEXTS = frozenset({"text", "note", "content"})
_NAMES = (".jsonl", ".ndjson")


class _Row(transcript.Marked, frozen=True, kw_only=True):
    """A turn or a note; ``Any`` where odd values of other programs cost nothing but themselves."""

    text: str | None = None
    content: str | list[Any] | None = None
    note: str | None = None
    speaker: Name = None
    role: Any = None
    at: str | None = None
    session: Name = None
    id: Name = None
    scope: str | None = None
    importance: Annotated[float, Meta(ge=0, le=1)] = 0.8
    channel: Any = None
    tools: Any = None
    cut: Any = 0
    interrupted: bool = False
    aside: bool = False


def _knows(text: transcript.Text) -> bool:
    """Return whether there are rows; of a damaged first line the others, or the name, decide."""
    if text.name.endswith(_NAMES) or any(map(_is_row, text.beginning[:50])):
        return True
    return bool(text.is_json and text.keys & {"role", "speaker"} and text.keys & _TEXTS)


def _is_row(line: str) -> bool:
    try:
        return line.startswith("{") and not _TEXTS.isdisjoint(json.loads(line))
    except (ValueError, RecursionError):
        return False


def _read(text: transcript.Text, report: transcript.Report) -> Iterator[Piece]:
    rows = text.lines(report)
    if text.is_list:
        rows = ((number, str(raw, "utf-8")) for number, raw in enumerate(text.objects, start=1))
    for number, line in rows:
        if line.strip():
            try:
                yield _piece(line, number)
            except (ValueError, RecursionError) as error:
                report(transcript.fault(number, error))


def _piece(line: str, number: int) -> Piece:
    if len(line) > transcript.MOST_VALUES:
        transcript.check_values(line.encode(errors="replace"))
    try:
        row = json.loads(line)
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON: {error.msg} at column {error.colno}") from None
    read = msgspec.convert(row, _Row)
    scope, label = label_of(read.scope), label_of(read.session)
    role = str(read.role).casefold() if read.role is not None else ""
    if read.note is not None:
        return transcript.Placed(said=_note(read), line=number, scope=scope)
    if role in MACHINES or (role in AGENTS and read.text is None and not read.content):
        return transcript.Skipped(line=number, why="messages of the system and of tools")
    if role and role not in AGENTS | PEOPLE:
        raise ValueError(f'role {role[:40]!r} is neither "user" nor "assistant"')
    return transcript.Placed(said=_utterance(read, number), line=number, session=label, scope=scope)


def _note(row: _Row) -> Note:
    return Note(
        text=_clean(row.note or "")[0],
        speaker=name_of(row.speaker),
        at=transcript.time_of(row.at),
        importance=row.importance,
        **marks_of(row),
    )


def _utterance(row: _Row, number: int) -> transcript.Utterance:
    words = transcript.text_of(row.content) if row.text is None else row.text
    if row.text is None and row.content is None:
        raise ValueError('no "text"')
    text, cut = _clean(words)
    speaker, tools = name_of(row.speaker), row.tools if isinstance(row.tools, list) else []
    already = row.cut if isinstance(row.cut, int) and row.cut > 0 else 0
    return transcript.Utterance(
        speaker=speaker,
        text=text,
        role=transcript.role_of(speaker if row.role is None else str(row.role)),
        at=transcript.time_of(row.at),
        origin=label_of(row.id) or str(number),
        cut=cut + min(already, MOST_CUT),
        channel="voice" if row.channel == "voice" else "text",
        tools=tuple(map(name_of, tools[:MOST_TOOLS])),
        interrupted=row.interrupted,
        aside=row.aside,
        **marks_of(row),
    )


def _clean(words: str) -> tuple[str, int]:
    text, cut = clean(words)
    if not text:
        raise ValueError("the text is empty")
    return text, cut


# ------------------------------------------------------------------- written


def export(
    snapshots: Callable[[], AbstractContextManager[Snapshot]], scope: str = "", but: str = ""
) -> Iterator[dict[str, Any]]:
    """Yield turns and notes as rows: by scope, turns in order, then notes.

    Derived data is excluded, because it is derived again after an import. So are forgotten turns
    that are not erased yet. No snapshot is held while its rows are written.

    Args:
        snapshots: Opens a snapshot of the store.
        scope: Only this namespace; "" for all.
        but: A namespace that is exported only when ``scope`` names it.
    """
    with snapshots() as snapshot:
        names = [scope] if scope else [name for name in snapshot.scopes() if name != but]
    for name in names:
        after: int | None = 0
        while after is not None:
            with snapshots() as snapshot:
                pending = [row for row in snapshot.commands() if row.state == "done" and row.due]
                forgotten = {turn for row in pending for turn in row.turns}
                logged = (turn for turn in snapshot.turns(name, after) if turn.id not in forgotten)
                turns = list(islice(logged, PART))
                rows = [turn_row(turn, snapshot.memory(name, chunk_id(turn.id))) for turn in turns]
                notes = () if turns else snapshot.memories(name, f"{NOTE}/")
                rows += [note_row(note) for note in notes if note.retired_at is None]
            yield from rows
            after = turns[-1].id if turns else None


def turn_row(turn: Turn, chunk: Memory | None) -> dict[str, Any]:
    """Return the row of a turn, without default values; ``chunk`` adds the user's marks."""
    row: dict[str, Any] = {
        "id": str(turn.id),
        "scope": turn.scope,
        "session": turn.session,
        "at": turn.at.isoformat(),
        "speaker": turn.speaker,
        "role": turn.role,
        "text": turn.text,
    }
    unusual = {
        "channel": "voice" if turn.channel == "voice" else "",
        "interrupted": turn.interrupted,
        "tools": list(turn.tools),
        "cut": turn.cut,
        "aside": turn.aside,
        **(marks_of(chunk) if chunk else {}),
    }
    return row | {key: value for key, value in unusual.items() if value}


def note_row(memory: Memory) -> dict[str, Any]:
    row: dict[str, Any] = {
        "note": memory.text,
        "scope": memory.scope,
        "at": memory.valid_from.isoformat(),
        "speaker": memory.speaker,
        "importance": memory.importance,
    }
    return row | {name: True for name, on in marks_of(memory).items() if on}


FORMAT = transcript.Format(name="JSON lines", knows=_knows, read=_read)
