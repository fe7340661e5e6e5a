import pytest

from benchmarks import common, footprint, recall_tables, run_all, stores, tables, turn
from benchmarks.peers import base
from slowcat_memory.runtime.recall.query import RecallOptions
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


def test_tables_every_part_has_a_place_and_a_plot_where_it_is_shown():
    page = run_all.PAGE.read_text(encoding="utf-8")
    for name in run_all.PARTS:
        begin, end = f"<!-- begin {name} -->\n", f"<!-- end {name} -->"
        assert page.count(begin) == page.count(end) == 1 and page.index(begin) < page.index(end)
        assert f"benchmarks.{name}" in page
        assert (f"({name}.png)" in page) == (run_all.PAGE.parent / f"{name}.png").exists()


STAMP = {
    "commit": "abcd1234",
    "date": "2026-11-23",
    "machine": {"cores": 2, "cpu": "A CPU", "system": "Linux", "python": "3.11"},
    "load": [0.5, 0.25],
}


def quality(data: str, **stamp: object) -> dict:
    scores = dict.fromkeys(recall_tables.QUALITY["turn"], 0.5) | {"n": 4}
    result = {"data": data, "indexed": "i", "vectors": "v@1", "levels": {"turn": {"all": scores}}}
    return STAMP | stamp | {"results": [result]}


def test_tables_results_of_two_commits_are_refused():
    files = {"quality-a.json": quality("A"), "quality-b.json": quality("B", commit="ffff0000")}
    with pytest.raises(tables.MixedCommitsError, match=r"quality-a\.json of abcd1234, quality-b"):
        run_all.section("quality", files)


@pytest.mark.parametrize("commit", ["", "abcd1234+"])
def test_tables_results_of_no_known_commit_are_left_out(commit: str):
    files = {"quality-a.json": quality("A", commit=commit), "quality-b.json": quality("B")}
    text = run_all.section("quality", files)
    assert "| **A** |" not in text and "| **B** |" in text and "`quality-a.json`" in text
    del files["quality-b.json"]
    text = run_all.section("quality", files)
    assert text == "Left out: `quality-a.json`, not measured on a known commit."
    assert run_all.section("growth", files) == "Not measured yet."


def test_tables_the_selection_asks_for_arms_and_peers_that_there_are():
    """Misspelt, it would fail after ten minutes."""
    for every in (False, True):
        arms = [each for each in run_all.TURN[every] if ":" in each]
        assert set(arms) <= set(turn.ARMS)
        names = (
            run_all.PEERS[every][run_all.PEERS[every].index("--peers") + 1 :] if not every else ()
        )
        assert set(names) <= set(base.PEERS)


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


def test_speed_tables_what_is_denied_was_measured_at_todays_threshold() -> None:
    written = run_all.kept()["unknown.json"]
    assert written["judged"]["below"] == RecallOptions().unknown_below, "run benchmarks.unknown"


def test_tables_the_selection_leaves_out_what_takes_long(tmp_path):
    for name in ("LoCoMo", "MADialEN", "RealMem"):
        made_up.write(tmp_path / "data" / name)
    for every in (False, True):
        steps = list(run_all.plan(tmp_path / "data", tmp_path / "kept", every=every))
        done = {step.result: step.arguments for step in steps if not step.skipped}
        assert ("quality-realmem.json" in done) == every
        assert ("100000" in done["latency.json"]) == ("growth.json" in done) == every
        assert ("unknown.json" in done) == every
        skipped = {step.name for step in steps if step.skipped}
        assert set(run_all.STUDIES) - skipped == (
            set(run_all.STUDIES) - {"contextual"} if every else set()
        )
        for arguments in done.values():
            if "--cache" in arguments:
                assert str(tmp_path / "kept") in arguments[arguments.index("--cache") + 1]


FOOTPRINT = {
    "disk": {"parts": {"hot": 200_000, "vectors": 768_000}, "file": 1_500_000},
    "rss_mb": {"interpreter": 10.0, "package": 70.0, "memory": 70.0, "total": 80.0},
}


def test_tables_a_footprint_is_written():
    sizes = {"memories": 1000, "before": FOOTPRINT, "after": FOOTPRINT}
    text = tables.footprint({"sources_mb": 260, "results": [sizes]})
    assert "| all of these | 968.0 | 968.0 |" in text and "| data file | 1500 | 1500 |" in text
    assert "1,000, before ageing" in text and "260" in text


@pytest.mark.slow
def test_footprint_the_figures_have_their_documented_shape(model_config):
    found = footprint.measure(900)
    assert found["memories"] == 900 and found["ageing_s"] > 0
    for when in ("before", "after"):
        parts = found[when]["disk"]["parts"]
        assert tuple(parts) == footprint.PARTS
        assert parts["vectors"] > 900 * 768 and parts["index"] > 0
        rss = found[when]["rss_mb"]
        grown = sum(mb for name, mb in rss.items() if name not in ("total", "memory"))
        assert abs(grown - rss["total"]) < 1
    before, after = (found[when]["disk"]["tiers"] for when in ("before", "after"))
    assert before["hot"]["memories"] == 900
    assert (after["hot"]["memories"], after["warm"]["memories"]) <= (220, 500)
    assert after["cold"]["stored"] < 0.6 * after["cold"]["raw"]
