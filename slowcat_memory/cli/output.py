"""Output of the commands: results on stdout; warnings, progress and errors on stderr.

Stored text may contain anything, so it is never read as rich markup, and no control character in it
reaches a terminal.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any

import typer
from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress import MofNCompleteColumn, Progress, TaskID
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from slowcat_memory.core.time.calendar import in_zone
from slowcat_memory.errors import SlowcatError

DONE, FAILED, USAGE = 0, 1, 2
INTERRUPTED = 130  # 128 + SIGINT, as shells have it
CODES = {
    DONE: "done",
    FAILED: "failed, or what was asked for was not found",
    USAGE: "wrong usage",
    INTERRUPTED: "interrupted by Ctrl-C",
}
EXAMPLES = '"2024-05-12", "2024-05-12 18:30", "yesterday", "last week"'

# C0 without tab and newline, DEL, C1, bidi overrides, tag characters: they move a cursor or hide text
_CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]"
)
_PREPOSITION = re.compile("^(?:in|on|at|im|am) ")


class NotFound(SlowcatError):
    """The requested thing does not exist, or nothing can be shown: exit code 1, no "Error:"."""


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


def warn(line: str) -> None:
    console = err()
    console.print(Text(line, style="yellow"), soft_wrap=not console.is_terminal)


def done(what: str, text: str = "") -> None:
    """Print what was done, and a text or a path that belongs to it, which is no markup."""
    out().print(
        Text.assemble(("✓", "green"), f" {what}", f" {text}" if text else ""), soft_wrap=True
    )


# ------------------------------------------------------------------- errors


def usage(message: str, option: str = "") -> typer.BadParameter:
    """Return the error for arguments that make no sense; exit code 2."""
    return typer.BadParameter(message, param_hint=option or None)


# ------------------------------------------------------------------- lists


def print_json(value: Any) -> None:
    import msgspec

    plain = msgspec.to_builtins(value, str_keys=True, enc_hook=str)
    text = json.dumps(plain, ensure_ascii=False, indent=2)
    print(_CONTROLS.sub(lambda match: json.dumps(match[0])[1:-1], text))


def print_entries(rows: Sequence[Sequence[str | Text]], console: Console | None = None) -> None:
    """Print rows of a left part, a text, and lines beneath it, which explain it."""
    made = Table.grid(padding=(0, 2, 0, 0), expand=True)
    made.add_column(width=min(20, max((len(row[0]) for row in rows), default=0)), overflow="fold")
    made.add_column(ratio=1, overflow="fold")
    for left, text, *beneath in rows:
        made.add_row(
            Text(left) if isinstance(left, str) else left,
            Text(text) if isinstance(text, str) else text,
        )
        for line in filter(None, beneath):
            made.add_row(Text(), Text(str(line), style="dim"))
    (console or out()).print(made)


def dots(*parts: str) -> str:
    """Return the parts that say something, with dots between them."""
    return " · ".join(filter(None, parts))


def short(text: str, limit: int = 300) -> str:
    """Return a text on one line, cut to ``limit`` characters."""
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[: limit - 1].rstrip()}…"


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


# ------------------------------------------------------------------- progress


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
def bars(quiet: bool = False) -> Iterator[Callable[[str, int, int], None]]:
    """Show progress bars; yields a function that takes a kind of work, its done and its total."""
    console = err()
    columns = (*Progress.get_default_columns(), MofNCompleteColumn())
    with Progress(*columns, console=console, disable=quiet or not console.is_terminal) as progress:
        tasks: dict[str, TaskID] = {}

        def show(what: str, finished: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = progress.add_task(what)
            progress.update(tasks[what], completed=finished, total=total)

        yield show


# ------------------------------------------------------------------- times


def when(at: datetime, zone: tzinfo) -> str:
    """Return a time to the minute, for example "2024-05-12 18:30"."""
    return in_zone(at, zone).isoformat(" ")[:16]


def period_of(text: str, now: datetime, zone: tzinfo, option: str) -> tuple[datetime, datetime]:
    """Return the time that a text names, in UTC: its start, and the first moment after it.

    Args:
        text: A date or time in ISO 8601, or an expression in English or German.
        now: The present, aware; expressions are relative to it, and mean the past where they can.
        zone: The user's time zone.
        option: Where the text was given, for the error.

    Raises:
        typer.BadParameter: It names no time.
    """
    from slowcat_memory.core.time.expressions import WhenOptions, times
    from slowcat_memory.transfer.transcript import time_of, utc

    try:
        datetime.fromisoformat(text.strip())
    except ValueError:
        plain = _PREPOSITION.sub("", text.strip().casefold())
    else:
        try:
            at = time_of(text)
        except ValueError as error:
            raise usage(str(error), option) from None
        if at is not None:
            whole_day = len(text.strip()) <= len("2025-11-15")
            return utc(at, zone), utc(at + timedelta(days=1) if whole_day else at, zone)
        plain = ""
    for language in ("english", "german"):
        for asked in (plain, f"in {plain}"):  # "march" alone may be a verb
            found = times(f"{asked}?", now, zone, WhenOptions(language=language))
            if len(found) == 1 and found[0].words.casefold() in (plain, asked):
                return found[0].start.astimezone(UTC), found[0].end.astimezone(UTC)
    raise usage(f"{text!r} is not a time such as {EXAMPLES}", option)


def parse_time(text: str | None, now: datetime, zone: tzinfo, option: str) -> datetime | None:
    """Return the beginning of the time that a text names, as ``period_of``; None for None."""
    return None if text is None else period_of(text, now, zone, option)[0]


def last_moment(text: str, now: datetime, zone: tzinfo, option: str) -> datetime:
    """Return the last moment of the time that a text names, but none of the future, in UTC.

    Raises:
        typer.BadParameter: It names no time.
    """
    start, end = period_of(text, now, zone, option)
    last = max(start, end - timedelta(microseconds=1))
    return min(last, now.astimezone(UTC)) if start <= now else last
