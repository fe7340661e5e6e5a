"""Output of the commands: results on stdout; warnings, progress and errors on stderr.

Stored text may contain anything, so it is never read as rich markup, and no control character in it
reaches a terminal.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime, tzinfo
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions, RenderableType
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
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

LEFT_OUT = "…"
TIMES = frozenset({"when", "began", "last", "from", "until"})  # headings


# C0 without tab and newline, DEL, C1, bidi overrides, tag characters: they move a cursor or hide text
_CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]"
)


class SafeConsole(Console):
    """A console that writes no control character of a text; its own styles stay."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Render as rich does, without the control characters of any text."""
        for segment in super().render(renderable, options):
            safe = segment.control or not _CONTROLS.search(segment.text)
            yield segment if safe else Segment(printable(segment.text), segment.style)


def printable(text: str) -> str:
    """Return a text without characters that control a terminal."""
    return _CONTROLS.sub("", text)


def out() -> Console:
    return SafeConsole(highlight=False)


def err() -> Console:
    return SafeConsole(stderr=True, highlight=False)


def say(line: str = "") -> None:
    out().print(line)


def warn(line: str) -> None:
    console = err()
    console.print(Text(line, style="yellow"), soft_wrap=not console.is_terminal)


def print_json(value: Any) -> None:
    import msgspec

    plain = msgspec.to_builtins(value, str_keys=True, enc_hook=str)
    text = json.dumps(plain, ensure_ascii=False, indent=2)
    print(_CONTROLS.sub(lambda match: json.dumps(match[0])[1:-1], text))


def table(*columns: str, title: str = "") -> Table:
    """Return an empty table.

    Args:
        *columns: Headings; a leading ">" aligns numbers to the right, a trailing "*" lets the
            column use the remaining space. Numbers and times are never cut.
    """
    made = Table(
        box=SIMPLE_HEAD,
        title=title or None,
        title_justify="left",
        title_style="bold",
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
    for column in columns:
        name = column.strip(">*")
        numbers, wide = column.startswith(">"), column.endswith("*")
        made.add_column(
            name,
            justify="right" if numbers else "left",
            ratio=1 if wide else None,
            no_wrap=numbers or name in TIMES,
            overflow="fold",
        )
    return made


def row(made: Table, *cells: Any, style: str = "") -> None:
    made.add_row(*(c if isinstance(c, Text) else Text(str(c)) for c in cells), style=style or None)


def entries(width: int = 10) -> Table:
    """Return an empty list of entries: ``width`` columns for a date, the rest for text."""
    made = Table.grid(padding=(0, 2, 0, 0), expand=True)
    made.add_column(width=width, no_wrap=True)
    made.add_column(ratio=1, overflow="fold")
    return made


def entry(made: Table, left: str, text: str | Text, *beneath: str, style: str = "") -> None:
    """Add an entry: a text, and under it what explains it, dim."""
    made.add_row(Text(left), text if isinstance(text, Text) else Text(text), style=style or None)
    for line in filter(None, beneath):
        made.add_row(Text(), Text(line), style="dim")


def when(at: datetime, zone: tzinfo) -> str:
    """Return a time to the minute, for example "2024-05-12 18:30"."""
    from slowcat_memory.core.time.calendar import in_zone

    return in_zone(at, zone).isoformat(" ")[:16]


def short(text: str, limit: int = 300) -> str:
    """Return a text on one line, cut to ``limit`` characters."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + LEFT_OUT


def size(bytes_: float) -> str:
    """Return a size, for example "1.2 MB"."""
    for unit in ("B", "kB", "MB", "GB"):
        if bytes_ < 1000:
            return f"{bytes_:.0f} {unit}" if unit == "B" else f"{bytes_:.1f} {unit}"
        bytes_ /= 1000
    return f"{bytes_:.1f} TB"


def count(n: int, noun: str) -> str:
    """Return a number with its noun, for example "1 turn", "1,200 turns", "2 memories"."""
    if n == 1:
        return f"1 {noun}"
    return f"{n:,} {noun[:-1]}ies" if noun.endswith("y") else f"{n:,} {noun}s"


def listed(names: Iterable[str], limit: int = 5) -> str:
    """Return a list of names, for example "anna, ben and 3 more"."""
    every = list(names)
    more = f" and {len(every) - limit} more" if len(every) > limit else ""
    return ", ".join(every[:limit]) + more


ShowProgress = Callable[[str, int, int], None]
"""Called with the kind of work, how much of it is done, and the total."""


class _Rate(ProgressColumn):
    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text(f"{speed:,.0f}/s" if speed else "", style="dim")


@contextmanager
def waiting(what: str, quiet: bool = False) -> Iterator[Callable[[str], None]]:
    """Show a spinner for work of unknown length; yields a function to show each step."""
    console = err()
    if quiet or not console.is_terminal:
        yield lambda step: None
        return
    with console.status(Text(what)) as status:
        yield lambda step: status.update(Text(f"{what}: {step}"))


@contextmanager
def bars(labels: dict[str, str], quiet: bool = False) -> Iterator[ShowProgress]:
    """Show a progress bar on stderr for each kind of work when it starts."""
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
