"""``slowcat-memory tidy`` and ``reindex``: bring vectors, index and storage tiers up to date."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from slowcat_memory.cli.shared.output import bars, count, out, waiting, warn
from slowcat_memory.cli.shared.settings import nothing_in, settings

if TYPE_CHECKING:
    from slowcat_memory.engine import MemoryEngine


def tidy(
    ctx: typer.Context,
    scope: Annotated[
        str | None, typer.Option(help="Only this scope; by default every one.")
    ] = None,
) -> None:
    """Embed what has no exact vector yet, rebuild the index, and pack old texts.

    Never needed: an agent finds everything the moment it is said, and packs old texts itself when
    nobody speaks. Worth while after a change of the embedding model, which needs every vector anew,
    and after a large import.

    Example: [bold]slowcat-memory tidy --scope anna[/]
    """
    known = settings(ctx)
    with known.engine() as engine:
        with engine.snapshot() as snapshot:
            scopes = [known.scope(scope)] if scope else snapshot.scopes()
        tidy_scopes(engine, scopes)
        report = engine.embedding
    if report.state in ("missing", "none"):
        warn(f"No vectors were made: {report.source}. {report.hint}".strip())
    out().print(f"[green]✓[/] {count(len(scopes), 'scope')} in order.")


def tidy_scopes(engine: "MemoryEngine", scopes: Sequence[str], quiet: bool = False) -> None:
    """Tidy scopes, one after the other, with a bar for each step.

    Raises:
        ProviderError: The embedding model failed; what it finished is kept.
    """
    if scopes and engine.embedding.state == "needs export":
        with waiting("making the embedding model ready", quiet):
            engine.maintain("tidy", scopes[0])
    for scope in scopes:
        of = f" of {scope}" if len(scopes) > 1 else ""
        labels = {"embed": f"vectors{of}", "index": f"index{of}", "tiers": f"old texts{of}"}
        with bars(labels, quiet) as told:
            engine.maintain("tidy", scope, progress=told)


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
