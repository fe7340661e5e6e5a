"""Writes the log as JSON rows that ``read`` reads back."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from itertools import islice
from typing import Any

from slowcat_memory.core.memory import NOTE, chunk_id
from slowcat_memory.records import Memory, Turn
from slowcat_memory.store import Snapshot

Row = dict[str, Any]
PART = 1000  # turns that are read in one snapshot


def export(snapshot: Snapshot, scope: str = "", but: str = "") -> Iterator[Row]:
    """Yield turns and notes as ``transfer.jsonl`` rows: by scope, turns in order, then notes.

    Derived data is excluded, because it is derived again after an import. So are forgotten turns
    that are not erased yet.

    Args:
        scope: Only this namespace; "" for all.
        but: A namespace that is exported only when ``scope`` names it.
    """
    return export_in_parts(lambda: nullcontext(snapshot), scope, but)


def export_in_parts(
    snapshots: Callable[[], AbstractContextManager[Snapshot]], scope: str = "", but: str = ""
) -> Iterator[Row]:
    """Yield rows as ``export`` does; no snapshot is held while its rows are written."""
    with snapshots() as snapshot:
        names = list(_scopes(snapshot, scope, but))
    for name in names:
        after: int | None = 0
        while after is not None:
            with snapshots() as snapshot:
                turns = list(islice(_turns(snapshot, name, after), PART))
                rows = [turn_row(one, snapshot.memory(name, chunk_id(one.id))) for one in turns]
                notes = () if turns else snapshot.memories(name, f"{NOTE}/")
                rows += [note_row(one) for one in notes if one.retired_at is None]
            yield from rows
            after = turns[-1].id if turns else None


def _turns(snapshot: Snapshot, scope: str, after: int) -> Iterator[Turn]:
    pending = (entry for entry in snapshot.commands() if entry.state == "done" and entry.due)
    forgotten = {turn for entry in pending for turn in entry.turns}
    return (turn for turn in snapshot.turns(scope, after) if turn.id not in forgotten)


def _scopes(snapshot: Snapshot, scope: str, but: str) -> Iterable[str]:
    return [scope] if scope else (name for name in snapshot.scopes() if name != but)


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
        **(_marks(chunk) if chunk else {}),
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
    return row | {name: True for name, on in _marks(memory).items() if on}


def _marks(memory: Memory) -> dict[str, bool]:
    return {name: getattr(memory, name) for name in ("pinned", "local_only", "muted")}
