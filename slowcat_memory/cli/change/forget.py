"""``slowcat-memory forget``: real deletion after a preview; and ``undo`` of voice commands."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

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
from slowcat_memory.cli.shared.settings import AsJson, Scope, memory_id, parse_time, settings

if TYPE_CHECKING:
    from slowcat_memory.engine import MemoryEngine
    from slowcat_memory.records import CommandEntry, Forget, Forgotten

_NOTHING = "No match. Nothing was deleted."
SAMPLE = 8  # rows of a preview
LAST = 10  # voice commands listed by undo


def forget(
    ctx: typer.Context,
    ids: Annotated[
        list[str] | None,
        typer.Option("--id", help="A turn's number or a memory's id. May be repeated."),
    ] = None,
    since: Annotated[str | None, typer.Option(help="Said at or after this time.")] = None,
    until: Annotated[str | None, typer.Option(help="Said before this time.")] = None,
    speaker: Annotated[str | None, typer.Option(help="Said by this speaker.")] = None,
    session: Annotated[str | None, typer.Option(help="Said in this session.")] = None,
    scope: Annotated[
        str | None, typer.Option(help="Only in this scope; by default in every one.")
    ] = None,
    about: Annotated[
        str | None, typer.Option(help="All that mentions this: a name, or words in sequence.")
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Everything, or everything in --scope.")
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

    Shows a preview and asks first. If several conditions are given, all must match. Times are dates
    or times such as 2024-05-12 or "2024-05-12 18:30". Backups in the store's own folder still hold
    it, so they are deleted too, or rewritten with [bold]--keep-backups[/]; delete those elsewhere
    yourself.

    Examples: [bold]slowcat-memory forget --id 17 --id note/0a1b2c[/],
    [bold]slowcat-memory forget --about Lisa[/],
    [bold]slowcat-memory forget --speaker Anna --since 2024-05-01 --until 2024-06-01[/],
    [bold]slowcat-memory forget --all --scope anna[/]
    """
    from slowcat_memory.records import Forgotten

    with settings(ctx).engine(words_only=True) as engine:
        if about is None:
            what = _selection(engine, ids or [], since, until, speaker, session, scope, everything)
        elif ids or since or until or speaker or session or everything:
            raise typer.BadParameter("can only be combined with --scope", param_hint="--about")
        else:
            what = _mentioning(engine, about, scope)
            if not (what.turns or what.memories):
                return print_json(Forgotten()) if as_json else warn(_NOTHING)
        preview = engine.forget(what, dry_run=True)
        if not preview.turns and not preview.memories and not everything:
            return print_json(preview) if as_json else warn(_NOTHING)
        if not yes:
            _preview(engine, preview)
            question = _question(engine.config.folder, keep_backups=keep_backups)
            typer.confirm(question, abort=True, err=True)
        gone = engine.forget(what, keep_backups=keep_backups)
    return print_json(gone) if as_json else _print_done(gone)


def _question(folder: Path, *, keep_backups: bool) -> str:
    """Return the question, which names the backups and the files of damaged stores."""
    from slowcat_memory.store import backups_of, damaged_folders

    found, question = backups_of(folder), "Delete this for good"
    if found:
        days = [f"{backup.at:%Y-%m-%d}" for backup in found]
        dates = days[0] if days[0] == days[-1] else f"{min(days)} to {max(days)}"
        many = f"{count(len(found), 'backup')} ({dates})"
        question += f", and rewrite {many} without it" if keep_backups else f", and {many}"
    if damaged := damaged_folders(folder):
        names = ", ".join(path.name for path in damaged)
        warn(f"Files of a damaged store may hold it too, and are not deleted: {names}")
    return f"{question}?"


def _selection(
    engine: "MemoryEngine",
    ids: list[str],
    since: str | None,
    until: str | None,
    speaker: str | None,
    session: str | None,
    scope: str | None,
    everything: bool,
) -> "Forget":
    from slowcat_memory.records import Forget
    from slowcat_memory.runtime.namespaces.registry import check_scope

    if not (ids or since or until or speaker or session or everything):
        raise typer.BadParameter(
            "needs --id, --since, --until, --speaker, --session, or --all",
            param_hint="forget",
        )
    if everything and (ids or since or until or speaker or session):
        raise typer.BadParameter("can only be combined with --scope", param_hint="--all")
    return Forget(
        memories=tuple(memory_id(id_) for id_ in ids),
        since=parse_time(since, engine.zone, "--since"),
        until=parse_time(until, engine.zone, "--until"),
        speaker=speaker or "",
        session=session or "",
        scope=check_scope(scope) if scope else "",
        everything=everything,
    )


def _mentioning(engine: "MemoryEngine", about: str, scope: str | None) -> "Forget":
    """Return the order to delete all turns and memories that mention something, by words."""
    from slowcat_memory.core.commands.mentions import mentions
    from slowcat_memory.core.text.normalize import Tokenizer
    from slowcat_memory.records import Forget
    from slowcat_memory.runtime.commands.targets import mentioning
    from slowcat_memory.runtime.namespaces.registry import check_scope

    if not about.strip(" .,!?"):
        raise typer.BadParameter("needs a word", param_hint="--about")
    test = mentions(about, Tokenizer(engine.config.memory.language))
    where = check_scope(scope) if scope else ""
    with engine.snapshot() as snapshot:
        found = [
            mentioning(snapshot, one, test) for one in ([where] if where else snapshot.scopes())
        ]
    return Forget(
        memories=tuple(id_ for memories, _ in found for id_ in memories),
        turns=tuple(id_ for _, turns in found for id_ in turns),
        scope=where,
    )


def _preview(engine: "MemoryEngine", preview: "Forgotten") -> None:
    with engine.snapshot() as snapshot:
        turns = [turn for id_ in preview.turns[:SAMPLE] if (turn := snapshot.turn(id_))]
        derived = [key for key in preview.memories if not key[1].startswith("chunk/")]
        notes = [m for key in derived[:SAMPLE] if (m := snapshot.memory(*key))]
    made = table("id", "scope", "when", "who", "text*")
    for turn in turns:
        row(
            made,
            turn.id,
            turn.scope,
            when(turn.at, engine.zone),
            turn.speaker,
            short(turn.text, 120),
        )
    for memory in notes:
        at = when(memory.valid_from, engine.zone)
        row(made, memory.id, memory.scope, at, memory.speaker, short(memory.text, 120))
    console = err()
    console.print(made)
    more = len(preview.turns) + len(derived) - len(turns) - len(notes)
    if more:
        console.print(f"[dim]… and {more:,} more[/]")
    console.print(_amount(len(preview.turns), len(derived)), style="bold")


def _amount(turns: int, derived: int) -> str:
    beside = f" and {count(derived, 'memory')} derived from them" if derived else ""
    return count(turns, "turn") + beside


def _print_done(gone: "Forgotten") -> None:
    derived = sum(not id_.startswith("chunk/") for _, id_ in gone.memories)
    done = f"Forgotten: {_amount(len(gone.turns), derived)}"
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


def undo(
    ctx: typer.Context,
    number: Annotated[
        int | None,
        typer.Argument(
            metavar="COMMAND", help="Its number; by default the latest.", show_default=False
        ),
    ] = None,
    only_list: Annotated[
        bool, typer.Option("--list", help="Only show the latest voice commands.")
    ] = False,
    scope: Scope = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask; for scripts.")] = False,
    as_json: AsJson = False,
) -> None:
    """Undo a voice command, such as "forget that" or "remember that…".

    Forgotten memories come back, until they are erased for good (undo_s in the configuration).
    Corrected ones become current again; remembered ones are retired. [bold]--list[/] works while an
    agent is running.

    Examples: [bold]slowcat-memory undo --list[/], [bold]slowcat-memory undo[/],
    [bold]slowcat-memory undo 7 --yes[/]
    """
    known = settings(ctx)
    where = known.scope(scope)
    with known.engine(readonly=only_list, words_only=True) as engine:
        with engine.snapshot() as snapshot:
            entries = snapshot.commands(where, LAST)
        if only_list:
            return print_json(entries) if as_json else _show_commands(engine, entries)
        entry = _chosen(engine, where, number)
        if not yes:
            _show_commands(engine, [entry] if entry else entries, err())
        if entry is None:
            return print_json(None) if as_json else warn("There is nothing to undo.")
        if not yes:
            typer.confirm("Undo this?", abort=True, err=True)
        undone = engine.undo(entry)
    if undone is None:
        raise typer.BadParameter(f"voice command {entry.id} cannot be undone", param_hint="COMMAND")
    return print_json(undone) if as_json else out().print(f"[green]✓[/] Undone: {_kind(undone)}.")


def _chosen(engine: "MemoryEngine", scope: str, number: int | None) -> "CommandEntry | None":
    from slowcat_memory.runtime.commands.undo_log import UNDOABLE

    with engine.snapshot() as snapshot:
        for entry in snapshot.commands(scope):
            if number in (None, entry.id) and entry.state == "done" and entry.kind in UNDOABLE:
                return entry
    if number is not None:
        raise typer.BadParameter(f"voice command {number} cannot be undone", param_hint="COMMAND")
    return None


def _show_commands(
    engine: "MemoryEngine", entries: "list[CommandEntry]", console: Any = None
) -> None:
    if not entries:
        return warn("No voice commands so far.")
    made = table(">number", "when", "what", "state", "until", "words*")
    with engine.snapshot() as snapshot:
        for entry in entries:
            turn = snapshot.turn(entry.turn) if entry.turn else None
            until = when(entry.due, engine.zone) if entry.due and entry.state == "done" else ""
            words = short(turn.text) if turn else ""
            row(
                made, entry.id, when(entry.at, engine.zone), _kind(entry), entry.state, until, words
            )
    (console or out()).print(made)
    return None


def _kind(entry: "CommandEntry") -> str:
    return entry.kind.replace("_", " ")
