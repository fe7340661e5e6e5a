"""A test of a list: one test, which runs every row and reports all that fail."""

import functools
import inspect
import json
from collections.abc import Callable, Iterable
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest

DATA = Path(__file__).parents[1] / "data"


def listed(name: str, part: str = "") -> list[list[Any]]:
    """Return the rows of a list in ``tests/data``: a line each.

    Args:
        name: A ``.tsv`` without its ending, with tabs between the texts of a row; or a ``.jsonl``
            with it, whose rows are JSON lists.
        part: The heading, after ``# ``, under which the rows stand, where a file has several.
    """
    read = json.loads if name.endswith(".jsonl") else lambda line: line.split("\t")
    file = name if name.endswith(".jsonl") else f"{name}.tsv"
    lines = (DATA / file).read_text("utf-8").removesuffix("\n").split("\n")
    begin = lines.index(f"# {part}") + 1 if part else 0
    rows = lines[begin:]
    if part:
        rows = list(takewhile(lambda line: not line.startswith("#"), rows))
    return [read(line) for line in rows if not line.startswith("#")]


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


def each_listed(name: str, part: str | None = None) -> Callable[..., Callable[..., None]]:
    """Run a test with every row of a list, as ``each_row``; the row is its last parameters.

    Args:
        name: The list, as in ``listed``.
        part: Its part; None for the one that is called as the test, without ``test_``.
    """

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        fields, rows = _of(test, name, part)
        return each_row(fields, rows)(test)

    return decorate


def cases(name: str, part: str | None = None) -> Callable[..., Callable[..., None]]:
    """Make a test of every row of a list, for tests with things of their own; as ``each_listed``."""

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        return pytest.mark.parametrize(*_of(test, name, part))(test)

    return decorate


def _of(test: Callable[..., None], name: str, part: str | None) -> tuple[Any, list[Any]]:
    rows = listed(name, test.__name__.removeprefix("test_") if part is None else part)
    fields = tuple(inspect.signature(test).parameters)[-len(rows[0]) :]
    return (fields, rows) if len(fields) > 1 else (fields[0], [row[0] for row in rows])
