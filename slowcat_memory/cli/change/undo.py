"""``slowcat-memory undo``: undo a voice command."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from slowcat_memory.cli.shared.exits import NotFound
from slowcat_memory.cli.shared.output import entries, entry, err, out, print_json, short, warn, when
from slowcat_memory.cli.shared.settings import AsJson, Scope, settings

if TYPE_CHECKING:
    from slowcat_memory.engine.memory import Memory
    from slowcat_memory.records import CommandEntry

LAST = 10  # voice commands listed
_LIST = "`slowcat-memory undo --list` shows the latest and until when each can be"


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
    Corrected ones become current again; remembered ones are retired.

    Examples: [bold]slowcat-memory undo --list[/], [bold]slowcat-memory undo[/],
    [bold]slowcat-memory undo 7 --yes[/]
    """
    known = settings(ctx)
    where = known.scope(scope)
    with known.engine(readonly=only_list, words_only=True) as engine:
        with engine.snapshot() as snapshot:
            latest = snapshot.commands(where, LAST)
        if only_list:
            return print_json(latest) if as_json else _show_commands(engine, latest)
        chosen = _chosen(engine, where, number)
        if not yes:
            _show_commands(engine, [chosen] if chosen else latest, err())
        if chosen is None:
            if as_json:
                return print_json(None)
            raise NotFound("there is nothing to undo")
        if not yes:
            typer.confirm("Undo this?", abort=True, err=True)
        undone = engine.undo(chosen)
    if undone is None:
        raise NotFound(f"voice command {chosen.id} cannot be undone", hint=_LIST)
    return print_json(undone) if as_json else out().print(f"[green]✓[/] Undone: {_kind(undone)}.")


def _chosen(engine: "Memory", scope: str, number: int | None) -> "CommandEntry | None":
    from slowcat_memory.runtime.commands.undo_log import UNDOABLE

    with engine.snapshot() as snapshot:
        for entry in snapshot.commands(scope):
            if number in (None, entry.id) and entry.state == "done" and entry.kind in UNDOABLE:
                return entry
    if number is not None:
        raise NotFound(f"voice command {number} cannot be undone", hint=_LIST)
    return None


def _show_commands(memory: "Memory", commands: "list[CommandEntry]", console: Any = None) -> None:
    if not commands:
        return warn("No voice commands so far.")
    made = entries(width=6)
    with memory.snapshot() as snapshot:
        for one in commands:
            turn = snapshot.turn(one.turn) if one.turn else None
            until = f"until {when(one.due, memory.zone)}" if one.due and one.state == "done" else ""
            about = (_kind(one), one.state, until, when(one.at, memory.zone))
            entry(
                made,
                str(one.id),
                short(turn.text) if turn else _kind(one),
                " · ".join(filter(None, about)),
            )
    (console or out()).print(made)
    return None


def _kind(entry: "CommandEntry") -> str:
    return entry.kind.replace("_", " ")
