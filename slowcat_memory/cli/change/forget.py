"""``slowcat-memory forget``: real deletion, after a preview."""

import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slowcat_memory.cli.shared.dates import parse_time
from slowcat_memory.cli.shared.exits import NotFound, usage
from slowcat_memory.cli.shared.output import (
    count,
    err,
    out,
    print_json,
    row,
    short,
    table,
    warn,
    when,
)
from slowcat_memory.cli.shared.settings import AsJson, Scope, Settings, memory_id, settings

if TYPE_CHECKING:
    from slowcat_memory.engine.memory import Memory
    from slowcat_memory.records import Forget, Forgotten, Turn
    from slowcat_memory.records import Memory as MemoryRecord

_ID = re.compile(r"[0-9]+|[a-z_]+/\S+")


def forget(
    ctx: typer.Context,
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[WHAT]...",
            help="Turns' numbers and memories' ids; or words: all that mentions them.",
            show_default=False,
        ),
    ] = None,
    ids: Annotated[
        list[str] | None,
        typer.Option("--id", help="A turn's number or a memory's id. May be repeated."),
    ] = None,
    since: Annotated[str | None, typer.Option(help="Said at or after this time.")] = None,
    until: Annotated[str | None, typer.Option(help="Said before this time.")] = None,
    speaker: Annotated[str | None, typer.Option(help="Said by this speaker.")] = None,
    session: Annotated[str | None, typer.Option(help="Said in this session.")] = None,
    scope: Scope = None,
    about: Annotated[
        str | None, typer.Option(help="All that mentions this: a name, or words in sequence.")
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Everything of everybody, or of --user.")
    ] = False,
    keep_backups: Annotated[
        bool,
        typer.Option(
            "--keep-backups", help="Rewrite the backups without it, instead of deleting them."
        ),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask; for scripts.")] = False,
    as_json: AsJson = False,
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
    """
    known = settings(ctx).existing()
    named, words = _named(what or [])
    ids = [*(ids or []), *named]
    about = _one_of(about, words)
    others = bool(ids or since or until or speaker or session)
    _check(about, others=others, everything=everything)
    where = known.scope(scope) if scope or known.user else ""
    with known.engine(words_only=True) as memory:
        if about is not None:
            order = _mentioning(memory, about, where)
        else:
            order = _selection(memory, ids, since, until, speaker, session, where, everything)
        preview = memory.forget(order, dry_run=True) if _says_something(order) else None
        if preview is None or not (preview.turns or preview.memories or everything):
            raise NotFound("no match, so nothing was deleted", hint=_search_hint(known, about))
        if not yes:
            print_preview(memory, preview)
            asked = question(memory.config.folder, keep_backups=keep_backups)
            typer.confirm(asked, abort=True, err=True)
        gone = memory.forget(order, keep_backups=keep_backups)
    return print_json(gone) if as_json else print_done(gone)


def _named(what: list[str]) -> tuple[list[str], str | None]:
    """Return the arguments as ids; or as words, when one of them is no id."""
    if all(_ID.fullmatch(one) for one in what):
        return what, None
    return [], " ".join(what)


def _one_of(about: str | None, words: str | None) -> str | None:
    if about is not None and words is not None:
        raise usage("give the words once: as an argument, or with --about")
    return words if about is None else about


def _check(about: str | None, *, others: bool, everything: bool) -> None:
    if about is not None:
        if others or everything:
            raise usage("words can only be combined with --user", "--about")
        if not about.strip(" .,!?"):
            raise usage("needs a word", "--about")
    elif everything and others:
        raise usage("can only be combined with --user", "--all")
    elif not (others or everything):
        raise usage(
            "say what: a turn's number, words, --since, --until, --speaker, --session, or --all"
        )


def _says_something(order: "Forget") -> bool:
    """Return whether an order has a condition: words that match nothing give none."""
    return any(
        (
            order.turns,
            order.memories,
            order.speaker,
            order.session,
            order.since,
            order.until,
            order.everything,
        )
    )


def _search_hint(known: Settings, about: str | None) -> str:
    if about is not None:
        return f'Words must match: `slowcat-memory search "{about}"` also finds by meaning'
    return "`slowcat-memory show --last 20` shows the numbers of turns"


def _selection(
    memory: "Memory",
    ids: list[str],
    since: str | None,
    until: str | None,
    speaker: str | None,
    session: str | None,
    scope: str,
    everything: bool,
) -> "Forget":
    from slowcat_memory.records import Forget

    now = memory.clock()
    return Forget(
        memories=tuple(memory_id(id_) for id_ in ids),
        since=parse_time(since, memory.zone, "--since", now=now),
        until=parse_time(until, memory.zone, "--until", now=now),
        speaker=speaker or "",
        session=session or "",
        scope=scope,
        everything=everything,
    )


def _mentioning(memory: "Memory", about: str, where: str) -> "Forget":
    """Return the order to delete all turns and memories that mention something, by words."""
    from slowcat_memory.core.commands.mentions import mentions
    from slowcat_memory.core.text.normalize import Tokenizer
    from slowcat_memory.records import Forget
    from slowcat_memory.runtime.commands.targets import mentioning

    test = mentions(about, Tokenizer(memory.config.memory.language))
    with memory.snapshot() as snapshot:
        found = [
            mentioning(snapshot, one, test) for one in ([where] if where else snapshot.scopes())
        ]
    return Forget(
        memories=tuple(id_ for memories, _ in found for id_ in memories),
        turns=tuple(id_ for _, turns in found for id_ in turns),
        scope=where,
    )


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
