"""Progress of long work: how much is done, how fast, how long it will take. On stderr."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from slowcat_memory.cli.shared.output import err

Told = Callable[[str, int, int], None]
"""Told what is being done, how much of it is done, and of how much."""


class _Rate(ProgressColumn):
    """How many a second."""

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text(f"{speed:,.0f}/s" if speed else "", style="dim")


@contextmanager
def waiting(what: str, quiet: bool = False) -> Iterator[Callable[[str], None]]:
    """Show that something goes on whose end cannot be foreseen."""
    console = err()
    if quiet or not console.is_terminal:
        yield lambda step: None
        return
    with console.status(Text(what)) as status:
        yield lambda step: status.update(Text(f"{what}: {step}"))


@contextmanager
def bars(labels: dict[str, str], quiet: bool = False) -> Iterator[Told]:
    """Show a bar for each sort of work, as it comes."""
    columns = (
        SpinnerColumn(finished_text="[green]✓"),
        TextColumn("{task.description}"),
        BarColumn(bar_width=30),
        MofNCompleteColumn(),
        _Rate(),
        TimeRemainingColumn(elapsed_when_finished=True),
    )
    console = err()
    with Progress(*columns, console=console, disable=quiet or not console.is_terminal) as progress:
        tasks: dict[str, TaskID] = {}

        def told(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = progress.add_task(labels.get(what, what), total=total)
            progress.update(tasks[what], completed=done, total=total)

        yield told
