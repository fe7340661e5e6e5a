"""``slowcat-memory idle``: think without a bot."""

import time
from typing import TYPE_CHECKING, Annotated

import typer

from slowcat_memory.cli.shared.output import count, err, out, waiting, warn
from slowcat_memory.cli.shared.settings import settings

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from slowcat_memory.engine import MemoryEngine
    from slowcat_memory.idle.forecast import Forecast

LOOK_S = 0.5  # between two looks at how it stands
SAY_S = 10.0  # between two lines where no terminal shows them
INTERRUPTED = 130  # 128 + SIGINT, as shells have it


def idle(
    ctx: typer.Context,
    until_done: Annotated[
        bool, typer.Option("--until-done", help="End once nothing is left to do.")
    ] = False,
    job: Annotated[
        list[str] | None,
        typer.Option(help="Only this job, until it is done; may be given again for more."),
    ] = None,
) -> None:
    """Think about what was said, as an agent does while nobody speaks.

    Worth while after a large import, or overnight. With --until-done every job is asked what is due
    whatever its schedule says, and it ends with code 1 when something is left, because the LLM's
    server is away or the budget of the configuration is spent. Ctrl-C may end it at any moment: what
    was begun is due again. [bold]slowcat-memory jobs[/] shows what became of it.

    Example: [bold]slowcat-memory idle --until-done[/]
    """
    finite = until_done or bool(job)
    with settings(ctx).existing().engine(thinking=not finite) as engine:
        if not engine.config.thinking.url:
            warn("No LLM is configured ([thinking] url): what rules can do is done, and no more.")
        if finite:
            _until_done(engine, job)
        else:
            _for_ever(engine)


def _until_done(engine: "MemoryEngine", jobs: "Sequence[str] | None") -> None:
    from slowcat_memory.idle.forecast import forecast

    try:
        with waiting("thinking") as status:
            left = engine.think(jobs, _teller(status))
    except KeyError as error:
        raise typer.BadParameter(str(error.args[0]), param_hint="--job") from None
    except KeyboardInterrupt:
        warn("Stopped. What was begun is due again.")
        raise typer.Exit(INTERRUPTED) from None
    with engine.snapshot() as snapshot:
        dead = sum(forecast(snapshot, jobs or ()).dead.values())
    if dead:
        warn(f"{count(dead, 'task')} given up: `slowcat-memory jobs` shows why.")
    if left:
        warn(f"{count(left, 'task')} left: `slowcat-memory jobs` shows what they wait for.")
        raise typer.Exit(1)
    out().print("[green]✓[/] Nothing is left to do.")
    if not jobs:
        shown = "[dim]slowcat-memory facts, people, summaries and blocks show what came of it.[/]"
        err().print(shown, soft_wrap=True)


def _for_ever(engine: "MemoryEngine") -> None:
    if not engine.config.idle.enabled:
        raise typer.BadParameter("[idle] enabled is off: only --until-done thinks")
    from slowcat_memory.idle.forecast import forecast

    try:
        with waiting("thinking") as status:
            tell = _teller(status)
            while True:
                with engine.snapshot() as snapshot:
                    now = forecast(snapshot)
                tell(now)
                time.sleep(LOOK_S)
    except KeyboardInterrupt:
        out().print("Stopped. What was begun is due again.")


def _teller(status: "Callable[[str], None]") -> "Callable[[Forecast], None]":
    """Make what tells how it stands: in place on a terminal, else in a line now and then."""
    said_at, console, begun = time.monotonic(), err(), False

    def tell(now: "Forecast") -> None:
        nonlocal said_at, begun
        begun = begun or bool(now.left)
        line = describe(now) if begun else "looking for what is due"
        status(line)
        if not console.is_terminal and time.monotonic() - said_at >= SAY_S:
            said_at = time.monotonic()
            console.print(line, markup=False)

    return tell


def describe(now: "Forecast") -> str:
    """Say how it stands, in a line.

    Args:
        now: What is left, and how fast it goes.

    Returns:
        For example "12 left (contextualize 10, seal 2), 140 tok/s, about 3 min".
    """
    if not now.left:
        return "nothing is due"
    jobs = ", ".join(f"{job} {n:,}" for job, n in now.left.items())
    parts = [f"{sum(now.left.values()):,} left ({jobs})"]
    if now.tokens_s:
        parts.append(f"{now.tokens_s:,.0f} tok/s")
    if now.left_s is not None:
        parts.append(f"about {duration(now.left_s)}")
    return ", ".join(parts)


def duration(seconds: float) -> str:
    """Write how long something takes.

    Returns:
        For example "40 s", "3 min", "2 h 5 min".
    """
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    if minutes < 90:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min" if minutes % 60 else f"{minutes // 60} h"
