"""What ``slowcat-memory forget`` would delete, in words; the question, and what was done."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from slowcat_memory.cli.shared.output import count, err, out, row, short, table, warn, when

if TYPE_CHECKING:
    from slowcat_memory.engine.memory import Memory
    from slowcat_memory.records import Forgotten, Turn
    from slowcat_memory.records import Memory as MemoryRecord

SAMPLE = 8  # rows of turns, and rows of notes and facts
READABLE = ("note", "fact", "icebreaker")  # kinds that are shown as they are
NAMED = (*READABLE, "summary", "episode", "block")  # kinds that are counted by name


def print_preview(memory: "Memory", preview: "Forgotten") -> None:
    """Print what would be deleted: the turns and notes as text, the rest in numbers."""
    derived = _derived(preview)
    shown = [key for key in derived if _kind(key[1]) in READABLE][:SAMPLE]
    with memory.snapshot() as snapshot:
        turns = [turn for id_ in preview.turns[:SAMPLE] if (turn := snapshot.turn(id_))]
        notes = [found for key in shown if (found := snapshot.memory(*key))]
    console = err()
    console.print(_table(memory, turns, notes))
    if more := len(preview.turns) - len(turns):
        console.print(f"[dim]… and {more:,} more[/]")
    console.print(_amount(preview), style="bold", highlight=False)
    if any(_kind(id_) == "block" for _, id_ in derived):
        console.print("[dim]Blocks in which it is mentioned are written anew in idle time.[/]")


def _table(memory: "Memory", turns: "list[Turn]", notes: "list[MemoryRecord]") -> "object":
    several = len({*(one.scope for one in turns), *(one.scope for one in notes)}) > 1
    made = table(*(["whose"] if several else []), "when", "who", "text*")
    for turn in turns:
        whose = [turn.scope] if several else []
        row(made, *whose, when(turn.at, memory.zone), turn.speaker, short(turn.text, 120))
    for note in notes:
        whose = [note.scope] if several else []
        kind = _kind(note.id)
        row(made, *whose, when(note.valid_from, memory.zone), f"({kind})", short(note.text, 120))
    return made


def question(folder: Path, *, keep_backups: bool) -> str:
    """Return the question, which names the backups; warns of the files of damaged stores."""
    from slowcat_memory.store import backups_of, damaged_folders

    found, asked = backups_of(folder), "Delete this for good"
    if found:
        days = [f"{backup.at:%Y-%m-%d}" for backup in found]
        dates = days[0] if days[0] == days[-1] else f"{min(days)} to {max(days)}"
        many = f"{count(len(found), 'backup')} ({dates})"
        asked += f", and rewrite {many} without it" if keep_backups else f", and {many}"
    if damaged := damaged_folders(folder):
        names = ", ".join(path.name for path in damaged)
        warn(f"Files of a damaged store may hold it too, and are not deleted: {names}")
    return f"{asked}?"


def print_done(gone: "Forgotten") -> None:
    """Print what was deleted, and what is left on disk."""
    done = f"Forgotten: {_amount(gone)}"
    if gone.backups_deleted:
        done += f"; {count(gone.backups_deleted, 'backup')} deleted"
    if gone.backups_rewritten:
        done += f"; {count(gone.backups_rewritten, 'backup')} rewritten"
    out().print(f"[green]✓[/] {done}.")
    if gone.problems:
        warn(
            f"Some bytes are not erased yet: {'; '.join(gone.problems)}. They are not shown any "
            "more, and are erased when the store is next opened for writing."
        )
    if gone.remains:
        warn(f"Files of a damaged store may still hold it: {', '.join(gone.remains)}")


def _derived(gone: "Forgotten") -> list[tuple[str, str]]:
    return [key for key in gone.memories if _kind(key[1]) != "chunk"]


def _kind(id_: str) -> str:
    return id_.partition("/")[0]


def _amount(gone: "Forgotten") -> str:
    """Return for example "2 turns, 1 fact and 3 other derived records"."""
    kinds = Counter(_kind(id_) for _, id_ in _derived(gone))
    parts = [count(len(gone.turns), "turn")] if gone.turns else []
    parts += [count(kinds[kind], kind) for kind in NAMED if kinds[kind]]
    if others := sum(n for kind, n in kinds.items() if kind not in NAMED):
        parts.append(count(others, "other derived record"))
    if not parts:
        return "nothing"
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
