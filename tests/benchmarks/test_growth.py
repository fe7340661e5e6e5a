"""Growth by size."""

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


def test_growth_is_written() -> None:
    text = speed_tables.growth({"results": MEASURED})
    assert "|  | 1,000 | 10,000 | 100,000 |" in text
    assert "| resident MB, at rest | 50.0 | 55.0 | 100.0 |" in text


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
