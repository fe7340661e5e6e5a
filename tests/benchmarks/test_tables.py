import pytest

from benchmarks import common, quality, run_all, tables


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
