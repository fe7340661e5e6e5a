import pytest

from benchmarks import footprint


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
