"""``slowcat-memory icebreaker``: topics that the agent brings up by itself."""

from typing import TYPE_CHECKING, Annotated

import typer

from slowcat_memory.cli.shared.dates import parse_time
from slowcat_memory.cli.shared.exits import NotFound, usage
from slowcat_memory.cli.shared.output import count, out, print_json, row, short, table, warn, when
from slowcat_memory.cli.shared.settings import AsJson, Scope, settings

if TYPE_CHECKING:
    from slowcat_memory.engine.memory import Memory as MemoryVerbs
    from slowcat_memory.records import Memory

app = typer.Typer(
    no_args_is_help=True,
    help=(
        "Let an agent bring something up by itself, once.\n\n"
        "One queued icebreaker is put into [bold]session_context()[/] of the next session that "
        "begins outside the quiet hours ([bold]\\[icebreakers][/] in the configuration).\n\n"
        'Example: [bold]slowcat-memory icebreaker add "Ask how the job interview went."[/]'
    ),
)


@app.command()
def add(
    ctx: typer.Context,
    text: Annotated[str, typer.Argument(help="What to bring up; the agent words it.")],
    priority: Annotated[
        float, typer.Option(help="The highest is used first.", min=0.0, max=1.0)
    ] = 0.5,
    expires: Annotated[
        str | None,
        typer.Option(help="A date or time; by default as configured.", show_default=False),
    ] = None,
    any_hour: Annotated[
        bool, typer.Option("--any-hour", help="Allow it in the quiet hours too.")
    ] = False,
    scope: Scope = None,
    as_json: AsJson = False,
) -> None:
    """Add an icebreaker to the queue; a full queue drops the least important.

    Example: [bold]slowcat-memory icebreaker add "Ask about the garden." --expires 2026-06-01[/]
    """
    known = settings(ctx)
    where = known.scope(scope)
    with known.engine(words_only=True) as engine:
        until = parse_time(expires, engine.zone, "--expires")
        try:
            memory = engine.push_icebreaker(
                where, text, priority=priority, expires=until, quiet=not any_hour
            )
        except ValueError as error:
            raise usage(str(error)) from None
        if as_json:
            return print_json(memory)
        if memory is None:
            warn("Not added: it was used lately, or the queue is full of more important ones.")
            return None
        until = memory.valid_to
        limit = f" until {when(until, engine.zone)}" if until else ""
    out().print(f"[green]✓[/] Queued as [bold]{memory.id}[/]{limit}.")
    return None


@app.command("list")
def list_(ctx: typer.Context, scope: Scope = None, as_json: AsJson = False) -> None:
    """Show the queue, next one first, and from when and until when each may be used.

    Example: [bold]slowcat-memory icebreaker list[/]
    """
    known = settings(ctx).existing()
    where = known.scope(scope)
    with known.engine(readonly=True, words_only=True) as engine:
        waiting = _queued(engine, where)
        if as_json:
            return print_json(waiting)
        if not waiting:
            raise NotFound("no icebreaker is queued")
        made = table(">priority", "from", "until", "text*", "id")
        for memory in waiting:
            begin = when(memory.valid_from, engine.zone)
            until = when(memory.valid_to, engine.zone) if memory.valid_to else ""
            row(made, f"{memory.importance:.2f}", begin, until, short(memory.text), memory.id)
    out().print(made)
    return None


@app.command()
def drop(
    ctx: typer.Context,
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="ID...", help="Ids, from list.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="The whole queue.")] = False,
    scope: Scope = None,
    as_json: AsJson = False,
) -> None:
    """Remove icebreakers from the queue; [bold]forget --id[/] also erases their bytes.

    Example: [bold]slowcat-memory icebreaker drop --all[/]
    """
    if bool(ids) == every:
        raise usage("give the ids of icebreakers, or --all")
    known = settings(ctx).existing()
    where = known.scope(scope)
    with known.engine(words_only=True) as engine:
        chosen = [memory.id for memory in _queued(engine, where)] if every else ids or []
        changed = [engine.mark(where, id_, dropped=True) for id_ in chosen]
        dropped = [memory for memory in changed if memory]
    missing = set(chosen) - {memory.id for memory in dropped}
    if missing:
        names = ", ".join(sorted(missing))
        hint = "`slowcat-memory icebreaker list` shows the ids"
        raise NotFound(f"no queued icebreaker has the id {names}", hint=hint)
    if as_json:
        return print_json(dropped)
    out().print(f"[green]✓[/] {count(len(dropped), 'icebreaker')} dropped.")
    return None


def _queued(engine: "MemoryVerbs", scope: str) -> "list[Memory]":
    from slowcat_memory.core.memory import ICEBREAKER
    from slowcat_memory.core.proactive.policy import waiting

    with engine.snapshot() as snapshot:
        return waiting(snapshot.memories(scope, f"{ICEBREAKER}/"), engine.clock())
