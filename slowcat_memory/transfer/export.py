"""Writes the log as JSON rows that ``read`` reads back."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from itertools import islice
from typing import Any

from slowcat_memory.core.memory import NOTE, chunk_id
from slowcat_memory.records import Memory, Turn
from slowcat_memory.store import Snapshot
from slowcat_memory.transfer.transcript import marks_of

Row = dict[str, Any]
PART = 1000  # turns that are read in one snapshot


def export(
    snapshots: Callable[[], AbstractContextManager[Snapshot]], scope: str = "", but: str = ""
) -> Iterator[Row]:
    """Yield turns and notes as ``transfer.jsonl`` rows: by scope, turns in order, then notes.

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


def turn_row(turn: Turn, chunk: Memory | None) -> Row:
    """Return the row of a turn, without default values; ``chunk`` adds the user's marks."""
    row: Row = {
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


def note_row(memory: Memory) -> Row:
    row: Row = {
        "note": memory.text,
        "scope": memory.scope,
        "at": memory.valid_from.isoformat(),
        "speaker": memory.speaker,
        "importance": memory.importance,
    }
    return row | {name: True for name, on in marks_of(memory).items() if on}
