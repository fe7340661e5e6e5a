"""``slowcat-memory tidy`` and ``reindex``: bring vectors, index and storage tiers up to date."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from slowcat_memory.cli.shared.exits import NotFound
from slowcat_memory.cli.shared.output import bars, count, out, waiting, warn
from slowcat_memory.cli.shared.settings import nothing_in, settings

if TYPE_CHECKING:
    from slowcat_memory.engine.memory import Memory


def tidy(
    ctx: typer.Context,
    scope: Annotated[
        str | None, typer.Option(help="Only this person's memory.", metavar="NAME")
    ] = None,
) -> None:
    """Compute missing vectors, rebuild the index, and compress old texts.

    Optional: an agent does all of this itself while idle. Useful after a large import, and after
    a change of the embedding model, which needs new vectors.

    Example: [bold]slowcat-memory tidy --scope anna[/]
    """
    known = settings(ctx).existing()
    named = known.scope(scope) if scope or known.user else ""
    with known.engine() as engine:
        with engine.snapshot() as snapshot:
            scopes = [named] if named else snapshot.scopes()
        tidy_scopes(engine, scopes)
        report = engine.embedding
    if report.state in ("missing", "none"):
        warn(f"No vectors were computed: {report.source}. {report.hint}".strip())
    out().print(f"[green]✓[/] Vectors and index are up to date ({count(len(scopes), 'scope')}).")


def tidy_scopes(engine: "Memory", scopes: Sequence[str], quiet: bool = False) -> None:
    """Tidy scopes one by one, with a progress bar for each step.

    Raises:
        ProviderError: The embedding model failed; its finished work is kept.
    """
    if scopes and engine.embedding.state == "needs export":
        with waiting("preparing the embedding model", quiet):
            engine.maintain("tidy", scopes[0])
    for scope in scopes:
        of = f" of {scope}" if len(scopes) > 1 else ""
        labels = {"embed": f"vectors{of}", "index": f"index{of}", "tiers": f"old texts{of}"}
        with bars(labels, quiet) as show:
            engine.maintain("tidy", scope, progress=show)


def reindex(
    ctx: typer.Context,
    scope: Annotated[
        str | None, typer.Option(help="Only this person's memory.", metavar="NAME")
    ] = None,
    embed: Annotated[
        bool,
        typer.Option("--embed", help="First compute missing vectors of the current model."),
    ] = False,
) -> None:
    """Rebuild the index from the log.

    Rarely needed: an agent does it while idle. Useful when [bold]slowcat-memory doctor[/] says so,
    and with --embed after a change of the embedding model.

    Example: [bold]slowcat-memory reindex --embed --scope anna[/]
    """
    known = settings(ctx).existing()
    named = known.scope(scope) if scope or known.user else ""
    with known.engine() as engine:
        with engine.snapshot() as snapshot:
            there = snapshot.scopes()
        scopes = [named] if named else there
        if named and named not in there:
            raise NotFound(nothing_in(engine, named))
        for name in scopes:
            of = f" of {name}" if len(scopes) > 1 else ""
            labels = {"embed": f"vectors{of}"} if embed else {}
            with bars({**labels, "index": f"index{of}"}) as show:
                if embed:
                    engine.maintain("embed", name, progress=show)
                show("index", 0, 1)
                engine.maintain("seal", name)
                show("index", 1, 1)
        report = engine.embedding
    if embed and report.state in ("missing", "none", "needs export"):
        warn(f"No vectors were computed: {report.source}. {report.hint}".strip())
    out().print(f"[green]✓[/] Index rebuilt ({count(len(scopes), 'scope')}).")
