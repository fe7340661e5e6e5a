"""Growth by size."""

from benchmarks import stores


def test_growth_a_cache_serves_no_store_of_an_older_form(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(stores, "form", lambda config: "old")
    stores._kept(tmp_path, 100, 10, None).mkdir()
    assert stores.is_kept(tmp_path, 100, 10)
    monkeypatch.setattr(stores, "form", lambda config: "new")
    assert not stores.is_kept(tmp_path, 100, 10)
