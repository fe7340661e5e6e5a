"""The turn benchmark: what recognisers send, that a wait is a wait, busy cores, tiers."""

import asyncio
import random

import pytest
from pipecat.frames.frames import (
    LLMContextFrame,
)
from pipecat.processors.frame_processor import FrameProcessor

from benchmarks import stores, turn
from benchmarks.rig import RECOGNISERS, Rig
from slowcat_memory.testing.server import ScriptedServer

TEXT = "what did I pay for the blue bicycle last week in the town"


class Slow(FrameProcessor):
    """Holds each context for some time."""

    async def process_frame(self, frame, direction) -> None:
        await super().process_frame(frame, direction)
        if isinstance(frame, LLMContextFrame):
            await asyncio.wait({asyncio.ensure_future(asyncio.Event().wait())}, timeout=0.03)
        await self.push_frame(frame, direction)


@pytest.mark.parametrize(("memory", "least"), [(Slow, 29), (FrameProcessor, 0)])
def test_turn_the_rig_times_what_stands_in_the_way(memory, least):
    class Through(FrameProcessor):
        async def process_frame(self, frame, direction) -> None:
            await super().process_frame(frame, direction)
            await self.push_frame(frame, direction)

    async def scenario() -> list[float]:
        async with ScriptedServer(reply=lambda _: "I see.") as server:
            rig = Rig(server.url, Slow() if memory is Slow else Through())
            async with rig.talk:
                return await rig.say([TEXT, "and more"], RECOGNISERS["segmented"], random.Random(1))

    waits = asyncio.run(scenario())
    assert len(waits) == 2 and all(least <= ms for ms in waits)
    assert least or max(waits) < 29


# ------------------------------------------------------------------- arms


@pytest.mark.slow
def test_turn_an_arm_at_home_has_its_documented_shape(tmp_path, model_config) -> None:
    config = stores.build(tmp_path / "made", 300, 40, None)
    name = "one core: segmented"
    found = turn.measure(name, config, tmp_path / "copy", 3, (0.05, 0.1))
    assert found["wait"]["n"] == 3 and sum(found["stages"].values()) == 3
    assert {"prefetch", "in_time"} <= set(found)
