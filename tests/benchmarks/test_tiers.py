from pathlib import Path

from benchmarks import tiers


def test_each_tier_of_an_aged_store_is_read_and_asked_about(tmp_path: Path) -> None:
    found = tiers.measure(tmp_path / "store", 760, 20)
    assert {name: held["memories"] for name, held in found["tiers"].items()} == {
        "hot": 200,
        "warm": 500,
        "cold": 60,
    }
    for one in found["results"].values():
        assert one["fetch"]["n"] == 2 and one["recall"]["p50"] > 0
        assert one["found"] > 0
