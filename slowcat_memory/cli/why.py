"""``slowcat-memory why``: what was put before the LLM at a turn, and for what reason."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from slowcat_memory.cli.options import AsJson
from slowcat_memory.cli.output import out, print_json, row, short, table, warn, when
from slowcat_memory.cli.search import views
from slowcat_memory.cli.settings import settings

if TYPE_CHECKING:
    from slowcat_memory.engine import MemoryEngine
    from slowcat_memory.records import LedgerEntry, Memory


def why(
    ctx: typer.Context,
    turn: Annotated[
        int | None,
        typer.Argument(help="A turn's number; by default the latest turn.", show_default=False),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show what was recalled for a turn of the conversation, with scores and times.

    Works while an agent runs. The latest turns are kept, as many as the configuration says
    (ledger_keep). The numbers of turns: [bold]slowcat-memory show --last 20[/]

    Examples: [bold]slowcat-memory why[/], [bold]slowcat-memory why 17[/]
    """
    with settings(ctx).engine(readonly=True, words_only=True) as engine:
        latest = turn or _latest(engine)
        if not latest:
            return print_json(None) if as_json else warn("No recall is recorded so far.")
        found = engine.why(latest)
        if found is None:
            raise typer.BadParameter(f"no recall is recorded for {latest}", param_hint="TURN")
        entry, memories = found
        if as_json:
            return print_json({"recall": entry, "memories": memories})
        _print(engine, entry, memories)
    return None


def _latest(engine: "MemoryEngine") -> int:
    with engine.store.snapshot() as snapshot:
        tail = snapshot.ledger_tail(1)
    return tail[0].turn if tail else 0


def _print(engine: "MemoryEngine", entry: "LedgerEntry", memories: "dict[str, Memory]") -> None:
    with engine.store.snapshot() as snapshot:
        asked = snapshot.turn(entry.turn)
    console = out()
    console.print(f"[bold]turn {entry.turn}[/] {when(entry.at, engine.zone)}, scope {entry.scope}")
    if asked:
        console.print(f"{asked.speaker}: {asked.text}", markup=False)
    if entry.offers:
        console.print(_table(engine, entry, memories))
    else:
        warn("Nothing was put before the LLM for this turn.")
    times = ", ".join(f"{name} {ms:.1f}" for name, ms in entry.timings.items())
    console.print(f"[dim]stage {entry.stage or 'none'}, {entry.tokens} tokens; ms: {times}[/]")


def _table(engine: "MemoryEngine", entry: "LedgerEntry", memories: "dict[str, Memory]") -> Any:
    made = table(">score", "when", "who", "text*", "id", "found by")
    for offer in entry.offers:
        memory = memories.get(offer.memory)
        if memory is None:
            row(
                made, f"{offer.score:.2f}", "", "", "forgotten since", offer.memory, "", style="dim"
            )
            continue
        at = when(memory.valid_from, engine.zone)
        text, by = short(memory.text), views(offer.views)
        row(made, f"{offer.score:.2f}", at, memory.speaker, text, memory.id, by)
    return made
