"""``slowcat-memory replay``: a turn recalled again, as of then."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from slowcat_memory.cli.options import AsJson
from slowcat_memory.cli.output import out, print_json, row, table, warn, when
from slowcat_memory.cli.settings import settings
from slowcat_memory.cli.verdicts import OFFERED, WIDTH, Verdict, how_found, line, verdicts

if TYPE_CHECKING:
    from slowcat_memory.engine import MemoryEngine
    from slowcat_memory.replay.turn import Replayed


def replay(
    ctx: typer.Context,
    turn: Annotated[int, typer.Option("--turn", help="The number of a person's turn.")],
    as_json: AsJson = False,
) -> None:
    """Recall for a turn again, from what was known before it, and compare.

    Works while an agent runs. The index of then is made anew, in memory, which takes seconds where
    much was said. To try other options on an old turn, change a copy of the configuration.

    Examples: [bold]slowcat-memory replay --turn 17[/],
    [bold]slowcat-memory --config other.toml replay --turn 17[/]
    """
    from slowcat_memory.replay.turn import replay_turn

    with settings(ctx).engine(readonly=True) as engine:
        replayed = replay_turn(engine, turn)
        if as_json:
            return print_json(_plain(replayed))
        _print(engine, replayed)
    return None


def _plain(replayed: "Replayed") -> dict[str, Any]:
    return {
        "turn": replayed.turn,
        "asked": replayed.asked,
        "then": verdicts(replayed.then) if replayed.then else None,
        "now": verdicts(replayed.now),
        "memories": replayed.memories,
    }


def _print(engine: "MemoryEngine", replayed: "Replayed") -> None:
    console, turn = out(), replayed.turn
    console.print(f"[bold]turn {turn.id}[/] {when(turn.at, engine.zone)}, scope {turn.scope}")
    console.print(f"{turn.speaker}: {turn.text}", markup=False)
    if replayed.asked != turn.text:
        console.print(f"searched for: {replayed.asked}", markup=False, style="dim")
    if replayed.then is None:
        warn("No recall is recorded for this turn, so there is only what it would be now.")
    console.print(_table(engine, replayed))
    if replayed.then is not None:
        console.print(f"[dim]then: {how_found(replayed.then)}[/]")
    console.print(f"[dim]now: {how_found(replayed.now)}[/]")


def _table(engine: "MemoryEngine", replayed: "Replayed") -> Any:
    made = table("then", "now", "memory*")
    made.columns[0].max_width = made.columns[1].max_width = WIDTH
    then = {one.memory: one for one in verdicts(replayed.then)} if replayed.then else {}
    now = {one.memory: one for one in verdicts(replayed.now)}
    for memory in {**now, **then}:
        both = then.get(memory), now.get(memory)
        offered = [one is not None and one.verdict == OFFERED for one in both]
        told = line(replayed.memories.get(memory), engine.zone)
        style = "" if all(offered) else "bold" if any(offered) and replayed.then else "dim"
        row(made, *(_cell(one) for one in both), f"{told}\n{memory}", style=style)
    return made


def _cell(verdict: Verdict | None) -> str:
    if verdict is None:
        return "not among the best"
    return verdict.words if verdict.score is None else f"{verdict.score:.2f} {verdict.words}"
