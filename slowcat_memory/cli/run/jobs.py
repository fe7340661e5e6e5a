"""``slowcat-memory jobs``: idle tasks that are waiting, failed, or done lately."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from slowcat_memory.cli.shared.exits import NotFound, usage
from slowcat_memory.cli.shared.output import (
    count,
    entries,
    entry,
    out,
    print_json,
    row,
    short,
    table,
    warn,
    when,
)
from slowcat_memory.cli.shared.settings import AsJson, settings

if TYPE_CHECKING:
    from datetime import tzinfo

    from slowcat_memory.records import Run, Task
    from slowcat_memory.store import Snapshot, Store

_LIST = "`slowcat-memory jobs --json` lists them all"
SHOWN = 10  # runs, and tasks of each sort
STYLES = {"done": "", "retry": "yellow", "dead": "red", "interrupted": "dim", "away": "yellow"}

app = typer.Typer(
    invoke_without_command=True,
    help=(
        "Show idle work: waiting tasks, failed tasks and why, and the last runs.\n\n"
        "Shows no memory texts: tasks name memories by id.\n\n"
        "Example: [bold]slowcat-memory jobs retry --all-dead[/]"
    ),
)


@app.callback()
def jobs(ctx: typer.Context, as_json: AsJson = False) -> None:
    """List waiting tasks, failed tasks, and the last runs."""
    if ctx.invoked_subcommand is not None:
        return None
    from slowcat_memory.idle.forecast import forecast

    with _store(ctx) as store, store.snapshot() as snapshot:
        tasks, runs, now = snapshot.tasks(), snapshot.runs(SHOWN), forecast(snapshot)
    if as_json:
        return print_json({"tasks": tasks, "runs": runs, "forecast": now})
    zone = _zone(ctx)
    _print_waiting(now.left, [task for task in tasks if task.state == "waiting"], zone)
    _print_dead([task for task in tasks if task.state == "dead"], zone)
    _print_runs(runs, zone)
    return None


@app.command()
def show(
    ctx: typer.Context,
    id_: Annotated[str, typer.Argument(metavar="ID", help="The task.")],
    as_json: AsJson = False,
) -> None:
    """Show a task in full, and its last runs.

    Example: [bold]slowcat-memory jobs show contextualize/anna/42[/]
    """
    with _store(ctx) as store, store.snapshot() as snapshot:
        task = snapshot.task(id_)
        runs = [run for run in snapshot.runs() if run.task == id_][:SHOWN]
    if task is None and not runs:
        raise NotFound(f"there is no task {id_}, and no run of one", hint=_LIST)
    if as_json:
        return print_json({"task": task, "runs": runs})
    zone = _zone(ctx)
    if task is None:
        out().print(f"Not waiting; last run: {runs[0].outcome}.")
    else:
        _print_task(task, zone)
    _print_runs(runs, zone)
    return None


@app.command()
def retry(
    ctx: typer.Context,
    id_: Annotated[str | None, typer.Argument(metavar="[ID]", help="The task.")] = None,
    all_dead: Annotated[bool, typer.Option("--all-dead", help="Every failed task.")] = False,
) -> None:
    """Try a task again now, as if it were new; also one that is waiting for its next try.

    Example: [bold]slowcat-memory jobs retry --all-dead[/]
    """
    from slowcat_memory.idle.scheduler.results import revived
    from slowcat_memory.records import WriteBatch

    if (id_ is None) != all_dead:
        raise usage("name a task, or give --all-dead")
    with settings(ctx).existing().engine(words_only=True) as memory:
        with memory.snapshot() as snapshot:
            found = _chosen(snapshot, id_)
        for task in found:
            memory.apply("cli", WriteBatch(done=task.id, tasks=(revived(task),), retask=True))
    if not found:
        warn("No failed tasks.")
        return
    out().print(f"[green]✓[/] {count(len(found), 'task')} will be tried again.")


@app.command()
def drop(
    ctx: typer.Context, id_: Annotated[str, typer.Argument(metavar="ID", help="The task.")]
) -> None:
    """Delete a task without doing it. Its job may create it again later.

    Example: [bold]slowcat-memory jobs drop contextualize/anna/42[/]
    """
    from slowcat_memory.records import WriteBatch

    with settings(ctx).existing().engine(words_only=True) as memory:
        with memory.snapshot() as snapshot:
            (task,) = _chosen(snapshot, id_)
        memory.apply("cli", WriteBatch(done=task.id))
    out().print("[green]✓[/] Dropped.")


@contextmanager
def _store(ctx: typer.Context) -> "Iterator[Store]":
    """Open only the store: no index, no model, no idle work."""
    from slowcat_memory.store import Store

    config = settings(ctx).existing().config
    store = Store.open(config.folder, readonly=True, options=config.store)
    try:
        yield store
    finally:
        store.close()


def _zone(ctx: typer.Context) -> "tzinfo":
    from slowcat_memory.config import time_zone

    return time_zone(settings(ctx).config)


def _chosen(snapshot: "Snapshot", id_: str | None) -> "list[Task]":
    if id_ is None:
        return snapshot.tasks(state="dead")
    task = snapshot.task(id_)
    if task is None:
        raise NotFound(f"there is no task {id_}", hint=_LIST)
    return [task]


def _print_waiting(left: dict[str, int], tasks: "list[Task]", zone: "tzinfo") -> None:
    if not left:
        out().print("No tasks are waiting.")
        return
    now = datetime.now(UTC)
    made = table("job", ">waiting", ">tried before", "next try", title="Waiting")
    for job, n in left.items():
        own = [task for task in tasks if task.job == job]
        tried = sum(task.attempts > 0 for task in own)
        soonest = min((task.not_before or now for task in own), default=now)
        at = when(soonest, zone) if soonest > now else "when idle"
        row(made, job, f"{n:,}", f"{tried:,}" if tried else "", at)
    out().print(made)


def _print_dead(tasks: "list[Task]", zone: "tzinfo") -> None:
    if not tasks:
        return
    made = table("task", ">tried", "when", "why*", title="Failed")
    for task in tasks[:SHOWN]:
        row(made, task.id, task.attempts, when(task.created, zone), short(task.error, 120))
    out().print(made)
    if len(tasks) > SHOWN:
        out().print(f"and {len(tasks) - SHOWN:,} more (--json shows all)")


def _print_runs(runs: "list[Run]", zone: "tzinfo") -> None:
    if not runs:
        return
    out().print("\nLast runs", style="bold")
    made = entries(width=16)
    for run in runs:
        tokens = run.tokens_in + run.tokens_out
        about = [
            run.outcome,
            f"{run.ms:,.0f} ms",
            f"{tokens:,} tokens" if tokens else "",
            count(run.made, "record") if run.made else "",
            short(run.error, 80),
        ]
        text = Text(run.task or run.job, STYLES[run.outcome])
        entry(made, when(run.at, zone), text, " · ".join(filter(None, about)))
    out().print(made)


def _print_task(task: "Task", zone: "tzinfo") -> None:
    lines: dict[str, Any] = {
        "task": task.id,
        "job": task.job,
        "scope": task.scope or "all",
        "about": task.key,
        "state": "failed" if task.state == "dead" else "waiting",
        "due since": when(task.created, zone),
        "rank": task.rank,
        "tried": task.attempts,
        "next try": when(task.not_before, zone) if task.not_before else "",
        "why": task.error,
        "turns": ", ".join(map(str, task.sources)),
        "note": short(task.note, 200),
    }
    made = table("", "*")
    made.show_header = False
    for name, value in lines.items():
        if value != "":
            row(made, name, value)
    out().print(made)
