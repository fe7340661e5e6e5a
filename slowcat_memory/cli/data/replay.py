"""``slowcat-memory replay``: re-run recall for one turn, or rebuild all derived data."""

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
from slowcat_memory.cli.shared.exits import usage
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
from slowcat_memory.errors import ProviderError

if TYPE_CHECKING:
    from slowcat_memory.engine import MemoryEngine
    from slowcat_memory.replay.rederive import Rederived
    from slowcat_memory.replay.replay_turn import Replayed


def replay(
    ctx: typer.Context,
    turn: Annotated[
        int | None,
        typer.Option("--turn", help="The number of a user's turn.", show_default=False),
    ] = None,
    job: Annotated[
        list[str] | None,
        typer.Option(help="Rebuild only this job's work. May be repeated."),
    ] = None,
    answers: Annotated[
        Path | None,
        typer.Option(help="Use recorded LLM answers instead of an LLM.", metavar="FILE"),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show what would change.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask; for scripts.")] = False,
    as_json: AsJson = False,
) -> None:
    """Re-run recall for one turn, or rebuild all derived data.

    With [bold]--turn[/]: compares the recall of that moment with a recall now. Works while an agent
    is running. The index of that moment is rebuilt in memory, which takes seconds for a large
    memory. To try other options on an old turn, use a changed copy of the configuration.

    Without: rebuilds summaries, facts, blocks and everything else that idle work derived, session
    by session, with the clock of that time. Useful after a change of model or prompt, or to repair.
    Turns, notes, pins, voice commands and your edits stay. Works on a copy; makes a backup first;
    writes all differences or none.

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
    with settings(ctx).existing().alone(llm) as engine:
        try:
            with waiting("replaying") as status:
                made = rederive(
                    engine, jobs, lambda n: status(f"{count(n, 'session')} done"), dry_run=dry_run
                )
        except KeyError as error:
            raise usage(str(error.args[0]), "--job") from None
        if llm is not None and llm.missing:
            raise ProviderError(
                f"{llm.missing} of {llm.asked} prompts were not recorded; nothing was changed",
                hint=f"Record the answers again, or leave out --answers {answers}",
            )
        if as_json:
            print_json({"new": made.new, "gone": made.gone, "same": made.same})
        else:
            _print_changes(made)
        if dry_run or not made.changes:
            return
        if not yes:
            typer.confirm("Write these changes?", abort=True, err=True)
        engine.apply(REPLAY, made.batch)
    err().print(f"[green]✓[/] Written. A backup of the memory before is in {made.backup}.")


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
        f"{len(made.gone)} gone, {made.same} unchanged."
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
        warn("No recall was recorded for this turn; this is what a recall now finds.")
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
        return "not found"
    return verdict.words if verdict.score is None else f"{verdict.score:.2f} {verdict.words}"
