"""``slowcat-memory icebreaker``: what an agent is to bring up by itself."""

from typing import TYPE_CHECKING, Annotated

import typer

from slowcat_memory.cli.shared.arguments import AsJson, Scope, parse_time
from slowcat_memory.cli.shared.output import count, out, print_json, row, short, table, warn, when
from slowcat_memory.cli.shared.settings import settings

if TYPE_CHECKING:
    from slowcat_memory.engine import MemoryEngine
    from slowcat_memory.records import Memory

app = typer.Typer(
    no_args_is_help=True,
    help=(
        "Let an agent bring something up by itself, once.\n\n"
        "One of those that wait stands in [bold]session_context()[/] of the next session that "
        "begins outside the quiet hours ([bold]\\[icebreakers][/] in the configuration).\n\n"
        'Example: [bold]slowcat-memory icebreaker add "Ask how the job interview went."[/]'
    ),
)


@app.command()
def add(
    ctx: typer.Context,
    text: Annotated[str, typer.Argument(help="What to bring up; the agent says it its own way.")],
    priority: Annotated[
        float, typer.Option(help="The highest is used first.", min=0.0, max=1.0)
    ] = 0.5,
    expires: Annotated[
        str | None,
        typer.Option(help="A date or time; by default as configured.", show_default=False),
    ] = None,
    any_hour: Annotated[
        bool, typer.Option("--any-hour", help="It may be used in the quiet hours too.")
    ] = False,
    scope: Scope = None,
    as_json: AsJson = False,
) -> None:
    """Put something into the queue; the least important make room.

    Example: [bold]slowcat-memory icebreaker add "Ask about the garden." --expires 2026-06-01[/]
    """
    known = settings(ctx)
    with known.engine(words_only=True) as engine:
        until = parse_time(expires, engine.zone, "--expires")
        try:
            memory = engine.push_icebreaker(
                known.scope(scope), text, priority=priority, expires=until, quiet=not any_hour
            )
        except ValueError as error:
            raise typer.BadParameter(str(error)) from None
        if as_json:
            return print_json(memory)
        if memory is None:
            warn("It is not taken: the same was used lately, or as many that matter more wait.")
            return None
        assert memory.valid_to is not None  # an icebreaker always expires
        until_when = when(memory.valid_to, engine.zone)
    out().print(f"[green]✓[/] Waits as [bold]{memory.id}[/] until {until_when}.")
    return None


@app.command("list")
def list_(ctx: typer.Context, scope: Scope = None, as_json: AsJson = False) -> None:
    """Show what waits, the one to be used first on top. Works while an agent runs.

    Example: [bold]slowcat-memory icebreaker list[/]
    """
    known = settings(ctx)
    with known.engine(readonly=True, words_only=True) as engine:
        waiting = _waiting(engine, known.scope(scope))
        if as_json:
            return print_json(waiting)
        if not waiting:
            return warn("No icebreaker waits.")
        made = table(">priority", "expires", "text*", "id")
        for memory in waiting:
            until = when(memory.valid_to, engine.zone) if memory.valid_to else ""
            row(made, f"{memory.importance:.2f}", until, short(memory.text), memory.id)
    out().print(made)
    return None


@app.command()
def drop(
    ctx: typer.Context,
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="ID...", help="Ids, from list.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="All that wait.")] = False,
    scope: Scope = None,
    as_json: AsJson = False,
) -> None:
    """Take icebreakers out of the queue; [bold]forget --id[/] leaves no byte of one behind.

    Example: [bold]slowcat-memory icebreaker drop --all[/]
    """
    if bool(ids) == every:
        raise typer.BadParameter("give the ids of icebreakers, or --all")
    known = settings(ctx)
    where = known.scope(scope)
    with known.engine(words_only=True) as engine:
        chosen = [memory.id for memory in _waiting(engine, where)] if every else ids or []
        changed = [engine.mark(where, id_, dropped=True) for id_ in chosen]
        dropped = [memory for memory in changed if memory]
    missing = set(chosen) - {memory.id for memory in dropped}
    if missing:
        raise typer.BadParameter(f"no icebreaker waits under {', '.join(sorted(missing))}")
    if as_json:
        return print_json(dropped)
    out().print(f"[green]✓[/] {count(len(dropped), 'icebreaker')} dropped.")
    return None


def _waiting(engine: "MemoryEngine", scope: str) -> "list[Memory]":
    from slowcat_memory.core.memory import ICEBREAKER
    from slowcat_memory.core.proactive.policy import waiting

    with engine.snapshot() as snapshot:
        return waiting(snapshot.memories(scope, f"{ICEBREAKER}/"), engine.clock())
