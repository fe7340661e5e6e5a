"""``slowcat-memory forget``: real deletion, after a look at what would go."""

from typing import TYPE_CHECKING, Annotated

import typer

from slowcat_memory.cli.shared.arguments import AsJson, memory_id, parse_time
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
from slowcat_memory.cli.shared.settings import settings

if TYPE_CHECKING:
    from slowcat_memory.engine import MemoryEngine
    from slowcat_memory.records import Forget, Forgotten

SAMPLE = 8


def forget(
    ctx: typer.Context,
    ids: Annotated[
        list[str] | None,
        typer.Option("--id", help="A turn's number or a memory's id; may be repeated."),
    ] = None,
    since: Annotated[str | None, typer.Option(help="Said at or after this time.")] = None,
    until: Annotated[str | None, typer.Option(help="Said before this time.")] = None,
    speaker: Annotated[str | None, typer.Option(help="Said by this speaker.")] = None,
    session: Annotated[str | None, typer.Option(help="Said in this session.")] = None,
    scope: Annotated[
        str | None, typer.Option(help="Only in this scope; by default in every one.")
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Everything, or everything in --scope.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask; for scripts.")] = False,
    as_json: AsJson = False,
) -> None:
    """Delete for good: what was said, what was derived from it, and their bytes on disk.

    Shows what would go and asks before it acts. Where several conditions are given, all must hold.
    Times are dates or times such as 2024-05-12 or "2024-05-12 18:30". Backups in the store's own
    folder go too; those elsewhere are yours to delete.

    Examples: [bold]slowcat-memory forget --id 17 --id note/0a1b2c[/],
    [bold]slowcat-memory forget --speaker Anna --since 2024-05-01 --until 2024-06-01[/],
    [bold]slowcat-memory forget --all --scope anna[/]
    """
    with settings(ctx).engine(words_only=True) as engine:
        what = _wish(engine, ids or [], since, until, speaker, session, scope, everything)
        doomed = engine.forget(what, dry_run=True)
        if not doomed.turns and not doomed.memories and not everything:
            return print_json(doomed) if as_json else warn("Nothing fits: nothing was forgotten.")
        if not yes:
            _show(engine, doomed)
            typer.confirm("Forget this for good?", abort=True, err=True)
        gone = engine.forget(what)
    return print_json(gone) if as_json else _tell(gone)


def _wish(
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
            "say what: --id, --since, --until, --speaker, --session, or --all",
            param_hint="forget",
        )
    if everything and (ids or since or until or speaker or session):
        raise typer.BadParameter("goes with --scope only", param_hint="--all")
    return Forget(
        memories=tuple(memory_id(id_) for id_ in ids),
        since=parse_time(since, engine.zone, "--since"),
        until=parse_time(until, engine.zone, "--until"),
        speaker=speaker or "",
        session=session or "",
        scope=check_scope(scope) if scope else "",
        everything=everything,
    )


def _show(engine: "MemoryEngine", doomed: "Forgotten") -> None:
    with engine.snapshot() as snapshot:
        turns = [turn for id_ in doomed.turns[:SAMPLE] if (turn := snapshot.turn(id_))]
        derived = [key for key in doomed.memories if not key[1].startswith("chunk/")]
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
    more = len(doomed.turns) + len(derived) - len(turns) - len(notes)
    if more:
        console.print(f"[dim]… and {more:,} more[/]")
    console.print(_amount(len(doomed.turns), len(derived)), style="bold")


def _amount(turns: int, derived: int) -> str:
    beside = f" and {count(derived, 'memory')} beside them" if derived else ""
    return count(turns, "turn") + beside


def _tell(gone: "Forgotten") -> None:
    derived = sum(not id_.startswith("chunk/") for _, id_ in gone.memories)
    out().print(f"[green]✓[/] Forgotten: {_amount(len(gone.turns), derived)}.")
    if not gone.erased:
        warn(
            "Their bytes are still in the store's file, because another process reads it; they go "
            "when the store is next opened for writing."
        )
