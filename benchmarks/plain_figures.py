"""The figures that a person feels, in README.md and docs/machines.md: each names where it was read.

A row is text with placeholders; each placeholder has a file of ``benchmarks/results`` and a path in
it, so that a test can compare every printed figure with the value at its own place. All rows of a
table are of one commit; a row whose file was not measured on a known commit is left out.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from benchmarks.common import number, value_at
from benchmarks.tables import caption, is_known, percent, table

Files = Mapping[str, Any]
"""Results by name of their file."""


class Place(Struct, frozen=True):
    """Where a printed figure was read, and how it is printed.

    Attributes:
        file: Of ``benchmarks/results``.
        path: Keys and positions, split by "/".
        form: "%" for a share in percent, a format of Python's, or "" for as many decimals as in the
            tables of docs/performance.md.
    """

    file: str
    path: str
    form: str = ""


class Row(Struct, frozen=True):
    """A row of a table.

    Attributes:
        cells: Text with placeholders.
        figures: Where each placeholder is read, by name.
    """

    cells: tuple[str, ...]
    figures: dict[str, Place]


HEAD = (
    "on two cores, no GPU",
    "",
    "measured by, and its row in [performance](docs/performance.md)",
)
README = (
    Row(
        (
            "A turn's wait for its memories, with a recogniser like Whisper on one of the cores and "
            "{short} to {long} s between turns",
            "{p50} ms; 95 of 100 within {p95} ms; {in_time} % with all of them, within the deadline "
            "of 10 ms",
            "`python -m benchmarks.turn`: *one core: segmented*",
        ),
        {
            "short": Place("turn.json", "pause_s/0", "g"),
            "long": Place("turn.json", "pause_s/1", "g"),
            "p50": Place("turn.json", "arms/one core: segmented/wait/p50"),
            "p95": Place("turn.json", "arms/one core: segmented/wait/p95"),
            "in_time": Place("turn.json", "arms/one core: segmented/in_time", "%"),
        },
    ),
    Row(
        (
            "… with streaming speech-to-text, where recall runs while the user speaks",
            "{p50} ms; 95 of 100 within {p95} ms",
            "`python -m benchmarks.turn`: *one core: streaming*",
        ),
        {
            "p50": Place("turn.json", "arms/one core: streaming/wait/p50"),
            "p95": Place("turn.json", "arms/one core: streaming/wait/p95"),
        },
    ),
    Row(
        (
            "A recall after a pause, among {memories} memories",
            "{p50} ms; 95 of 100 within {p95} ms; reading a block of memory takes {read} ms after the same pause, {near} ms without",
            "`python -m benchmarks.latency`: *after a pause of 300 ms*",
        ),
        {
            "memories": Place("latency.json", "results/-1/memories", ",d"),
            "p50": Place("latency.json", "results/-1/pauses/300/p50"),
            "p95": Place("latency.json", "results/-1/pauses/300/p95"),
            "read": Place("latency.json", "results/-1/pauses/reading/300"),
            "near": Place("latency.json", "results/-1/pauses/reading/0"),
        },
    ),
    Row(
        (
            "From start to the first answer, {memories} memories",
            "{lexical} ms by words, {full} ms in full",
            "`python -m benchmarks.latency`: *fresh process*",
        ),
        {
            "memories": Place("latency.json", "results/-1/memories", ",d"),
            "lexical": Place("latency.json", "results/-1/cold/lexical", ".0f"),
            "full": Place("latency.json", "results/-1/cold/full", ".0f"),
        },
    ),
    Row(
        (
            "Memory and disk, {memories} memories",
            "{memory} MB and {disk} MB",
            "`python -m benchmarks.growth`: *resident MB, in use*, *disk MB*",
        ),
        {
            "memories": Place("growth.json", "results/-1/memories", ",d"),
            "memory": Place("growth.json", "results/-1/rss_mb", ".0f"),
            "disk": Place("growth.json", "results/-1/disk_mb", ".0f"),
        },
    ),
    Row(
        (
            "Turns after which the LLM must read its prompt again",
            "{ours} of {turns} (placed as Mem0's service does: {theirs})",
            "`python -m benchmarks.prefix`: *50: ours*",
        ),
        {
            "turns": Place("prefix.json", "results/1/turns"),
            "ours": Place("prefix.json", "results/1/arms/ours/broken"),
            "theirs": Place("prefix.json", "results/1/arms/Mem0's/broken"),
        },
    ),
    Row(
        (
            "{n} questions about months of talk (LoCoMo), without an LLM: a right conversation is "
            "among the first five found",
            "{hit} %",
            "`python -m benchmarks.quality --data LoCoMo`: *session level*",
        ),
        {
            "n": Place("quality-locomo.json", "results/0/levels/session/all/n"),
            "hit": Place("quality-locomo.json", "results/0/levels/session/all/Hit@5", "%"),
        },
    ),
    Row(
        (
            "… a right turn is in what the LLM is given",
            "{hit} %; of the memories that it is given, {precision} % are right",
            "`python -m benchmarks.quality --data LoCoMo`: *offered, turn level*",
        ),
        {
            "hit": Place("quality-locomo.json", "results/0/offered/turn/all/hit", "%"),
            "precision": Place("quality-locomo.json", "results/0/offered/turn/all/precision", "%"),
        },
    ),
)
MACHINES_HEAD = (
    "memories",
    "memory in use, MB",
    "disk, MB",
    "a recall, ms",
    "start to first answer, ms",
)


def machine_rows(files: Files) -> list[Row]:
    """Return what a store of each measured size needs."""
    paths = {
        "memories": ("memories", ",d"),
        "memory": ("rss_mb", ""),
        "disk": ("disk_mb", ""),
        "recall": ("inline/p50", ""),
        "start": ("cold/lexical", ""),
    }
    cells = tuple(f"{{{name}}}" for name in paths)
    return [
        Row(
            cells,
            {
                name: Place("growth.json", f"results/{place}/{path}", form)
                for name, (path, form) in paths.items()
            },
        )
        for place, _ in enumerate(files.get("growth.json", {}).get("results", ()))
    ]


def known(files: Files) -> dict[str, Any]:
    """Keep the results that were measured on a known commit."""
    return {name: written for name, written in files.items() if is_known(written)}


def readme(files: Files) -> str:
    """Write the table of README.md.

    Args:
        files: Results by name of their file.

    Returns:
        Markdown.

    Raises:
        MixedCommitsError: Its rows were measured on several commits.
    """
    return _written(HEAD, README, files, "make bench").replace("---:", "---")


def machines(files: Files) -> str:
    """Write the table of docs/machines.md; see `readme`."""
    made = _written(MACHINES_HEAD, machine_rows(files), files, "python -m benchmarks.growth")
    return f"`python -m benchmarks.growth`. {made}"


def _written(head: Sequence[str], rows: Sequence[Row], files: Files, command: str) -> str:
    there = known(files)
    shown = [row for row in rows if all(one.file in there for one in row.figures.values())]
    if not shown:
        return f"Not measured on a known commit yet: `{command}` does so."
    used = {one.file: there[one.file] for row in shown for one in row.figures.values()}
    return f"{caption(used)}\n\n{table(head, [list(_cells(row, used)) for row in shown])}"


def _cells(row: Row, files: Files) -> Iterator[str]:
    values = {name: _printed(one, files) for name, one in row.figures.items()}
    return (cell.format(**values) for cell in row.cells)


def _printed(figure: Place, files: Files) -> str:
    try:
        value = value_at(files[figure.file], figure.path)
    except (KeyError, IndexError) as error:
        raise ValueError(f"{figure.file} has no {figure.path}: measure it anew") from error
    if figure.form == "%":
        return percent(value)
    return format(value, figure.form) if figure.form else number(value)
