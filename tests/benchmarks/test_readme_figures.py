"""Every figure in README's measured section has its command, and stands in a results file."""

import json
import re
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import pytest

from benchmarks import common, run_all
from benchmarks.common import number
from benchmarks.tables import percent

BLOCK = re.compile(r"<!-- begin figures -->\n(.*?)<!-- end figures -->", re.S)
CODE = re.compile(r"`[^`]*`")
FIGURE = re.compile(r"(?<![\w@])\d[\d,]*(?:\.\d+)?(?!\w)")
# Of the wording: a first answer of 5 or 10, Whisper on "one of the cores", the deadline.
WORDED = {"5", "10"}
MEASURED = re.compile(r"\d\s?(?:ms|MB|kB|%)(?![\w-])")


def readme() -> str:
    return run_all.README.read_text(encoding="utf-8")


def section(text: str) -> str:
    found = BLOCK.search(text)
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
                made.add(percent(value))
    return made


def strangers(text: str, known: set[str]) -> list[str]:
    """Return the figures of a text that no results file holds."""
    return [figure for figure in FIGURE.findall(without_code(text)) if figure not in known]


def test_readme_figures_stand_in_a_results_file() -> None:
    assert strangers(section(readme()), written_as()) == []


def test_readme_a_figure_of_ones_own_is_caught() -> None:
    assert strangers("recall takes 4.987 ms, or 1,234,567 ms", written_as()) == [
        "4.987",
        "1,234,567",
    ]


def test_readme_every_figure_has_a_command_that_exists() -> None:
    first, *rest = [part for part in section(readme()).strip().split("\n\n") if part]
    lines = [first, *(line for part in rest for line in part.splitlines() if line[0] == "-")]
    for line in lines:
        commands = re.findall(r"`python -m (benchmarks\.\w+)", line)
        assert commands, f"no command beside: {line}"
        assert all(find_spec(name) for name in commands)


def test_readme_has_no_measured_figure_outside_of_what_is_generated() -> None:
    rest = without_code(BLOCK.sub("", readme()))
    assert [line for line in rest.splitlines() if MEASURED.search(line)] == []


@pytest.mark.parametrize("line", ["It takes 5 ms.", "Half of it is 12.5 % less", "402 MB resident"])
def test_readme_a_measured_figure_elsewhere_is_caught(line: str) -> None:
    assert MEASURED.search(line)
