"""Pages show the results that are kept, each figure from its own place."""

import json
import re
from typing import Any

import pytest

from benchmarks import common, plain_figures, quality, run_all, tables
from benchmarks.plain_figures import PLACE
from tests.support.rows import DATA

# ------------------------------------------------------------------- tables


def test_tables_the_pages_show_the_results_that_are_kept():
    files = run_all.kept()
    parts = {name: run_all.section(name, files) for name in run_all.PARTS}
    for path, made in (
        (run_all.PAGE, parts),
        (run_all.README, {"figures": run_all.plain_figures.readme(files)}),
        (run_all.MACHINES, {"machines": run_all.plain_figures.machines(files)}),
    ):
        page = path.read_text(encoding="utf-8")
        assert tables.fill(page, made) == page, "run `make docs`"


STAMP = {
    "commit": "abcd1234",
    "date": "2026-11-23",
    "machine": {"cores": 2, "cpu": "A CPU", "system": "Linux", "python": "3.11"},
    "load": [0.5, 0.25],
}


def scored(data: str, **stamp: object) -> dict:
    scores = dict.fromkeys(quality.SHOWN["turn"], 0.5) | {"n": 4}
    result = {"data": data, "indexed": "i", "vectors": "v@1", "levels": {"turn": {"all": scores}}}
    return STAMP | stamp | {"results": [result]}


def test_tables_results_of_two_commits_are_refused():
    files = {"quality-a.json": scored("A"), "quality-b.json": scored("B", commit="ffff0000")}
    with pytest.raises(tables.MixedCommitsError, match=r"quality-a\.json of abcd1234, quality-b"):
        run_all.section("quality", files)


@pytest.mark.parametrize("commit", ["", "abcd1234+"])
def test_tables_results_of_no_known_commit_are_left_out(commit: str):
    files = {"quality-a.json": scored("A", commit=commit), "quality-b.json": scored("B")}
    text = run_all.section("quality", files)
    assert "| **A** |" not in text and "| **B** |" in text and "`quality-a.json`" in text
    del files["quality-b.json"]
    text = run_all.section("quality", files)
    assert text == "Left out: `quality-a.json`, not measured on a known commit."
    assert run_all.section("growth", files) == "Not measured yet."


def test_tables_nothing_in_the_results_names_this_machine():
    for path in common.RESULTS.glob("*.json"):
        text = path.read_text(encoding="utf-8")
        assert "/home" not in text and "/work" not in text and "/tmp" not in text


# ------------------------------------------------------------------- the figures that are generated in README: each from its own place, and no other

BLOCK = re.compile(r"<!-- begin (figures|machines) -->\n(.*?)<!-- end \1 -->", re.S)
CODE = re.compile(r"`[^`]*`")
MEASURED = re.compile(r"\d\s?(?:ms|MB|kB|%)(?![\w-])")
# Of the wording: the 95th percentile, "95 of 100"; the deadline, in ms; the pause, in ms.
WORDED = {"95", "100", "10", "300", "50"}


def measured() -> dict[str, Any]:
    """Return results of every file that a row reads, each value another one, all on one commit."""
    files = json.loads((DATA / "measured.json").read_text())
    return {name: STAMP | {"load": [0.5]} | written for name, written in files.items()}


README = list(plain_figures.README)


def test_readme_rows_are_printed_with_the_figures_of_their_places() -> None:
    text = plain_figures.readme(measured())
    assert "5.12 ms; 95 of 100 within 9.25 ms; 98.8 % with all" in text


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
