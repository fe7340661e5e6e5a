"""``slowcat-memory reindex``: the index made anew, and with it the vectors if so wished."""

from typing import Annotated

import typer

from slowcat_memory.cli.shared.arguments import nothing_in
from slowcat_memory.cli.shared.output import count, out, warn
from slowcat_memory.cli.shared.progress import bars
from slowcat_memory.cli.shared.settings import settings


def reindex(
    ctx: typer.Context,
    scope: Annotated[
        str | None, typer.Option(help="Only this scope; by default every one.")
    ] = None,
    embed: Annotated[
        bool,
        typer.Option("--embed", help="First embed what has no exact vector of the model in use."),
    ] = False,
) -> None:
    """Build the index anew from what was said.

    Never needed while all is well: an agent does it in idle time. Worth while when
    [bold]slowcat-memory doctor[/] says so, and with --embed after a change of the embedding model.

    Example: [bold]slowcat-memory reindex --embed --scope anna[/]
    """
    known = settings(ctx).existing()
    with known.engine() as engine:
        with engine.snapshot() as snapshot:
            there = snapshot.scopes()
        scopes = [known.scope(scope)] if scope else there
        if scope and scope not in there:
            raise typer.BadParameter(nothing_in(engine, scope), param_hint="--scope")
        for name in scopes:
            of = f" of {name}" if len(scopes) > 1 else ""
            labels = {"embed": f"vectors{of}"} if embed else {}
            with bars({**labels, "index": f"index{of}"}) as told:
                if embed:
                    engine.maintain("embed", name, progress=told)
                told("index", 0, 1)
                engine.maintain("seal", name)
                told("index", 1, 1)
        report = engine.embedding
    if embed and report.state in ("missing", "none", "needs export"):
        warn(f"No vectors were made: {report.source}. {report.hint}".strip())
    out().print(f"[green]✓[/] The index of {count(len(scopes), 'scope')} is made anew.")
