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


def test_tables_a_run_takes_away_what_it_measures_and_nothing_else(tmp_path, monkeypatch):
    for name in ("quality-locomo", "quality-realmem", "peers", "written"):
        (tmp_path / f"{name}.json").write_text("{}")
    steps = (run_all.Step("quality"), run_all.Step("quality", skipped="it takes long"),
             run_all.Step("peers", skipped="they are not installed"))  # fmt: skip
    monkeypatch.setattr(common, "RESULTS", tmp_path)
    monkeypatch.setattr(run_all, "plan", lambda *_, every: steps)
    monkeypatch.setattr(run_all, "_run", lambda step: 1.0)
    monkeypatch.setattr(run_all, "render", lambda: None)
    monkeypatch.setattr("sys.argv", ["run_all"])
    run_all.main()
    assert {path.name for path in tmp_path.iterdir()} == {"peers.json", "written.json"}


def test_tables_a_section_that_was_not_measured_anew_says_so():
    arms = dict.fromkeys(("p50", "p95", "p99", "max", "n"), 1)
    turns = {"memories": 1, "arms": {"a": {"wait": arms, "under_1_ms": 1.0, "in_time": 1.0, "stages": {},
             "prefetch": dict.fromkeys((*turn.FATES, "wasted"), 0.0)}}}  # fmt: skip
    files = {"quality-a.json": scored("A"), "turn.json": STAMP | turns | {"commit": "ffff0000", "date": "2026-11-24"}}  # fmt: skip
    text = run_all.section("quality", files)
    assert text.startswith("Commit `abcd1234`") and "Older than" in text and "`ffff0000`" in text
    assert "Older than" not in run_all.section("turn", files)


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
