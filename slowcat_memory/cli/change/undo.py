"""``slowcat-memory undo``: what people ordered by voice or text, and taking one order back."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from slowcat_memory.cli.shared.arguments import AsJson, Scope
from slowcat_memory.cli.shared.output import err, out, print_json, row, short, table, warn, when
from slowcat_memory.cli.shared.settings import settings

if TYPE_CHECKING:
    from slowcat_memory.engine import MemoryEngine
    from slowcat_memory.records import CommandEntry

LAST = 10


def undo(
    ctx: typer.Context,
    number: Annotated[
        int | None,
        typer.Argument(
            metavar="ORDER", help="An order's number; by default the latest.", show_default=False
        ),
    ] = None,
    only_list: Annotated[bool, typer.Option("--list", help="Only show the last orders.")] = False,
    scope: Scope = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask; for scripts.")] = False,
    as_json: AsJson = False,
) -> None:
    """Take back what somebody ordered in a conversation: "forget that", "remember that…".

    What was forgotten comes back until it is erased for good; the configuration says how long that
    takes (undo_s). What was corrected becomes current again, and what was to be remembered is
    retired. With [bold]--list[/] it works while an agent runs.

    Examples: [bold]slowcat-memory undo --list[/], [bold]slowcat-memory undo[/],
    [bold]slowcat-memory undo 7 --yes[/]
    """
    known = settings(ctx)
    where = known.scope(scope)
    with known.engine(readonly=only_list, words_only=True) as engine:
        with engine.snapshot() as snapshot:
            entries = snapshot.commands(where, LAST)
        if only_list:
            return print_json(entries) if as_json else _show(engine, entries)
        entry = _chosen(engine, where, number)
        if not yes:
            _show(engine, [entry] if entry else entries, err())
        if entry is None:
            return print_json(None) if as_json else warn("There is nothing to undo.")
        if not yes:
            typer.confirm("Undo this?", abort=True, err=True)
        undone = engine.undo(entry)
    if undone is None:
        raise typer.BadParameter(f"order {entry.id} cannot be undone", param_hint="ORDER")
    return print_json(undone) if as_json else out().print(f"[green]✓[/] Undone: {_what(undone)}.")


def _chosen(engine: "MemoryEngine", scope: str, number: int | None) -> "CommandEntry | None":
    from slowcat_memory.runtime.commands.undo_log import UNDOABLE

    with engine.snapshot() as snapshot:
        for entry in snapshot.commands(scope):
            if number in (None, entry.id) and entry.state == "done" and entry.kind in UNDOABLE:
                return entry
    if number is not None:
        raise typer.BadParameter(f"order {number} cannot be undone", param_hint="ORDER")
    return None


def _show(engine: "MemoryEngine", entries: "list[CommandEntry]", console: Any = None) -> None:
    if not entries:
        return warn("Nothing was ordered so far.")
    made = table(">order", "when", "what", "state", "until", "words*")
    with engine.snapshot() as snapshot:
        for entry in entries:
            turn = snapshot.turn(entry.turn) if entry.turn else None
            until = when(entry.due, engine.zone) if entry.due and entry.state == "done" else ""
            words = short(turn.text) if turn else ""
            row(
                made, entry.id, when(entry.at, engine.zone), _what(entry), entry.state, until, words
            )
    (console or out()).print(made)
    return None


def _what(entry: "CommandEntry") -> str:
    return entry.kind.replace("_", " ")
