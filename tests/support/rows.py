"""A test of a list: one test, which runs every row and reports all that fail."""

import functools
import inspect
from collections.abc import Callable, Iterable
from itertools import takewhile
from pathlib import Path
from typing import Any

DATA = Path(__file__).parents[1] / "data"


def listed(name: str, part: str = "") -> list[list[str]]:
    """Return the rows of a list in ``tests/data``: a line each, with tabs between its fields.

    Args:
        name: The file, without ``.tsv``.
        part: The heading, after ``# ``, under which the rows stand, where a file has several.
    """
    lines = (DATA / f"{name}.tsv").read_text("utf-8").splitlines()
    begin = lines.index(f"# {part}") + 1 if part else 0
    rows = lines[begin:]
    if part:
        rows = list(takewhile(lambda line: not line.startswith("#"), rows))
    return [line.split("\t") for line in rows if not line.startswith("#")]


def listed_texts(name: str, part: str = "") -> list[str]:
    """Return the rows of a list of texts."""
    return [text for (text,) in listed(name, part)]


def each_row(
    names: str | tuple[str, ...], rows: Iterable[Any]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run a test with every row of a list; the rows that fail are reported together at the end.

    For tests that need nothing of their own for a row: they share whatever fixtures they have.
    """
    fields = (names,) if isinstance(names, str) else names
    listed = list(rows)

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def run(**fixtures: Any) -> None:
            failures = []
            for row in listed:
                values = row if len(fields) > 1 else (row,)
                try:
                    test(**fixtures, **dict(zip(fields, values, strict=True)))
                except Exception as failure:
                    failure.add_note(f"with {row!r}")
                    failures.append(failure)
            if failures:
                raise ExceptionGroup(f"{len(failures)} of {len(listed)} rows failed", failures)

        own = inspect.signature(test).parameters.items()
        rest = [parameter for name, parameter in own if name not in fields]
        run.__signature__ = inspect.Signature(rest)  # type: ignore[attr-defined]
        return run

    return decorate
