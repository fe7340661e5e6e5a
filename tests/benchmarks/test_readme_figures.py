"""Every figure that is generated in README and docs/machines.md is compared with its own place."""

import re
from importlib.util import find_spec
from typing import Any

import pytest

from benchmarks import plain_figures, run_all
from benchmarks.plain_figures import PLACE, Row

BLOCK = re.compile(r"<!-- begin (figures|machines) -->\n(.*?)<!-- end \1 -->", re.S)
CODE = re.compile(r"`[^`]*`")
MEASURED = re.compile(r"\d\s?(?:ms|MB|kB|%)(?![\w-])")
# Of the wording: the 95th percentile, "95 of 100"; the deadline, in ms; the pause, in ms.
WORDED = {"95", "100", "10", "300", "50"}


def measured() -> dict[str, Any]:
    """Return results of every file that a row reads, each value another one, all on one commit."""
    stamp = {
        "commit": "abcd1234",
        "date": "2026-11-23",
        "machine": {"cores": 2, "cpu": "A CPU", "system": "Linux", "python": "3.11"},
        "load": [0.5],
    }
    wait = {"p50": 5.125, "p95": 9.25}
    found = {"all": {"n": 786, "Hit@5": 0.951}}
    offered = {"all": {"hit": 0.746, "precision": 0.314}}
    arms = {"ours": {"broken": 0}, "Mem0's": {"broken": 37}}
    size = {
        "memories": 100_000,
        "pauses": {"300": {"p50": 4.75, "p95": 7.375}, "reading": {"300": 2.5, "0": 1.25}},
        "cold": {"lexical": 106.2, "full": 163.8},
        "rss_mb": 264.9,
        "disk_mb": 252.3,
        "inline": {"p50": 3.625},
    }
    results = [size | {"memories": 10_000, "rss_mb": 121.1}, size]
    files = {
        "turn.json": {
            "pause_s": [0.3, 2.0],
            "arms": {
                "one core: segmented": {"wait": wait, "in_time": 0.9875},
                "one core: streaming": {"wait": {"p50": 0.35, "p95": 0.52}},
            },
        },
        "latency.json": {"results": results},
        "growth.json": {"results": results},
        "prefix.json": {"results": [{"turns": 20}, {"turns": 50, "arms": arms}]},
        "quality-locomo.json": {
            "results": [
                {"data": "LoCoMo", "levels": {"session": found}, "offered": {"turn": offered}}
            ]
        },
    }
    return {name: stamp | written for name, written in files.items()}


def value(files: dict[str, Any], file: str, path: str, form: str) -> float:
    """Read a figure's own place, apart from how the table reads it."""
    at = files[f"{file}.json"]
    for key in path.split("/"):
        at = at[key] if isinstance(at, dict) else at[int(key)]
    return 100 * at if form == "%" else at


def is_value(printed: str, expected: float) -> bool:
    """Tell whether a printed figure is a value, rounded to as many decimals as are printed."""
    decimals = len(printed.partition(".")[2])
    return abs(float(printed.replace(",", "")) - expected) <= 0.5000001 * 10**-decimals


def line_of(row: Row) -> re.Pattern[str]:
    """Return a pattern of a row as it is printed, with a group for each figure."""
    text = f"| {' | '.join(row)} |"
    figure = r"(\d[\d,]*(?:\.\d+)?)"
    ends = [0, *(end for found in PLACE.finditer(text) for end in found.span()), len(text)]
    return re.compile(
        figure.join(re.escape(text[a:b]) for a, b in zip(ends[::2], ends[1::2], strict=True))
    )


def wrong(block: str, rows: list[Row], files: dict[str, Any]) -> list[str]:
    """Return the rows and figures of a block that are not what their own places hold."""
    there = plain_figures.known(files)
    shown = [row for row in rows if plain_figures.files_of(row) <= there.keys()]
    lines = [line for line in block.splitlines() if line.startswith("| ")][2:]
    if len(lines) != len(shown):
        return [f"{len(lines)} rows instead of {len(shown)}"]
    return [
        told for line, row in zip(lines, shown, strict=True) for told in _wrong(line, row, there)
    ]


def _wrong(line: str, row: Row, files: dict[str, Any]) -> list[str]:
    found = line_of(row).fullmatch(line)
    if found is None:
        return [line]
    places = PLACE.findall(" | ".join(row))
    return [
        f"{printed} is not {place}"
        for printed, place in zip(found.groups(), places, strict=True)
        if not is_value(printed, value(files, *place))
    ]


def block_of(text: str) -> str:
    found = BLOCK.search(text)
    assert found
    return found[2]


README = list(plain_figures.README)


def test_readme_figures_are_what_their_own_places_hold() -> None:
    files = run_all.kept()
    for page, rows in (
        (run_all.README, README),
        (run_all.MACHINES, plain_figures.machine_rows(files)),
    ):
        assert wrong(block_of(page.read_text(encoding="utf-8")), rows, files) == []


def test_readme_rows_are_printed_as_their_places_say() -> None:
    files = measured()
    text = plain_figures.readme(files)
    assert wrong(text, README, files) == []
    assert "5.12 ms; 95 of 100 within 9.25 ms; 98.8 % with all" in text
    assert wrong(plain_figures.machines(files), plain_figures.machine_rows(files), files) == []


@pytest.mark.parametrize("row", README, ids=lambda row: row[0][:30])
def test_readme_every_row_names_its_command_and_its_row(row: Row) -> None:
    [command] = re.findall(r"`python -m (benchmarks\.\w+)[^`]*`: \*", row[-1])
    assert find_spec(command)
    stem = command.partition(".")[2]
    files = plain_figures.files_of(row)
    assert files and all(file.startswith(stem) for file in files)


def test_readme_no_row_has_a_figure_of_its_own() -> None:
    for row in README:
        assert set(re.findall(r"\d+", re.sub("Mem0", "", PLACE.sub("", "".join(row))))) <= WORDED


def test_readme_has_no_measured_figure_outside_of_what_is_generated() -> None:
    text = BLOCK.sub("", run_all.README.read_text(encoding="utf-8"))
    rest = CODE.sub("", re.sub(r"```.*?```", "", text, flags=re.S))
    assert [line for line in rest.splitlines() if MEASURED.search(line)] == []


def test_readme_a_place_that_a_file_lacks_is_named() -> None:
    files = measured()
    del files["prefix.json"]["results"][1]
    with pytest.raises(ValueError, match="prefix.json has no results/1/arms/ours/broken"):
        plain_figures.readme(files)


def test_readme_rows_that_were_not_measured_anew_are_left_out() -> None:
    files = measured()
    files["quality-locomo.json"] |= {"commit": "ffff0000", "date": "2026-11-22"}
    text = plain_figures.readme(files)
    assert "`abcd1234`" in text and "LoCoMo" not in text and "benchmarks.turn" in text
