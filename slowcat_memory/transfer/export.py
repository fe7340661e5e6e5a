"""Writes the log as JSON rows that ``read`` reads back."""

from collections.abc import Iterator
from typing import Any

from slowcat_memory.core.memory import SUMMARY, turn_of
from slowcat_memory.core.summaries.summary import archival, current
from slowcat_memory.records import Memory, Turn
from slowcat_memory.store import Snapshot

Row = dict[str, Any]


def export(snapshot: Snapshot, scope: str = "", but: str = "") -> Iterator[Row]:
    """Yield turns and notes as ``transfer.jsonl`` rows: by scope, turns in order, then notes.

    Derived data is excluded, because it is derived again after an import. So are forgotten turns
    that are not erased yet.

    Args:
        scope: Only this namespace; "" for all.
        but: A namespace that is exported only when ``scope`` names it.
    """
    pending = (entry for entry in snapshot.commands() if entry.state == "done" and entry.due)
    forgotten = {turn for entry in pending for turn in entry.turns}
    for name in [scope] if scope else [name for name in snapshot.scopes() if name != but]:
        kept = list(snapshot.memories(name))
        chunks = {turn_of(memory.id): memory for memory in kept}
        for turn in snapshot.turns(name):
            if turn.id not in forgotten:
                yield turn_row(turn, chunks.get(turn.id))
        for memory in kept:
            if memory.kind == "note" and memory.retired_at is None:
                yield note_row(memory)


def export_summaries(snapshot: Snapshot, scope: str = "", but: str = "") -> Iterator[str]:
    """Yield the current summaries as standalone texts, by scope, oldest first.

    See ``core.summaries.summary.archival``. Arguments as in ``export``.
    """
    for name in [scope] if scope else [name for name in snapshot.scopes() if name != but]:
        found = current(snapshot.memories(name, f"{SUMMARY}/"))
        for memory in sorted(found, key=lambda m: (m.valid_from, m.kind, m.id)):
            yield archival(memory)


def turn_row(turn: Turn, chunk: Memory | None = None) -> Row:
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
        "pinned": chunk is not None and chunk.pinned,
        "local_only": chunk is not None and chunk.local_only,
        "muted": chunk is not None and chunk.muted,
    }
    return row | {key: value for key, value in unusual.items() if value}


def note_row(memory: Memory) -> Row:
    row: Row = {
        "note": memory.text,
        "scope": memory.scope,
        "at": memory.valid_from.isoformat(),
        "speaker": memory.speaker,
        "pinned": memory.pinned,
        "importance": memory.importance,
    }
    marks = {"local_only": memory.local_only, "muted": memory.muted}
    return row | {name: True for name, on in marks.items() if on}
