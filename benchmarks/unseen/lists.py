"""The lists in ``benchmarks/data/unseen``: tab-separated files with a header and comment lines.

A row belongs to one half: "tuned" rows may be read by whoever changes a rule, "held out" rows by
nobody who does.
"""

from collections.abc import Mapping
from pathlib import Path

from slowcat_memory.core.language import language_of

FOLDER = Path(__file__).parent.parent / "data" / "unseen"
TUNED, HELD_OUT = "tuned", "held out"
HALVES = (TUNED, HELD_OUT)

Row = Mapping[str, str]


def read(path: Path, columns: str) -> list[Row]:
    """Read a list.

    Args:
        columns: Columns that it must have, besides ``half``; with spaces between.

    Raises:
        ValueError: A column is missing, or a line has too few or too many cells or no known half.
            The message names the file and the line, and never the words of an item.
    """
    lines = path.read_text(encoding="utf-8").splitlines()
    told = [(n, line) for n, line in enumerate(lines, 1) if line.strip() and line[0] != "#"]
    header = told[0][1].split("\t") if told else []
    if missing := [name for name in ("half", *columns.split()) if name not in header]:
        raise ValueError(f"{path.name}: no column {', '.join(missing)}")
    return [_row(path.name, n, line, header) for n, line in told[1:]]


def _row(file: str, number: int, line: str, header: list[str]) -> Row:
    cells = line.split("\t")
    cells += [""] * (len(header) - len(cells))  # editors drop tabs at the end of a line
    if len(cells) != len(header):
        raise ValueError(f"{file}, line {number}: {len(cells)} cells, not {len(header)}")
    row = dict(zip(header, (cell.strip() for cell in cells), strict=True))
    if row["half"] not in HALVES:
        raise ValueError(f"{file}, line {number}: the half is neither {' nor '.join(HALVES)}")
    return row


def language(row: Row) -> str:
    """Return the name of a row's language, as ``memory.language`` has it."""
    return language_of(row.get("language") or "english").name


def zone_name(row: Row) -> str:
    """Return an IANA time zone in which a row's language is spoken."""
    return "Europe/Berlin" if language(row) == "german" else "Europe/London"
