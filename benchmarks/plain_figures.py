"""The figures that a person feels, in README.md and docs/machines.md: each names where it was read.

A row is text in which ``{FILE|PATH|FORM}`` stands for a figure: a file of ``benchmarks/results``
without its ending, keys and positions in it split by "/", and "%" for a share in percent, a format of
Python's, or nothing for as many decimals as in the tables of docs/performance.md. So a test can compare
every printed figure with the value at its own place. All rows of a table are of one commit; a row whose
file was not measured on a known commit is left out.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchmarks.common import value_at
from benchmarks.tables import caption, is_known, number, percent, table

Files = Mapping[str, Any]
"""Results by name of their file."""
Row = tuple[str, ...]
PLACE = re.compile(r"\{([\w-]+)\|([^|{}]+)\|?([^{}]*)\}")

HEAD = (
    "on two cores, no GPU",
    "",
    "measured by, and its row in [performance](docs/performance.md)",
)
README: tuple[Row, ...] = (
    (
        "A turn's wait for its memories, with a recogniser like Whisper on one of the cores and "
        "{turn|pause_s/0|g} to {turn|pause_s/1|g} s between turns",
        "{turn|arms/one core: segmented/wait/p50} ms; 95 of 100 within "
        "{turn|arms/one core: segmented/wait/p95} ms; "
        "{turn|arms/one core: segmented/in_time|%} % with all of them, within the deadline of 10 ms",
        "`python -m benchmarks.turn`: *one core: segmented*",
    ),
    (
        "… with streaming speech-to-text, where recall runs while the user speaks",
        "{turn|arms/one core: streaming/wait/p50} ms; 95 of 100 within "
        "{turn|arms/one core: streaming/wait/p95} ms",
        "`python -m benchmarks.turn`: *one core: streaming*",
    ),
    (
        "A recall after a pause, among {latency|results/-1/memories|,d} memories",
        "{latency|results/-1/pauses/300/p50} ms; 95 of 100 within "
        "{latency|results/-1/pauses/300/p95} ms; reading a block of memory takes "
        "{latency|results/-1/pauses/reading/300} ms after the same pause, "
        "{latency|results/-1/pauses/reading/0} ms without",
        "`python -m benchmarks.latency`: *after a pause of 300 ms*",
    ),
    (
        "From start to the first answer, {latency|results/-1/memories|,d} memories",
        "{latency|results/-1/cold/lexical|.0f} ms by words, "
        "{latency|results/-1/cold/full|.0f} ms in full",
        "`python -m benchmarks.latency`: *fresh process*",
    ),
    (
        "Memory and disk, {growth|results/-1/memories|,d} memories",
        "{growth|results/-1/rss_mb|.0f} MB and {growth|results/-1/disk_mb|.0f} MB",
        "`python -m benchmarks.growth`: *resident MB, in use*, *disk MB*",
    ),
    (
        "Turns after which the LLM must read its prompt again",
        "{prefix|results/1/arms/ours/broken} of {prefix|results/1/turns} (placed as Mem0's service "
        "does: {prefix|results/1/arms/Mem0's/broken})",
        "`python -m benchmarks.prefix`: *50: ours*",
    ),
    (
        "{quality-locomo|results/0/levels/session/all/n} questions about months of talk (LoCoMo), "
        "without an LLM: a right conversation is among the first five found",
        "{quality-locomo|results/0/levels/session/all/Hit@5|%} %",
        "`python -m benchmarks.quality --data LoCoMo`: *session level*",
    ),
    (
        "… a right turn is in what the LLM is given",
        "{quality-locomo|results/0/offered/turn/all/hit|%} %; of the memories that it is given, "
        "{quality-locomo|results/0/offered/turn/all/precision|%} % are right",
        "`python -m benchmarks.quality --data LoCoMo`: *offered, turn level*",
    ),
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

    Raises:
        MixedCommitsError: Its rows were measured on several commits.
    """
    return _written(HEAD, README, files, "make bench").replace("---:", "---")


def machines(files: Files) -> str:
    """Write the table of docs/machines.md; see `readme`."""
    made = _written(tuple(MACHINES), machine_rows(files), files, "python -m benchmarks.growth")
    return f"`python -m benchmarks.growth`. {made}"


def _written(head: Row, rows: Sequence[Row], files: Files, command: str) -> str:
    there = known(files)
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
