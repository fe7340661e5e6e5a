"""``slowcat-memory idle``: run idle work without a bot."""

import time
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

import typer

from slowcat_memory.cli.setup.checks import endpoint
from slowcat_memory.cli.shared.exits import FAILED, INTERRUPTED, usage
from slowcat_memory.cli.shared.output import count, err, out, waiting, warn, when
from slowcat_memory.cli.shared.settings import settings

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import tzinfo

    from slowcat_memory.engine.memory import Memory
    from slowcat_memory.idle.forecast import Forecast
    from slowcat_memory.idle.scheduler.task_queue import Wait

POLL_S = 0.5  # between two progress updates
LINE_S = 10.0  # between two lines where stderr is no terminal


def idle(
    ctx: typer.Context,
    until_done: Annotated[
        bool, typer.Option("--until-done", help="Stop when nothing is left to do.")
    ] = False,
    job: Annotated[
        list[str] | None,
        typer.Option(help="Only this job, until it is done. May be repeated."),
    ] = None,
) -> None:
    """Do the work that an agent does while idle: summaries, facts, vectors, upkeep.

    Useful after a large import, or overnight. --until-done runs every job whatever its schedule,
    and exits with 1 when work is left, because the LLM's server does not answer or the configured
    hours or tokens do not allow it now, or when tasks were given up. Ctrl-C is safe at any time: unfinished tasks are done next time.
    [bold]slowcat-memory jobs[/] shows the results.

    Example: [bold]slowcat-memory idle --until-done[/]
    """
    finite = until_done or bool(job)
    with settings(ctx).existing().engine(thinking=not finite) as engine:
        llm = endpoint(engine.config)
        if llm.state != "fine":
            warn(f"LLM: {llm.found.rstrip('.')}. {llm.hint.rstrip('.')}.")
        if finite:
            _until_done(engine, job)
        else:
            _run_forever(engine)


def _until_done(engine: "Memory", jobs: "Sequence[str] | None") -> None:
    from slowcat_memory.idle.forecast import forecast

    try:
        with waiting("thinking") as status:
            left = engine.think(jobs, _progress_printer(status, engine))
    except KeyError as error:
        raise usage(str(error.args[0]), "--job") from None
    except KeyboardInterrupt:
        warn("Stopped. Unfinished tasks are done next time.")
        raise typer.Exit(INTERRUPTED) from None
    with engine.snapshot() as snapshot:
        dead = sum(forecast(snapshot, jobs or ()).dead.values())
    if dead:
        warn(
            f"{count(dead, 'task')} given up: `slowcat-memory jobs` shows why, "
            "`slowcat-memory jobs retry --all-dead` tries again."
        )
    if left:
        warn(f"{count(left, 'task')} left: `slowcat-memory jobs` shows which.")
    if left or dead:
        raise typer.Exit(FAILED)
    out().print("[green]✓[/] Nothing is left to do.")
    if not jobs:
        shown = "[dim]slowcat-memory facts, people, summaries and blocks show the results.[/]"
        err().print(shown, soft_wrap=True)


def _run_forever(engine: "Memory") -> None:
    if not engine.config.idle.enabled:
        raise usage("[idle] enabled is off; use --until-done")
    from slowcat_memory.idle.forecast import forecast

    try:
        with waiting("thinking") as status:
            show = _progress_printer(status, engine)
            while True:
                with engine.snapshot() as snapshot:
                    now = forecast(snapshot)
                show(now)
                time.sleep(POLL_S)
    except KeyboardInterrupt:
        out().print("Stopped. Unfinished tasks are done next time.")


def _progress_printer(
    status: "Callable[[str], None]", engine: "Memory"
) -> "Callable[[Forecast], None]":
    """Return a function that prints progress: in place on a terminal, else a line at intervals.

    What waits for something is printed at once, in a line of its own, and again when it changes.
    """
    from slowcat_memory.config import time_zone

    printed_at, console, begun = time.monotonic(), err(), False
    zone, url, told = time_zone(engine.config), engine.config.thinking.url, set[str]()

    def show(now: "Forecast") -> None:
        nonlocal printed_at, begun
        begun = begun or bool(now.left)
        for one in now.waits:
            about = one.reason if one.reason == "server" else f"{one.reason} {' '.join(one.jobs)}"
            if about not in told:
                told.add(about)
                warn(describe_wait(one, zone, url))
        line = describe(now) if begun else "looking for work"
        status(line)
        if not console.is_terminal and time.monotonic() - printed_at >= LINE_S:
            printed_at = time.monotonic()
            console.print(line, markup=False)

    return show


def describe(now: "Forecast") -> str:
    """Return the progress in a line: "12 left (contextualize 10, seal 2), 140 tok/s, about 3 min"."""
    if not now.left:
        return "nothing to do"
    parts = [f"{sum(now.left.values()):,} left ({_numbered(now.left)})"]
    if now.tokens_s:
        parts.append(f"{now.tokens_s:,.0f} tok/s")
    if now.left_s:
        parts.append(f"about {duration(now.left_s)}")
    return ", ".join(parts)


def describe_wait(one: "Wait", zone: "tzinfo", url: str = "") -> str:
    """Return what waits, why, until when, and what can be done about it, in a line or two."""
    jobs = _numbered(one.jobs)
    until = f" until {when(one.until, zone)}" if one.until else ""
    if one.reason == "server":
        host = urlsplit(url).netloc.rpartition("@")[2]
        at = f" at {host}" if host else ""
        return (
            f"The LLM's server{at} does not answer. Start it, or correct [idle_llm] url. "
            f"Work by rules goes on without it; these tasks wait for it: {jobs}."
        )
    if one.reason == "later":
        return f"Not due yet: {jobs}{until}."
    causes = {
        "hours": "[idle] from_hour and to_hour do not allow the LLM or the model now",
        "tokens": "[idle] tokens_per_hour are spent",
        "battery": "on battery, and [idle] on_battery is off",
    }
    return f"Waiting{until}: {jobs}: {causes[one.reason]}."


def _numbered(jobs: dict[str, int]) -> str:
    return ", ".join(f"{job} {n:,}" for job, n in jobs.items())


def duration(seconds: float) -> str:
    """Return a duration: "40 s", "3 min", "2 h 5 min"."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    if minutes < 90:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min" if minutes % 60 else f"{minutes // 60} h"
