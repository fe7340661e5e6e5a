"""Long lists: one page of their rows, and the reader's pager where there is a terminal."""

import os
from collections.abc import Sequence
from typing import Annotated, TypeVar

import typer
from msgspec import Struct
from rich.console import Console, RenderableType

from slowcat_memory.cli.shared.exits import NotFound
from slowcat_memory.cli.shared.output import out

ROWS = 50  # of a page, unless ``--limit`` says otherwise

Row = TypeVar("Row")
Limit = Annotated[
    int | None,
    typer.Option(help=f"How many at most; {ROWS} unless --json.", min=1, show_default=False),
]
Page = Annotated[int, typer.Option(help="Which page; 1 is the latest.", min=1)]


class Paged(Struct, frozen=True):
    """The place of one page in a list."""

    begin: int
    end: int
    every: int
    page: int

    @property
    def note(self) -> str:
        """What to type for the next page; "" when this is the last."""
        shown = self.end - self.begin
        if shown == self.every:
            return ""
        more = f"; --page {self.page + 1} shows earlier ones" if self.begin else ""
        return f"{shown:,} of {self.every:,}{more}"


def page_of(rows: Sequence[Row], limit: int | None, page: int) -> tuple[Sequence[Row], Paged]:
    """Return one page of rows, counted from the end, for the latest is last.

    Args:
        limit: Rows of a page; None for all of them.

    Raises:
        NotFound: There are rows, and no such page of them.
    """
    size = limit or max(1, len(rows))
    end = len(rows) - size * (page - 1)
    if end <= 0 and page > 1:
        pages = -(-len(rows) // size)
        raise NotFound(f"there is no page {page}", hint=f"The last is --page {max(1, pages)}.")
    place = Paged(begin=max(0, end - size), end=max(0, end), every=len(rows), page=page)
    return rows[place.begin : place.end], place


def print_paged(*parts: RenderableType) -> None:
    """Print; what is longer than the terminal goes through ``$PAGER``."""
    console = out()
    if not console.is_terminal:
        _print(console, parts)
        return
    with console.capture() as captured:
        _print(console, parts)
    text = captured.get()
    if text.count("\n") < console.height:
        console.file.write(text)
        return
    import pydoc

    os.environ.setdefault("LESS", "-FRX")
    pydoc.pager(text)


def _print(console: Console, parts: Sequence[RenderableType]) -> None:
    for part in parts:
        console.print(part)
