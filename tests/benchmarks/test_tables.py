import pytest

from benchmarks import common, run_all, tables


def test_a_part_is_put_between_its_markers():
    page = "a\n<!-- begin one -->\nold\n<!-- end one -->\nb\n<!-- begin two -->\n<!-- end two -->\n"
    filled = tables.fill(page, {"one": "new"})
    assert filled == page.replace("old", "new")
    assert tables.fill(filled, {"one": "new"}) == filled


@pytest.fixture
def results():
    kept = {
        name: [common.read_json(f) for f in sorted(common.RESULTS.glob(f"{name}*.json"))]
        for name in tables.RENDER
    }
    if not all(kept.values()):
        pytest.skip("no results are kept")
    return kept


def test_the_page_shows_the_results_that_are_kept(results):
    page = run_all.PAGE.read_text(encoding="utf-8")
    parts = {
        name: make(results[name] if name == "quality" else results[name][0])
        for name, make in tables.RENDER.items()
    }
    assert tables.fill(page, parts) == page, "run `make docs`"


def test_the_readme_shows_the_results_that_are_kept(results):
    page = run_all.README.read_text(encoding="utf-8")
    assert tables.fill(page, {"figures": tables.figures(results)}) == page, "run `make docs`"


def test_nothing_in_the_results_names_this_machine():
    for path in common.RESULTS.glob("*.json"):
        text = path.read_text(encoding="utf-8")
        assert "/home" not in text and "/work" not in text and "/tmp" not in text
