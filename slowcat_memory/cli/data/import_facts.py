"""``import --facts``: facts that ``export --facts`` wrote; and what follows every import."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from slowcat_memory.cli.data.tidy import tidy_scopes
from slowcat_memory.cli.shared.output import count, out, print_json, warn
from slowcat_memory.cli.shared.settings import Settings
from slowcat_memory.errors import ProviderError

if TYPE_CHECKING:
    from slowcat_memory.engine.memory import Memory
    from slowcat_memory.transfer.fact_files import Imported as ImportedFacts

SHOWN = 10  # faults that are listed


def import_folder(
    chosen: Settings, folder: Path, scope: str, *, embed: bool, as_json: bool
) -> None:
    """Import facts that ``export --facts`` wrote, and say what came in."""
    from slowcat_memory.transfer.fact_files import import_facts

    with chosen.engine(words_only=not embed) as engine:
        done = import_facts(engine, folder, scope)
        if embed and done.scopes:
            tidy_new(engine, list(done.scopes), as_json)
    if as_json:
        print_json(done)
    else:
        _print_facts(done)
    if done.faults:
        raise typer.Exit(1)


def _print_facts(done: "ImportedFacts") -> None:
    known = f", {done.known:,} already known" if done.known else ""
    out().print(f"[green]✓[/] {count(done.facts, 'fact')}{known}")
    if done.unproven:
        warn(
            f"{count(done.unproven, 'fact')} without a source turn in this log: "
            "they are recalled in their own words."
        )
    if done.refused:
        warn(
            f"{count(done.refused, 'fact')} left out: they read like instructions or contain links."
        )
    for fault in done.faults[:SHOWN]:
        warn(fault)
    if len(done.faults) > SHOWN:
        warn(f"and {len(done.faults) - SHOWN} more")


def tidy_new(engine: "Memory", scopes: list[str], quiet: bool) -> str:
    """Embed and index the new turns; after a failure they are kept, and found by words only."""
    try:
        tidy_scopes(engine, scopes, quiet)
    except ProviderError as error:
        warn(f"No vectors for now; search is by words: {error}")
        return str(error)
    report = engine.embedding
    if report.state in ("missing", "none") and not quiet:
        warn(f"Search is by words only: {report.source}. {report.hint}".strip())
    return ""
