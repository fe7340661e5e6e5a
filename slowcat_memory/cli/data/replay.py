"""``slowcat-memory replay``: a turn recalled again as of then, or the derived made again."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from slowcat_memory.cli.look.why import (
    OFFERED,
    WIDTH,
    Verdict,
    how_found,
    line,
    verdicts,
)
from slowcat_memory.cli.shared.output import (
    count,
    err,
    out,
    print_json,
    row,
    short,
    table,
    waiting,
    warn,
    when,
)
from slowcat_memory.cli.shared.settings import AsJson, settings

if TYPE_CHECKING:
    from slowcat_memory.engine import MemoryEngine
    from slowcat_memory.replay.rederive import Rederived
    from slowcat_memory.replay.replay_turn import Replayed


def replay(
    ctx: typer.Context,
    turn: Annotated[
        int | None,
        typer.Option("--turn", help="The number of a person's turn.", show_default=False),
    ] = None,
    job: Annotated[
        list[str] | None,
        typer.Option(help="Make only this job's work again; may be given again for more."),
    ] = None,
    answers: Annotated[
        Path | None,
        typer.Option(help="Recorded answers of an LLM, in its place.", metavar="FILE"),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show what would change.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask; for scripts.")] = False,
    as_json: AsJson = False,
) -> None:
    """Recall for a turn again, or make again all that was derived from the log.

    With [bold]--turn[/] the recall of then is compared with the one of now. It works while an agent
    runs. The index of then is made anew, in memory, which takes seconds where much was said. To try
    other options on an old turn, change a copy of the configuration.

    Without, summaries, facts, blocks and all else that idle work has made are made again, session by
    session, by the clock of then: after a change of model or of a prompt, or to mend. What you said,
    noted, pinned, ordered or edited stays. It works on a copy; a backup is made first, and what
    differs is written at once or not at all.

    Examples: [bold]slowcat-memory replay --turn 17[/],
    [bold]slowcat-memory replay --dry-run[/], [bold]slowcat-memory replay --job facts[/]
    """
    if turn is None:
        return _rederive(ctx, job, answers, dry_run=dry_run, yes=yes, as_json=as_json)
    from slowcat_memory.replay.replay_turn import replay_turn

    with settings(ctx).engine(readonly=True) as engine:
        replayed = replay_turn(engine, turn)
        if as_json:
            return print_json(_plain(replayed))
        _print(engine, replayed)
    return None


def _rederive(
    ctx: typer.Context,
    jobs: list[str] | None,
    answers: Path | None,
    *,
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> None:
    from slowcat_memory.providers.llm.recording import ReplayingLLM
    from slowcat_memory.replay.rederive import REPLAY, rederive

    llm = ReplayingLLM(answers) if answers else None
    with settings(ctx).existing().engine(llm=llm) as engine:
        try:
            with waiting("replaying") as status:
                made = rederive(engine, jobs, lambda n: status(f"{count(n, 'session')} done"))
        except KeyError as error:
            raise typer.BadParameter(str(error.args[0]), param_hint="--job") from None
        if llm is not None and llm.missing:
            raise typer.BadParameter(
                f"{llm.missing} of {llm.asked} prompts were not recorded; nothing was changed",
                param_hint="--answers",
            )
        if as_json:
            print_json({"new": made.new, "gone": made.gone, "same": made.same})
        else:
            _print_changes(made)
        if dry_run or not made.changes:
            return
        if not yes:
            typer.confirm("Write this?", abort=True, err=True)
        engine.apply(REPLAY, made.batch)
    err().print(f"[green]✓[/] Written. The memory of before is in {made.backup}.")


def _print_changes(made: "Rederived") -> None:
    shown = table("", "kind", "text*")
    both = {(m.kind, m.text) for m in made.gone} & {(m.kind, m.text) for m in made.new}
    for sign, style, memories in (("-", "red", made.gone), ("+", "green", made.new)):
        for memory in memories:
            if not (memory.retired_at or (memory.kind, memory.text) in both):
                row(shown, sign, memory.kind, short(memory.text), style=style)
    if shown.row_count:
        out().print(shown)
    out().print(
        f"{count(made.sessions, 'session')}: {len(made.new)} new or different, "
        f"{len(made.gone)} gone, {made.same} as they were."
    )


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
