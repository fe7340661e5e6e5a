"""The figures that a person feels, in README.md and docs/machines.md: each names where it was read.

A row is text in which ``{FILE|PATH|FORM}`` stands for a figure: a file of ``benchmarks/results``
without its ending, keys and positions in it split by "/", and "%" for a share in percent, a format of
Python's, or nothing for as many decimals as in the tables of docs/performance.md. So a test can compare
every printed figure with the value at its own place. All rows of a table are of one commit, the newest;
a row whose file was not measured on it is left out.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.common import value_at
from benchmarks.tables import caption, generation, is_known, number, percent, table

Files = Mapping[str, Any]
"""Results by name of their file."""
Row = tuple[str, ...]
PLACE = re.compile(r"\{([\w-]+)\|([^|{}]+)\|?([^{}]*)\}")

HEAD = (
    "on two cores, no GPU",
    "",
    "measured by, and its row in [performance](docs/performance.md)",
)
ROWS = Path(__file__).parent / "data" / "readme.tsv"
README: tuple[Row, ...] = tuple(
    tuple(line.split("\t")) for line in ROWS.read_text("utf-8").splitlines() if line[0] != "#"
)
MACHINES = {
    "memories": "memories|,d",
    "memory in use, MB": "rss_mb",
    "disk, MB": "disk_mb",
    "a recall, ms": "inline/p50",
    "start to first answer, ms": "cold/lexical",
}


def machine_rows(files: Files) -> list[Row]:
    """Return what a store of each measured size needs."""
    sizes = files.get("growth.json", {}).get("results", ())
    return [
        tuple(f"{{growth|results/{place}/{path}}}" for path in MACHINES.values())
        for place, _ in enumerate(sizes)
    ]


def known(files: Files) -> dict[str, Any]:
    """Keep the results that were measured on a known commit."""
    return {name: written for name, written in files.items() if is_known(written)}


def files_of(row: Row) -> set[str]:
    """Return the names of the files that a row's figures stand in."""
    return {f"{found[1]}.json" for cell in row for found in PLACE.finditer(cell)}


def readme(files: Files) -> str:
    """Write the table of README.md as Markdown.

    Args:
        files: Results by name of their file.
    """
    return _written(HEAD, README, files, "make bench").replace("---:", "---")


def machines(files: Files) -> str:
    """Write the table of docs/machines.md; see `readme`."""
    made = _written(tuple(MACHINES), machine_rows(files), files, "python -m benchmarks.growth")
    return f"`python -m benchmarks.growth`. {made}"


def _written(head: Row, rows: Sequence[Row], files: Files, command: str) -> str:
    named = {name for row in rows for name in files_of(row)} & known(files).keys()
    newest = generation(files[name] for name in sorted(named))
    there = {name: files[name] for name in named if files[name]["commit"] == newest}
    shown = [row for row in rows if files_of(row) <= there.keys()]
    if not shown:
        return f"Not measured on a known commit yet: `{command}` does so."
    used = {name: there[name] for row in shown for name in files_of(row)}
    return f"{caption(used)}\n\n{table(head, [list(_cells(row, used)) for row in shown])}"


def _cells(row: Row, files: Files) -> Iterator[str]:
    return (PLACE.sub(lambda found: printed(files, *found.groups()), cell) for cell in row)


def printed(files: Files, file: str, path: str, form: str) -> str:
    """Return the text of a figure.

    Raises:
        ValueError: The file has no such value.
    """
    try:
        value = value_at(files[f"{file}.json"], path)
    except (KeyError, IndexError) as error:
        raise ValueError(f"{file}.json has no {path}: measure it anew") from error
    if form == "%":
        return percent(value)
    return format(value, form) if form else number(value)
