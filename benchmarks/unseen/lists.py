"""The lists in ``benchmarks/data/unseen``, and the figures of what came of their rows.

They are tab-separated files with a header and comment lines.

A row belongs to one half: "tuned" rows may be read by whoever changes a rule, "held out" rows by
nobody who does.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from slowcat_memory.core.language import language_of

FOLDER = Path(__file__).parent.parent / "data" / "unseen"
TUNED, HELD_OUT = "tuned", "held out"
HALVES = (TUNED, HELD_OUT)

Row = Mapping[str, str]
Marks = Mapping[str, tuple[float, float]]


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


# -------------------------------------------------------------------- what came of the rows


class Verdict(Struct, frozen=True):
    """What came of a row.

    Attributes:
        marks: By figure, what the row adds to its numerator and to its denominator. A row without
            a figure's name does not count for it.
        wrong: The row is not as wanted.
        came_out: What the product made of it, for a reader.
    """

    row: Row
    marks: Marks
    wrong: bool
    came_out: str = ""


class JudgedList(Struct, frozen=True):
    """A list and its judge.

    Attributes:
        name: Of the list, and of its file without the ending.
        columns: That its file must have.
        judge: Judges rows of one half, given those of the file beside.
        beside: Another such file that the judge needs, with its columns.
    """

    name: str
    columns: str
    judge: Callable[..., list[Verdict]]
    beside: tuple[str, str] = ("", "")


def each(judge: Callable[[Row], Verdict]) -> Callable[[Sequence[Row]], list[Verdict]]:
    """Return the judge of a list whose rows are judged one by one."""
    return lambda rows: [judge(row) for row in rows]


def one(yes: object) -> tuple[float, float]:
    """Return the mark of a row that counts once."""
    return (1.0 if yes else 0.0), 1.0


def figures(verdicts: Iterable[Verdict]) -> dict[str, dict[str, float]]:
    """Sum up.

    Returns:
        ``share`` and ``of`` (the denominator) by figure. "F1" is added where there are "precision"
        and "recall"; its ``of`` is that of recall. A figure of nothing is left out.
    """
    sums: dict[str, list[float]] = {}
    for verdict in verdicts:
        for name, (part, whole) in verdict.marks.items():
            total = sums.setdefault(name, [0.0, 0.0])
            total[0] += part
            total[1] += whole
    made = {
        name: {"share": round(part / whole, 4), "of": round(whole)}
        for name, (part, whole) in sums.items()
        if whole
    }
    if {"precision", "recall"} <= made.keys():
        precision, recall = made["precision"]["share"], made["recall"]["share"]
        both = max(precision + recall, 1e-9)
        share = round(2 * precision * recall / both, 4)
        made["F1"] = {"share": share, "of": made["recall"]["of"]}
    return made


def groups(verdicts: Sequence[Verdict]) -> Iterator[tuple[str, str, list[Verdict]]]:
    """Yield each half with its groups: all, by language, case and class, where it has several."""
    for half in HALVES:
        mine = [verdict for verdict in verdicts if verdict.row["half"] == half]
        if mine:
            yield half, "all", mine
        for group in (language, lambda row: row.get("case", ""), lambda row: row.get("class", "")):
            names = sorted({group(verdict.row) for verdict in mine})
            for name in names if len(names) > 1 else ():
                yield half, name, [verdict for verdict in mine if group(verdict.row) == name]


def results(verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """Return ``n`` and ``figures`` by half and group: no words of any item."""
    made: dict[str, Any] = {}
    for half, group, some in groups(verdicts):
        made.setdefault(half, {})[group] = {"n": len(some), "figures": figures(some)}
    return made
