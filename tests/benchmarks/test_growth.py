"""Growth by size, and what is continued on paper."""

import pytest

from benchmarks import growth, speed_tables, stores


def result(memories: int, ms: float, mb: float) -> dict:
    one = {"n": 5, "p50": ms, "p95": ms, "p99": 2 * ms, "max": 3 * ms}
    return {
        "memories": memories,
        "inline": one,
        "ahead": one,
        "stages": {"lexical": one, "embed": {**one, "p50": 2.0}},
        "cold": {"lexical": 50.0, "full": 100.0},
        "rss_mb": mb,
        "rss_rest_mb": mb / 2,
        "disk_mb": mb / 4,
    }


MEASURED = [result(1000, 1.0, 100.0), result(10_000, 1.0, 110.0), result(100_000, 2.0, 200.0)]


def test_growth_a_time_goes_on_growing_by_its_power() -> None:
    paper = growth.on_paper(MEASURED, 10_000_000)
    assert paper["powers"]["· lexical"] == pytest.approx(0.301, abs=0.001)
    assert paper["figures"]["· lexical"] == pytest.approx(8.0, rel=0.01)  # twice, two times more


def test_growth_what_does_not_depend_on_the_number_stays() -> None:
    paper = growth.on_paper(MEASURED, 10_000_000)
    assert paper["figures"]["· embed"] == 2.0 and "· embed" not in paper["powers"]
    assert paper["figures"]["· hop"] == 0.0  # not measured


def test_growth_a_recall_on_paper_is_the_sum_of_its_parts() -> None:
    figures = growth.on_paper(MEASURED, 10_000_000)["figures"]
    lexical = figures["· lexical"]
    assert figures["recall, embedded inline, p50"] == pytest.approx(lexical + 2.0)
    assert figures["recall, embedded ahead, p50"] == pytest.approx(lexical)
    assert figures["recall, embedded ahead, p99"] == pytest.approx(2 * lexical)


def test_growth_memory_grows_by_as_many_bytes_a_memory() -> None:
    paper = growth.on_paper(MEASURED, 1_000_000)
    assert paper["figures"]["resident MB, in use"] == pytest.approx(200 + 900_000 * 90 / 90_000)


def test_growth_of_one_size_nothing_is_on_paper() -> None:
    assert growth.on_paper(MEASURED[:1])["figures"] == {}
    columns, rows = growth.rows({"results": MEASURED[:1], "paper": growth.on_paper(MEASURED[:1])})
    assert columns == ["", "1,000"] and all(len(row) == 2 for row in rows)


def test_growth_is_written() -> None:
    written = {
        "machine": {"cores": 2, "cpu": "A CPU", "system": "Linux", "python": "3.11"},
        "load": [0.5],
        "results": MEASURED,
        "paper": growth.on_paper(MEASURED),
    }
    text = speed_tables.growth(written)
    assert (
        "10,000,000, on paper" in text and "| resident MB, at rest | 50.0 | 55.0 | 100.0 |" in text
    )


def test_growth_a_million_only_where_it_is_kept(tmp_path, monkeypatch) -> None:
    assert growth.sizes(None) == growth.sizes(tmp_path) == list(growth.SIZES)
    monkeypatch.setattr(stores, "is_kept", lambda *_: True)
    assert growth.sizes(tmp_path)[-1] == growth.LARGEST


def test_growth_a_cache_serves_no_store_of_an_older_form(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(stores, "form", lambda config: "old")
    stores._kept(tmp_path, 100, 10, None).mkdir()
    assert stores.is_kept(tmp_path, 100, 10)
    monkeypatch.setattr(stores, "form", lambda config: "new")
    assert not stores.is_kept(tmp_path, 100, 10)
