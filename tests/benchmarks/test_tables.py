import pytest

from benchmarks import common, quality, run_all, stores, tables, turn
from tests.support import tiny_dataset as made_up


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


def test_tables_every_part_has_a_place_where_it_is_shown():
    page = run_all.PAGE.read_text(encoding="utf-8")
    for name in run_all.PARTS:
        begin, end = f"<!-- begin {name} -->\n", f"<!-- end {name} -->"
        assert page.count(begin) == page.count(end) == 1 and page.index(begin) < page.index(end)
        assert f"benchmarks.{name}" in page


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


def test_tables_the_selection_asks_for_arms_that_there_are():
    """Misspelt, it would fail after ten minutes."""
    for arguments in run_all.ARGUMENTS["turn"].values():
        assert {each for each in arguments if ":" in each} <= set(turn.ARMS)


def test_tables_a_run_is_of_one_generation(tmp_path, monkeypatch):
    results = {"turn.json": {}, "quality-realmem.json": {}, "written.json": {}}
    for name in results:
        (tmp_path / name).write_text("{}")
    monkeypatch.setattr(common, "RESULTS", tmp_path)
    monkeypatch.setattr(run_all, "plan", lambda *_, every: ())
    monkeypatch.setattr(run_all, "render", lambda: None)
    monkeypatch.setattr("sys.argv", ["run_all"])
    run_all.main()
    assert [path.name for path in tmp_path.iterdir()] == ["written.json"], "no part of the page"


def test_tables_nothing_in_the_results_names_this_machine():
    for path in common.RESULTS.glob("*.json"):
        text = path.read_text(encoding="utf-8")
        assert "/home" not in text and "/work" not in text and "/tmp" not in text


def test_growth_a_cache_serves_no_store_of_an_older_form(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(stores, "form", lambda config: "old")
    stores._kept(tmp_path, 100, 10, None).mkdir()
    assert stores.is_kept(tmp_path, 100, 10)
    monkeypatch.setattr(stores, "form", lambda config: "new")
    assert not stores.is_kept(tmp_path, 100, 10)


def test_tables_the_selection_leaves_out_what_takes_long(tmp_path):
    for name in ("LoCoMo", "MADialEN", "RealMem"):
        made_up.write(tmp_path / "data" / name)
    for every in (False, True):
        steps = list(run_all.plan(tmp_path / "data", tmp_path / "kept", every=every))
        done = {step.result: step.arguments for step in steps if not step.skipped}
        assert {"growth.json", "prefix.json", "quality-locomo.json"} <= done.keys()
        assert ("quality-realmem.json" in done) == every
        assert ("100000" in done["latency.json"]) == every
        for arguments in done.values():
            if "--cache" in arguments:
                assert str(tmp_path / "kept") in arguments[arguments.index("--cache") + 1]
