"""The benchmarks of turns and of latency: a wait is a wait, and figures have their shape."""

import asyncio
import random
import time

import pytest
from pipecat.frames.frames import LLMContextFrame
from pipecat.processors.filters.identity_filter import IdentityFilter

from benchmarks import latency, stores, turn
from benchmarks.rig import RECOGNISERS, Rig
from slowcat_memory.testing.server import ScriptedServer

# ------------------------------------------------------------------- the turn benchmark: what recognisers send, that a wait is a wait, busy cores, ti

TEXT = "what did I pay for the blue bicycle last week in the town"


class Slow(IdentityFilter):
    """Holds each context for some time."""

    async def process_frame(self, frame, direction) -> None:
        if isinstance(frame, LLMContextFrame):
            await asyncio.wait({asyncio.ensure_future(asyncio.Event().wait())}, timeout=0.03)
        await super().process_frame(frame, direction)


@pytest.mark.parametrize(("memory", "least"), [(Slow, 29), (IdentityFilter, 0)])
async def test_turn_the_rig_times_what_stands_in_the_way(memory, least):
    async with ScriptedServer(reply=lambda _: "I see.") as server:
        rig = Rig(server.url, memory())
        async with rig.talk:
            waits = await rig.say([TEXT, "and more"], RECOGNISERS["segmented"], random.Random(1))
    assert len(waits) == 2 and all(least <= ms for ms in waits)
    assert least or max(waits) < 29


# ------------------------------------------------------------------- arms


@pytest.mark.slow
def test_turn_an_arm_at_home_has_its_documented_shape(tmp_path, model_config) -> None:
    config = stores.build(tmp_path / "made", 300)
    name = "one core: segmented"
    found = turn.measure(name, config, tmp_path / "copy", 3, (0.05, 0.1))
    assert found["wait"]["n"] == 3 and sum(found["stages"].values()) == 3
    assert {"prefetch", "in_time"} <= set(found)


# ------------------------------------------------------------------- latency


def test_latency_a_loop_that_is_held_up_is_late():
    async def hold():
        await asyncio.sleep(0.02)
        time.sleep(0.05)
        await asyncio.sleep(0.02)

    assert max(asyncio.run(latency.lag(hold()))) > 40


PERCENTILES = {"n", "p50", "p95", "p99", "max"}


@pytest.mark.slow
def test_latency_the_figures_of_a_small_store_have_their_documented_shape(model_config):
    found = latency.measure(200, 20, exchanges=5, idle_s=0.1, cold_runs=1, rounds=2)
    assert found["memories"] == 200
    assert set(found["inline"]) == set(found["ahead"]) == PERCENTILES
    assert found["inline"]["n"] == found["ahead"]["n"] == 20
    assert {"lexical", "embed", "dense", "fuse", "fetch", "pack", "hop"} <= set(found["stages"])
    assert found["beside_busy"]["n"] == 20 and found["during_build"]["n"] > 0
    assert set(found["loop_lag"]) == {"idle", "talk"}
    assert set(found["store"]) == {"accept", "durable"} and found["store"]["durable"]["n"] == 10
    assert {"lexical", "full", "imports"} == set(found["cold"])
    assert found["rss_mb"] > found["rss_imports_mb"] > 0
    assert found["but_embedding"]["p50"] < found["inline"]["p50"]
    assert found["cpu"]["n"] == 20
    assert set(found["pauses"]["ratio"]) == {"50", "300"}
    assert found["beside_idle"]["ratio"]["p50"] > 0
    assert found["tiers"] == {}  # so small a store has no cold tier
