"""Every figure of what is generated in README and docs stands in a results file, with its command."""

import json
import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from benchmarks import common, run_all
from benchmarks.common import number
from benchmarks.tables import percent

BLOCK = re.compile(r"<!-- begin (?:figures|machines) -->\n(.*?)<!-- end \w+ -->", re.S)
CODE = re.compile(r"`[^`]*`")
FIGURE = re.compile(r"(?<![\w@])\d[\d,]*(?:\.\d+)?(?!\w)")
# Of the wording: the first 5 or 10 answers, the deadline, "99 of 100" for the 99th percentile.
WORDED = {"5", "10", "99", "100"}
PAGES = [run_all.README, run_all.PAGE, run_all.MACHINES]
MEASURED = re.compile(r"\d\s?(?:ms|MB|kB|%)(?![\w-])")


def readme() -> str:
    return run_all.README.read_text(encoding="utf-8")


def section(page: Path) -> str:
    found = BLOCK.search(page.read_text(encoding="utf-8"))
    assert found
    return found[1]


def without_code(text: str) -> str:
    """Return prose: no fenced blocks, no commands, no options."""
    return CODE.sub("", re.sub(r"```.*?```", "", text, flags=re.S))


def numbers(value: Any) -> Iterator[float]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from numbers(each)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield float(value)


def written_as() -> set[str]:
    """Return every way in which a figure of a results file may be written."""
    made = set(WORDED)
    for path in common.RESULTS.glob("*.json"):
        for value in set(numbers(json.loads(path.read_text(encoding="utf-8")))):
            made |= {number(value), f"{value:.0f}", f"{value:,.0f}", f"{value:g}"}
            if 0 <= value <= 1:
                made |= {percent(value), f"{100 * value:.0f}"}
    return made


def strangers(text: str, known: set[str]) -> list[str]:
    """Return the figures of a text that no results file holds."""
    return [figure for figure in FIGURE.findall(without_code(text)) if figure not in known]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_readme_figures_stand_in_a_results_file(page: Path) -> None:
    assert strangers(section(page), written_as()) == []


def test_readme_a_figure_of_ones_own_is_caught() -> None:
    assert strangers("recall takes 4.987 ms, or 1,234,567 ms", written_as()) == [
        "4.987",
        "1,234,567",
    ]


def units(text: str) -> list[str]:
    """Return the rows and items of generated text; a sentence that ends in ":" goes with its table."""
    found, above = [], ""
    for line in text.splitlines():
        if line.startswith("- ") or (line.startswith("| ") and not line.startswith("| ---")):
            found.append(f"{above} {line}")
        elif line.endswith(":"):
            above = line
        elif line and not line.startswith("|"):
            above = ""
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_readme_every_figure_has_a_command_that_exists(page: Path) -> None:
    rows = [unit for unit in units(section(page)) if "measured by" not in unit]
    assert rows
    for row in rows:
        commands = re.findall(r"`python -m (benchmarks\.\w+)", row)
        assert commands, f"no command beside: {row}"
        assert all(find_spec(name) for name in commands)


def test_readme_has_no_measured_figure_outside_of_what_is_generated() -> None:
    rest = without_code(BLOCK.sub("", readme()))
    assert [line for line in rest.splitlines() if MEASURED.search(line)] == []


@pytest.mark.parametrize("line", ["It takes 5 ms.", "Half of it is 12.5 % less", "402 MB resident"])
def test_readme_a_measured_figure_elsewhere_is_caught(line: str) -> None:
    assert MEASURED.search(line)
