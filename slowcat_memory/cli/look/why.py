"""``slowcat-memory why``: what was put before the LLM at a turn, what was not, and for what reason."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from slowcat_memory.cli.shared.arguments import AsJson
from slowcat_memory.cli.shared.ledger_rows import OFFERED, WIDTH, how_found, line, verdicts, views
from slowcat_memory.cli.shared.output import out, print_json, row, table, warn, when
from slowcat_memory.cli.shared.settings import settings

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
    """Show what came to mind for a turn: what was offered to the LLM, what was left out, and why.

    Works while an agent runs. The latest turns are kept, as many as the configuration says
    (ledger_keep). The numbers of turns: [bold]slowcat-memory show --last 20[/]

    Examples: [bold]slowcat-memory why[/], [bold]slowcat-memory why 17[/]
    """
    from slowcat_memory.engine.search import why as ledger_of

    with settings(ctx).engine(readonly=True, words_only=True) as engine:
        latest = turn or _latest(engine)
        if not latest:
            return print_json(None) if as_json else warn("No recall is recorded so far.")
        with engine.snapshot() as snapshot:
            found = ledger_of(snapshot, latest)
        if found is None:
            reason = (
                f"no recall is recorded for turn {latest}: only what was said to an agent has one"
            )
            raise typer.BadParameter(reason, param_hint="TURN")
        entry, memories = found
        asked = _asked(engine, entry)
        if as_json:
            told = {"recall": entry, "asked": asked, "weighed": verdicts(entry)}
            return print_json({**told, "memories": memories})
        _print(engine, entry, asked, memories)
    return None


def _latest(engine: "MemoryEngine") -> int:
    with engine.snapshot() as snapshot:
        tail = snapshot.ledger_tail(1)
    return tail[0].turn if tail else 0


def _asked(engine: "MemoryEngine", entry: "LedgerEntry") -> str:
    from slowcat_memory.runtime.recall.query import asked_text

    with engine.snapshot() as snapshot:
        turn = snapshot.turn(entry.turn)
        return (
            asked_text(
                snapshot, turn, engine.config.ask, engine.config.gate, engine.config.memory.language
            )
            if turn
            else ""
        )


def _print(
    engine: "MemoryEngine", entry: "LedgerEntry", asked: str, memories: "dict[str, Memory]"
) -> None:
    with engine.snapshot() as snapshot:
        turn = snapshot.turn(entry.turn)
    console = out()
    console.print(f"[bold]turn {entry.turn}[/] {when(entry.at, engine.zone)}, scope {entry.scope}")
    if turn:
        console.print(f"{turn.speaker}: {turn.text}", markup=False)
    if turn and asked != turn.text:
        console.print(f"searched for: {asked}", markup=False, style="dim")
    if not entry.offers:
        warn("Nothing was put before the LLM for this turn.")
    if entry.offers or entry.left_out or entry.visible:
        console.print(_table(engine, entry, memories))
    console.print(f"[dim]{how_found(entry)}[/]")


def _table(engine: "MemoryEngine", entry: "LedgerEntry", memories: "dict[str, Memory]") -> Any:
    made = table(">score", ">likely", "verdict", "memory*")
    made.columns[2].max_width = WIDTH
    for one in verdicts(entry):
        told = line(memories.get(one.memory), engine.zone)
        by = f"{one.memory} · {views(one.views)}" if one.views else one.memory
        row(
            made,
            "" if one.score is None else f"{one.score:.2f}",
            f"{one.probability:.0%}" if one.probability else "",
            one.words,
            f"{told}\n{by}",
            style="" if one.verdict == OFFERED else "dim",
        )
    return made
