"""``slowcat-memory jobs``: idle work that waits, was given up, or was done lately."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from slowcat_memory.cli.shared.output import count, out, print_json, row, short, table, warn, when
from slowcat_memory.cli.shared.settings import AsJson, settings

if TYPE_CHECKING:
    from datetime import tzinfo

    from slowcat_memory.records import Run, Task
    from slowcat_memory.store import Store

SHOWN = 10  # runs, and tasks of each sort
STYLES = {"done": "", "retry": "yellow", "dead": "red", "interrupted": "dim", "away": "yellow"}

app = typer.Typer(
    invoke_without_command=True,
    help=(
        "Show idle work: what waits, what was given up and why, and what was done lately.\n\n"
        "Works while an agent runs; [bold]retry[/] and [bold]drop[/] do not. No text of a memory is "
        "shown: a task names what it is about by id.\n\n"
        "Example: [bold]slowcat-memory jobs retry --all-dead[/]"
    ),
)


@app.callback()
def jobs(ctx: typer.Context, as_json: AsJson = False) -> None:
    """List what waits, what was given up, and the last runs."""
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
    """Show all that is known of a task, and its last runs.

    Example: [bold]slowcat-memory jobs show contextualize/anna/42[/]
    """
    with _store(ctx) as store, store.snapshot() as snapshot:
        task = snapshot.task(id_)
        runs = [run for run in snapshot.runs() if run.task == id_][:SHOWN]
    if task is None and not runs:
        raise typer.BadParameter(f"there is no task {id_}, and no run of one")
    if as_json:
        return print_json({"task": task, "runs": runs})
    zone = _zone(ctx)
    if task is None:
        out().print(f"It is not due: {runs[0].outcome}.")
    else:
        _print_task(task, zone)
    _print_runs(runs, zone)
    return None


@app.command()
def retry(
    ctx: typer.Context,
    id_: Annotated[str | None, typer.Argument(metavar="[ID]", help="The task.")] = None,
    all_dead: Annotated[
        bool, typer.Option("--all-dead", help="Every task that was given up.")
    ] = False,
) -> None:
    """Have a task tried again, as if it were new; also one that waits for its next try.

    Example: [bold]slowcat-memory jobs retry --all-dead[/]
    """
    from slowcat_memory.idle.scheduler.retries import revived
    from slowcat_memory.records import WriteBatch

    if (id_ is None) != all_dead:
        raise typer.BadParameter("name a task, or give --all-dead")
    with _store(ctx, readonly=False) as store:
        for task in (found := _chosen(store, id_)):
            batch = WriteBatch(done=task.id, tasks=(revived(task),), retask=True)
            store.apply("cli", batch).wait()
    if not found:
        warn("No task was given up.")
        return
    out().print(f"[green]✓[/] {count(len(found), 'task')} due again.")


@app.command()
def drop(
    ctx: typer.Context, id_: Annotated[str, typer.Argument(metavar="ID", help="The task.")]
) -> None:
    """Take a task away undone. Its job may find it due again later.

    Example: [bold]slowcat-memory jobs drop contextualize/anna/42[/]
    """
    from slowcat_memory.records import WriteBatch

    with _store(ctx, readonly=False) as store:
        (task,) = _chosen(store, id_)
        store.apply("cli", WriteBatch(done=task.id)).wait()
    out().print("[green]✓[/] Dropped.")


# ------------------------------------------------------------------- inside


@contextmanager
def _store(ctx: typer.Context, readonly: bool = True) -> "Iterator[Store]":
    """Open the store alone: no index, no model, and nothing that would begin to think."""
    from slowcat_memory.store import Store

    config = settings(ctx).config
    store = Store.open(config.folder, readonly=readonly, options=config.store)
    try:
        yield store
    finally:
        store.close()


def _zone(ctx: typer.Context) -> "tzinfo":
    from slowcat_memory.config import time_zone

    return time_zone(settings(ctx).config)


def _chosen(store: "Store", id_: str | None) -> "list[Task]":
    with store.snapshot() as snapshot:
        if id_ is None:
            return snapshot.tasks(state="dead")
        task = snapshot.task(id_)
    if task is None:
        raise typer.BadParameter(f"there is no task {id_}")
    return [task]


def _print_waiting(left: dict[str, int], tasks: "list[Task]", zone: "tzinfo") -> None:
    if not left:
        out().print("Nothing waits.")
        return
    made = table("job", ">waiting", ">tried before", "next try", title="Waiting")
    for job, n in left.items():
        tried = [task for task in tasks if task.job == job and task.attempts]
        times = [task.not_before for task in tried if task.not_before]
        soonest = "when idle" if len(tried) < n or not times else when(min(times), zone)
        row(made, job, f"{n:,}", f"{len(tried):,}" if tried else "", soonest)
    out().print(made)


def _print_dead(tasks: "list[Task]", zone: "tzinfo") -> None:
    if not tasks:
        return
    made = table("task", ">tried", "when", "why*", title="Given up")
    for task in tasks[:SHOWN]:
        row(made, task.id, task.attempts, when(task.created, zone), short(task.error, 120))
    out().print(made)
    if len(tasks) > SHOWN:
        out().print(f"and {len(tasks) - SHOWN:,} more (--json shows all)")


def _print_runs(runs: "list[Run]", zone: "tzinfo") -> None:
    if not runs:
        return
    made = table("when", "task", "outcome", ">ms", ">tokens", ">made", "why*", title="Last runs")
    for run in runs:
        tokens = run.tokens_in + run.tokens_out
        row(
            made,
            when(run.at, zone),
            run.task or run.job,
            run.outcome,
            f"{run.ms:,.0f}",
            f"{tokens:,}" if tokens else "",
            run.made or "",
            short(run.error, 80),
            style=STYLES[run.outcome],
        )
    out().print(made)


def _print_task(task: "Task", zone: "tzinfo") -> None:
    lines: dict[str, Any] = {
        "task": task.id,
        "job": task.job,
        "scope": task.scope or "every one",
        "about": task.key,
        "state": "given up" if task.state == "dead" else "waiting",
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
