"""Commands that change a memory: remember, mark, forget, undo."""

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from slowcat_memory.cli.look import as_called, find_memory
from slowcat_memory.cli.shell import (
    NotFound,
    Settings,
    count,
    done,
    dots,
    err,
    listed,
    memory_id,
    out,
    parse_time,
    print_entries,
    print_json,
    short,
    takes,
    usage,
    warn,
    when,
)

if TYPE_CHECKING:
    from slowcat_memory.engine import MemoryEngine
    from slowcat_memory.records import CommandEntry, Forget, Forgotten

SAMPLE = 8  # rows of turns, and rows of notes and facts, in a preview
READABLE = ("note", "fact", "icebreaker")  # kinds that are shown as they are
NAMED = (*READABLE, "summary", "episode", "block")  # kinds that are counted by name
LAST = 10  # voice commands listed
_ID = re.compile(r"[0-9]+|[a-z_]+/\S+")
_LIST = "`slowcat-memory undo --list` shows the latest and until when each can be"


@takes("user", "as_json")
def remember(known: Settings, text: str, *, pin: bool = False, speaker: str = "") -> None:
    """Store a statement that was not said in a conversation.

    Pinned memories rank higher in recall, and [bold]session_context()[/] always includes them.

    Example: [bold]slowcat-memory remember "I am allergic to nuts." --pin[/]

    Args:
        text: A statement, in any words.
        pin: Always include it.
        speaker: The person it is about; by default the user.
    """
    from slowcat_memory.core.text.normalize import clean

    if not clean(text)[0]:
        raise usage("the text is empty", "TEXT")

    where, people = known.scope(), known.people
    with known.engine(words_only=True) as memory:
        kept = memory.remember(text, where, speaker=speaker, pinned=pin)
    known.report(kept, f"Kept for {kept.scope} as {kept.id}.")
    if people and where not in people:
        warn(f"{where} is new to this memory, which is that of {listed(people)}.")


@takes("user", "as_json")
def mark(known: Settings, how: Literal["pin", "mute", "local", "off"], what: str) -> None:
    """Pin a memory, mute it, keep it on this machine; off removes its marks.

    A pinned memory is always included. A muted one is kept and listed, and never recalled or put
    into a prompt. A local one is never sent to an LLM on another machine.

    Examples: [bold]slowcat-memory mark pin 17[/], [bold]slowcat-memory mark off note/0a1b2c[/]

    Args:
        how (MARK): The mark.
        what (ID): A turn's number or a memory's id.
    """
    known.existing()
    where = known.scope()
    off: dict[str, Any] = {"pinned": False, "muted": False, "local_only": False}
    marks, words = {
        "pin": ({"pinned": True}, "Pinned"),
        "mute": ({"muted": True}, "Muted"),
        "local": ({"local_only": True}, "Stays on this machine"),
        "off": (off, "No longer marked"),
    }[how]
    with known.engine(words_only=True) as memory:
        with memory.snapshot() as snapshot:
            found = find_memory(snapshot, where, memory_id(what))
        changed = memory.edit(found.scope, found.id, **marks) if found else None
    if changed is None:
        hint = "`slowcat-memory show --last 20` and `search` show the numbers and ids"
        raise NotFound(f"there is no memory {what!r} of {where}", hint=hint)
    known.report(changed, f"{words}:", short(changed.text))


@takes("user", "as_json", "yes")
def forget(
    known: Settings,
    what: list[str] | None = None,
    *,
    since: str | None = None,
    until: str | None = None,
    speaker: str | None = None,
    session: str | None = None,
    everything: bool = False,
    keep_backups: bool = False,
) -> None:
    """Delete for good: turns, everything derived from them, and their bytes on disk.

    Shows a preview and asks first. If several conditions are given, all must match; without
    --user, in everybody's memory. Times are dates such as 2024-05-12 or "2024-05-12 18:30", or
    words such as yesterday or "last week". Backups in the store's own folder still hold it, so they
    are deleted too, or rewritten with [bold]--keep-backups[/]; delete those elsewhere yourself.

    Examples: [bold]slowcat-memory forget 17[/], [bold]slowcat-memory forget "my doctor"[/],
    [bold]slowcat-memory forget --since yesterday[/],
    [bold]slowcat-memory forget --speaker Anna --since 2024-05-01 --until 2024-06-01[/],
    [bold]slowcat-memory --user anna forget --all[/]

    Args:
        what (WHAT): Turns' numbers and memories' ids; or words: all that mentions them.
        since: Said at or after this time.
        until: Said before this time.
        speaker: Said by this speaker.
        session: Said in this session.
        everything (--all): Everything of everybody, or of --user.
        keep_backups: Rewrite the backups without it, instead of deleting them.
    """
    from slowcat_memory.records import Forget

    ids, about = what or [], ""
    known.existing()
    if not all(_ID.fullmatch(one) for one in ids):
        ids, about = [], " ".join(ids)
    conditions = (*ids, since, until, speaker, session)
    _check(about, any(conditions), everything)
    where = known.scope() if known.user else ""
    with known.engine(words_only=True) as memory:
        now, zone = memory.clock(), memory.zone
        order = Forget(
            memories=tuple(memory_id(id_) for id_ in ids),
            since=parse_time(since, now, zone, "--since"),
            until=parse_time(until, now, zone, "--until"),
            speaker=speaker or "",
            session=session or "",
            scope=where,
            everything=everything,
        )
        order = _mentioning(memory, about, where) if about else order
        # Words that match nothing give an order without a condition, which means everything.
        stated = any((*conditions, everything, order.turns, order.memories))
        preview = memory.forget(order, dry_run=True) if stated else None
        if preview is None or not (preview.turns or preview.memories or everything):
            hint = "`slowcat-memory show --last 20` shows the numbers of turns"
            if about:
                hint = f'Words must match: `slowcat-memory search "{about}"` also finds by meaning'
            raise NotFound("no match, so nothing was deleted", hint=hint)
        if not known.yes:
            _print_preview(memory, preview)
            known.confirm(_question(memory.config.folder, keep_backups))
        gone = memory.forget(order, keep_backups=keep_backups)
    return print_json(gone) if known.as_json else _print_forgotten(gone)


def _check(about: str, others: bool, everything: bool) -> None:
    if (about or everything) and others or (about and everything):
        raise usage("words and --all can only be combined with --user")
    if not (about.strip(" .,!?") or others or everything):
        raise usage(
            "say what: a turn's number, words, --since, --until, --speaker, --session, or --all"
        )


def _mentioning(memory: "MemoryEngine", about: str, where: str) -> "Forget":
    """Return the order to delete all turns and memories that mention something, by words."""
    from slowcat_memory.core.commands.corrections import mentions
    from slowcat_memory.core.text.normalize import Tokenizer
    from slowcat_memory.records import Forget
    from slowcat_memory.runtime.commands.targets import mentioning

    test = mentions(about, Tokenizer(memory.config.memory.language))
    with memory.snapshot() as snapshot:
        scopes = [where] if where else snapshot.scopes()
        found = [mentioning(snapshot, scope, test) for scope in scopes]
    return Forget(
        memories=tuple(id_ for memories, _ in found for id_ in memories),
        turns=tuple(id_ for _, turns in found for id_ in turns),
        scope=where,
    )


def _print_preview(memory: "MemoryEngine", preview: "Forgotten") -> None:
    """Print what would be deleted: the turns and notes as text, the rest in numbers."""
    derived = [key for key in preview.memories if _kind(key[1]) != "chunk"]
    readable = [key for key in derived if _kind(key[1]) in READABLE]
    with memory.snapshot() as snapshot:
        turns = as_called(memory, map(snapshot.turn, preview.turns[:SAMPLE]))
        notes = [found for key in readable[:SAMPLE] if (found := snapshot.memory(*key))]
    several = len({key[0] for key in preview.memories}) > 1
    rows = [(turn.at, turn.text, turn.speaker, turn.scope) for turn in turns]
    rows += [(note.valid_from, note.text, _kind(note.id), note.scope) for note in notes]
    print_entries(
        [
            (when(at, memory.zone), short(text, 120), dots(who, scope if several else ""))
            for at, text, who, scope in rows
        ],
        err(),
    )
    if more := len(preview.turns) - len(turns):
        err().print(f"… and {more:,} more", style="dim")
    err().print(_amount(preview), style="bold", highlight=False)
    if any(_kind(id_) == "block" for _, id_ in derived):
        err().print("Blocks that mention it are written anew in idle time.", style="dim")


def _question(folder: Path, keep_backups: bool) -> str:
    """Return the question, which names the backups; warns of the files of damaged stores."""
    from slowcat_memory.store import backups_of, damaged_folders

    found, asked = backups_of(folder), "Delete this for good"
    if found:
        days = sorted({f"{backup.at:%Y-%m-%d}" for backup in found})
        many = f"{count(len(found), 'backup')} ({' to '.join(dict.fromkeys((days[0], days[-1])))})"
        asked += f", and rewrite {many} without it" if keep_backups else f", and {many}"
    if damaged := damaged_folders(folder):
        names = ", ".join(path.name for path in damaged)
        warn(f"Files of a damaged store may hold it too, and are not deleted: {names}")
    return f"{asked}?"


def _print_forgotten(gone: "Forgotten") -> None:
    """Print what was deleted, and what is left on disk."""
    words = f"Forgotten: {_amount(gone)}"
    if gone.backups_deleted:
        words += f"; {count(gone.backups_deleted, 'backup')} deleted"
    if gone.backups_rewritten:
        words += f"; {count(gone.backups_rewritten, 'backup')} rewritten"
    done(f"{words}.")
    if gone.problems:
        warn(
            f"Some bytes are not erased yet: {'; '.join(gone.problems)}. They are not shown any "
            "more, and are erased when the store is next opened for writing."
        )
    if gone.remains:
        warn(f"Files of a damaged store may still hold it: {', '.join(gone.remains)}")


def _kind(id_: str) -> str:
    return id_.partition("/")[0]


def _amount(gone: "Forgotten") -> str:
    """Return for example "2 turns, 1 fact and 3 other derived records"."""
    kinds = Counter(_kind(id_) for _, id_ in gone.memories)
    others = sum(n for kind, n in kinds.items() if kind not in (*NAMED, "chunk"))
    parts = [count(len(gone.turns), "turn")] if gone.turns else []
    parts += [count(kinds[kind], kind) for kind in NAMED if kinds[kind]]
    parts += [count(others, "other derived record")] if others else []
    return " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1]))) if parts else "nothing"


@takes("user", "as_json", "yes")
def undo(known: Settings, number: int | None = None, *, only_list: bool = False) -> None:
    """Undo a voice command, such as "forget that" or "remember that…".

    Forgotten memories come back, until they are erased for good (undo_s in the configuration).
    Corrected ones become current again; remembered ones are retired.

    Examples: [bold]slowcat-memory undo --list[/], [bold]slowcat-memory undo[/],
    [bold]slowcat-memory undo 7 --yes[/]

    Args:
        number (COMMAND): Its number; by default the latest.
        only_list (--list): Only show the latest voice commands.
    """
    from slowcat_memory.runtime.commands.undo_log import UNDOABLE

    known.existing()
    where = known.scope()
    with known.engine(words_only=True) as engine:
        with engine.snapshot() as snapshot:
            every = snapshot.commands(where)
        if only_list:
            latest = every[:LAST]
            return print_json(latest) if known.as_json else _print_commands(engine, latest, out())
        chosen = [
            one
            for one in every
            if one.state == "done" and one.kind in UNDOABLE and number in (None, one.id)
        ]
        if not chosen:
            if number is None and known.as_json:
                return print_json(None)
            which = (
                f"voice command {number} cannot be undone" if number else "there is nothing to undo"
            )
            raise NotFound(which, hint=_LIST)
        if not known.yes:
            _print_commands(engine, chosen[:1], err())
            known.confirm("Undo this?")
        undone = engine.undo(chosen[0])
    if undone is None:
        raise NotFound(f"voice command {chosen[0].id} cannot be undone", hint=_LIST)
    return known.report(undone, f"Undone: {undone.kind.replace('_', ' ')}.")


def _print_commands(
    memory: "MemoryEngine", commands: "Sequence[CommandEntry]", console: Any
) -> None:
    if not commands:
        return warn("No voice commands so far.")
    rows = []
    with memory.snapshot() as snapshot:
        for one in commands:
            turn, kind = snapshot.turn(one.turn) if one.turn else None, one.kind.replace("_", " ")
            until = f"until {when(one.due, memory.zone)}" if one.due and one.state == "done" else ""
            about = dots(kind, one.state, until, when(one.at, memory.zone))
            rows.append((str(one.id), short(turn.text) if turn else kind, about))
    print_entries(rows, console)
    return None
