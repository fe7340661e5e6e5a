"""A conversation in a real Pipecat pipeline whose memory is a fleet's."""

import asyncio
import time
from collections.abc import Callable
from contextlib import AsyncExitStack

import pytest
from msgspec.structs import replace

from slowcat_memory import HybridContextualMemoryProcessor
from slowcat_memory.config import Config
from slowcat_memory.errors import ConfigError, FleetError
from slowcat_memory.fleet import Fleet
from tests.fleet.talking import texts
from tests.fleet.test_one_person import expire
from tests.support.voice_pipeline import VoicePipeline, run

Make = Callable[..., Config]


async def exchange(voice: VoicePipeline, text: str) -> str:
    """Speak, and return the answer."""
    before = len(voice.turns)
    await voice.speak(text)
    await voice.until(lambda: any(turn.content for turn in voice.turns[before:]), 60.0)
    return next(turn.content for turn in voice.turns[before:] if turn.content)


async def ready(memory: HybridContextualMemoryProcessor) -> None:
    while memory.engine is None:
        await asyncio.sleep(0.01)


def in_fleet(fleet: Fleet) -> HybridContextualMemoryProcessor:
    return HybridContextualMemoryProcessor(user_id="anna", fleet=fleet)


def test_pipeline_what_one_worker_heard_another_says(worker_config):
    async def scenario() -> None:
        for cache in "ab":
            with Fleet(worker_config(cache)) as fleet:
                memory = in_fleet(fleet)
                async with VoicePipeline(memory=memory) as voice:
                    await asyncio.wait_for(ready(memory), 20.0)
                    if cache == "a":
                        await exchange(voice, "my violin is in the attic of my sister")
                    else:
                        assert "attic" in await exchange(voice, "where is my violin?")
                    assert voice.errors == []

    run(scenario(), 120.0)


def test_pipeline_starts_at_once_and_goes_on_while_the_database_is_away(worker_config):
    config = worker_config()
    away = replace(config.fleet, dsn="postgresql://nobody@127.0.0.1:1/none")

    async def scenario() -> None:
        with Fleet(replace(config, fleet=away)) as fleet:
            memory, troubles = in_fleet(fleet), asyncio.Queue[FleetError]()

            @memory.event_handler("on_memory_trouble")
            async def hear(_: object, error: FleetError) -> None:
                troubles.put_nowait(error)

            async with VoicePipeline(memory=memory) as voice:
                assert await exchange(voice, "my violin is in the attic of my sister")
                assert "database" in str(await asyncio.wait_for(troubles.get(), 20.0))
                assert voice.errors == []
        with Fleet(config) as fleet:  # the turn waited on this worker's disk
            await asyncio.to_thread(fleet.tidy)
            memory = in_fleet(fleet)
            async with VoicePipeline(memory=memory) as voice:
                await asyncio.wait_for(ready(memory), 20.0)
                assert "attic" in await exchange(voice, "where is my violin?")

    run(scenario(), 120.0)


def test_pipeline_a_conversation_that_loses_its_lease_goes_on(worker_config):
    async def scenario() -> None:
        async with AsyncExitStack() as stack:
            first = stack.enter_context(Fleet(worker_config("a")))
            second = stack.enter_context(Fleet(worker_config("b")))
            memory, troubles = in_fleet(first), asyncio.Queue[FleetError]()

            @memory.event_handler("on_memory_trouble")
            async def hear(_: object, error: FleetError) -> None:
                troubles.put_nowait(error)

            async with VoicePipeline(memory=memory) as voice:
                await asyncio.wait_for(ready(memory), 20.0)
                await exchange(voice, "my violin is in the attic of my sister")
                await asyncio.to_thread(first.database.run, expire)
                other = second.member("anna")
                await asyncio.to_thread(other.start, 10.0)
                assert other.engine is not None
                began = time.monotonic()
                assert await exchange(voice, "my boat is called Flora")
                assert "taken over" in str(await asyncio.wait_for(troubles.get(), 20.0))
                assert await exchange(voice, "it is blue"), f"{time.monotonic() - began} s"
                await asyncio.to_thread(other.close)
            assert voice.errors == []
        said = ("my violin is in the attic of my sister", "my boat is called Flora", "it is blue")
        with Fleet(worker_config("b")) as fleet:
            logged = await asyncio.to_thread(texts, fleet)
        assert sorted(text for text in logged if text in said) == sorted(said)

    run(scenario(), 120.0)


def test_pipeline_engine_and_fleet_exclude_each_other(worker_config):
    with Fleet(worker_config()) as fleet:
        with pytest.raises(ConfigError, match="path cannot be set"):
            HybridContextualMemoryProcessor(user_id="anna", fleet=fleet, path="elsewhere")
