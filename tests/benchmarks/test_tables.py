from pathlib import Path

from benchmarks import (
    common,
    plain_figures,
    plots,
    recall_plots,
    recall_tables,
    run_all,
    tables,
    turn,
)
from benchmarks.peers import base
from tests.support import tiny_dataset as made_up


def test_tables_a_part_is_put_between_its_markers():
    page = "a\n<!-- begin one -->\nold\n<!-- end one -->\nb\n<!-- begin two -->\n<!-- end two -->\n"
    filled = tables.fill(page, {"one": "new"})
    assert filled == page.replace("old", "new")
    assert tables.fill(filled, {"one": "new"}) == filled


def test_tables_the_page_shows_the_results_that_are_kept():
    page = run_all.PAGE.read_text(encoding="utf-8")
    parts = {name: run_all.PARTS[name].write(kept) for name, kept in run_all.kept().items()}
    assert parts and tables.fill(page, parts) == page, "run `make docs`"


def test_tables_readme_and_machines_show_the_results_that_are_kept():
    results = run_all.kept()
    for path, parts in (
        (run_all.PAGE, {"figures": tables.figures(results)}),
        (run_all.README, {"figures": plain_figures.plain(results)}),
        (run_all.MACHINES, {"machines": plain_figures.machines(results)}),
    ):
        page = path.read_text(encoding="utf-8")
        assert tables.fill(page, parts) == page, "run `make docs`"


def test_tables_every_part_has_a_place_and_says_what_it_is():
    page = run_all.PAGE.read_text(encoding="utf-8")
    for name in run_all.PARTS:
        begin, end = f"<!-- begin {name} -->\n", f"<!-- end {name} -->"
        assert page.count(begin) == page.count(end) == 1 and page.index(begin) < page.index(end)
        assert f"benchmarks.{name}" in page
        assert (f"({name}.png)" in page) == (run_all.PARTS[name].draw is not None)


def test_tables_without_data_the_reason_is_said(tmp_path):
    steps = list(run_all.plan(tmp_path / "nowhere", tmp_path, every=False))
    skipped = {step.name: step.skipped for step in steps if step.skipped}
    assert {"quality", "ablation", "calibration", "contextual"} <= set(skipped)
    assert "evaluation data" in skipped["calibration"]
    assert [step.result for step in steps if not step.skipped][:5] == [
        "latency.json",
        "turn.json",
        "preempt.json",
        "idle_cost.json",
        "prefix.json",
    ]


def test_tables_the_selection_leaves_out_what_takes_long(tmp_path):
    for name in ("LoCoMo", "MADialEN", "RealMem"):
        made_up.write(tmp_path / "data" / name)
    for every in (False, True):
        steps = list(run_all.plan(tmp_path / "data", tmp_path / "kept", every=every))
        done = {step.result: step.arguments for step in steps if not step.skipped}
        assert ("quality-realmem.json" in done) == every
        assert ("100000" in done["latency.json"]) == ("growth.json" in done) == every
        assert ({"ablation.json", "calibration.json", "unknown.json"} <= set(done)) == every
        skipped = {step.name for step in steps if step.skipped}
        assert set(run_all.STUDIES) - skipped == (
            set(run_all.STUDIES) - {"contextual"} if every else set()
        )
        vectors = {done[f][done[f].index("--cache") + 1] for f in done if f.startswith("quality")}
        assert vectors == {str(tmp_path / "kept" / "vectors")}
        for name, arguments in done.items():
            if name not in ("prefix.json", "preempt.json"):
                assert str(tmp_path / "kept") in arguments[arguments.index("--cache") + 1]


def test_tables_the_selection_asks_for_arms_and_peers_that_there_are():
    """Misspelt, it would fail after ten minutes."""
    for every in (False, True):
        arms = [each for each in run_all.TURN[every] if ":" in each]
        assert set(arms) <= set(turn.ARMS)
        names = (
            run_all.PEERS[every][run_all.PEERS[every].index("--peers") + 1 :] if not every else ()
        )
        assert set(names) <= set(base.PEERS)


def test_tables_the_minutes_of_each_part_are_printed(monkeypatch, capsys):
    steps = [run_all.Step("a", result="a.json"), run_all.Step("b", skipped="it is not here")]
    run_all._show_minutes([(steps[0], 1.5), (steps[1], 0.0)])
    out = capsys.readouterr().out
    assert "a.json" in out and "1.50" in out and "it is not here" in out and "all" in out


def test_tables_the_readme_says_how_long_a_turn_waits_at_home():
    wait = {"n": 100, "p50": 4.2, "p95": 7.5}
    arm = {"wait": wait, "in_time": 0.99}
    written = {"arms": {"one core: segmented": arm}, "pause_s": [0.3, 5.0], "memories": 10_000}
    line = tables._lived(written)
    assert "pauses of 0.3 to 5 s, 10,000 memories: waits 4.20 ms (p50), 7.50 ms (p95)" in line
    assert "99.0 % of 100 turns" in line and "`python -m benchmarks.turn`" in line
    assert tables._lived({"arms": {"segmented, ahead": arm}}) == ""


FOOTPRINT = {
    "sources_mb": 260,
    "results": [
        {
            "memories": 1000,
            **{
                when: {
                    "disk": {"parts": {"hot": 200_000, "vectors": 768_000}, "file": 1_500_000},
                    "rss_mb": {"interpreter": 10.0, "package": 70.0, "memory": 70.0, "total": 80.0},
                }
                for when in ("before", "after")
            },
        }
    ],
}


def test_tables_a_footprint_is_written_and_drawn(tmp_path: Path):
    text = tables.footprint(FOOTPRINT)
    assert "| all of these | 968.0 | 968.0 |" in text and "| data file | 1500 | 1500 |" in text
    assert "1,000, before ageing" in text and "260" in text
    plots.footprint(FOOTPRINT["results"], 260, tmp_path / "drawn.png")
    assert (tmp_path / "drawn.png").stat().st_size > 5_000


def arm(r: float, change: float = 0.0) -> dict[str, float]:
    return {"R@10": r, "MRR": r / 2, "change": change, "low": change - 0.01, "high": change + 0.02}


def test_tables_an_ablation_is_written_and_drawn(tmp_path: Path):
    arms = {"default": arm(0.75), "without MaxSim": arm(0.7, -0.05), "more": arm(0.76, 0.01)}
    results = [{"data": name, "main": "turn R@10", "n": 9, "arms": arms} for name in ("One", "Two")]
    text = recall_tables.ablation({"results": results})
    assert "| default | 75.0 | 37.5 |  |" in text
    assert "| without MaxSim | 70.0 | 35.0 | -5.0 (-6.0 to -3.0) |" in text
    assert "**Two**: 9 questions; change of turn R@10" in text
    recall_plots.ablation(results, tmp_path / "drawn.png")
    assert (tmp_path / "drawn.png").stat().st_size > 5_000


def test_tables_nothing_in_the_results_names_this_machine():
    for path in common.RESULTS.glob("*.json"):
        text = path.read_text(encoding="utf-8")
        assert "/home" not in text and "/work" not in text and "/tmp" not in text


def test_quality_shows_what_is_offered_where_it_was_measured() -> None:
    ranked = dict.fromkeys(recall_tables.QUALITY["turn"], 0.5) | {"n": 4}
    shown = dict.fromkeys(recall_tables.SHARES, 0.25) | {"n": 4}
    shown |= dict.fromkeys(recall_tables.COUNTED, 2.5)
    result = {
        "data": "D", "indexed": "i", "vectors": "v@1",
        "levels": {"turn": {"all": ranked}}, "offered": {"turn": {"all": shown}},
    }  # fmt: skip
    assert "| **D** | 25.0 | 25.0 | 25.0 | 25.0 | 2.50 |" in recall_tables.quality(
        [{"results": [result]}]
    )
    del result["offered"]
    assert "offered" not in recall_tables.quality([{"results": [result]}])
