import asyncio
import time

import pytest

from benchmarks import latency


def test_latency_a_loop_that_is_held_up_is_late():
    async def hold():
        await asyncio.sleep(0.02)
        time.sleep(0.05)
        await asyncio.sleep(0.02)

    assert max(asyncio.run(latency.lag(hold()))) > 40


PERCENTILES = {"n", "p50", "p95", "p99", "max"}


@pytest.mark.slow
def test_latency_the_figures_of_a_small_store_have_their_documented_shape(model_config):
    found = latency.measure(200, 20, 40, exchanges=5, idle_s=0.1, cold_runs=1, rounds=2)
    assert found["memories"] == 200
    assert set(found["inline"]) == set(found["ahead"]) == PERCENTILES
    assert found["inline"]["n"] == found["ahead"]["n"] == 20
    assert {"lexical", "embed", "dense", "fuse", "fetch", "pack", "hop"} <= set(found["stages"])
    assert found["beside_busy"]["n"] == 20 and found["during_build"]["n"] > 0
    assert found["rss_mb"] > found["rss_anonymous_mb"] > 0
    assert set(found["loop_lag"]) == {"idle", "talk"}
    assert set(found["store"]) == {"accept", "durable"} and found["store"]["durable"]["n"] == 10
    assert {"lexical", "full", "imports"} == set(found["cold"])
    assert found["rss_mb"] > found["rss_imports_mb"] > 0
    assert found["but_embedding"]["p50"] < found["inline"]["p50"]
    assert found["cpu"]["n"] == 20
    assert set(found["pauses"]["ratio"]) == {"50", "300"}
    assert found["beside_idle"]["ratio"]["p50"] > 0
    assert found["tiers"] == {}  # so small a store has no cold tier
