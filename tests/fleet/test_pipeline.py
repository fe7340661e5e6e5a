"""A conversation in a real Pipecat pipeline whose memory is a fleet's."""

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from slowcat_memory import HybridContextualMemoryProcessor
from slowcat_memory.errors import ConfigError
from slowcat_memory.fleet import Fleet
from tests.fleet.talking import texts
from tests.fleet.test_one_person import expire
from tests.support.processors import events_of
from tests.support.voice_pipeline import VoicePipeline


async def ready(memory: HybridContextualMemoryProcessor) -> None:
    while memory.engine is None:
        await asyncio.sleep(0.01)


async def first_of(events: list[Any]) -> Any:
    async with asyncio.timeout(20.0):
        while not events:
            await asyncio.sleep(0.01)
    return events[0]


def in_fleet(fleet: Fleet) -> HybridContextualMemoryProcessor:
    return HybridContextualMemoryProcessor(user_id="anna", fleet=fleet)


async def test_pipeline_what_one_worker_heard_another_says(worker_config):
    for cache in "ab":
        with Fleet(worker_config(cache)) as fleet:
            memory = in_fleet(fleet)
            async with VoicePipeline(memory=memory) as voice:
                await asyncio.wait_for(ready(memory), 20.0)
                if cache == "a":
                    await voice.exchange("my violin is in the attic of my sister")
                else:
                    assert "attic" in (await voice.exchange("where is my violin?")).content
                assert voice.errors == []


async def test_pipeline_starts_at_once_and_goes_on_while_the_database_is_away(worker_config):
    config = worker_config()
    away = replace(config.fleet, dsn="postgresql://nobody@127.0.0.1:1/none")
    with Fleet(replace(config, fleet=away)) as fleet:
        memory = in_fleet(fleet)
        troubles = events_of(memory, "on_memory_trouble")
        async with VoicePipeline(memory=memory) as voice:
            assert (await voice.exchange("my violin is in the attic of my sister")).content
            assert "database" in str(await first_of(troubles))
            assert voice.errors == []
    with Fleet(config) as fleet:  # the turn waited on this worker's disk
        await asyncio.to_thread(fleet.tidy)
        memory = in_fleet(fleet)
        async with VoicePipeline(memory=memory) as voice:
            await asyncio.wait_for(ready(memory), 20.0)
            assert "attic" in (await voice.exchange("where is my violin?")).content


async def test_pipeline_a_conversation_that_loses_its_lease_goes_on(worker_config):
    said = ("my violin is in the attic of my sister", "my boat is called Flora", "it is blue")
    with Fleet(worker_config("a")) as first, Fleet(worker_config("b")) as second:
        memory = in_fleet(first)
        troubles = events_of(memory, "on_memory_trouble")
        async with VoicePipeline(memory=memory) as voice:
            await asyncio.wait_for(ready(memory), 20.0)
            await voice.exchange(said[0])
            await asyncio.to_thread(first.database.run, expire)
            other = second.member("anna")
            await asyncio.to_thread(other.start, 10.0)
            assert other.engine is not None
            assert (await voice.exchange(said[1])).content
            assert "taken over" in str(await first_of(troubles))
            assert (await voice.exchange(said[2])).content
            await asyncio.to_thread(other.close)
        assert voice.errors == []
    with Fleet(worker_config("b")) as fleet:
        logged = await asyncio.to_thread(texts, fleet)
    assert sorted(text for text in logged if text in said) == sorted(said)


def test_pipeline_engine_and_fleet_exclude_each_other(worker_config):
    with Fleet(worker_config()) as fleet:
        with pytest.raises(ConfigError, match="path cannot be set"):
            HybridContextualMemoryProcessor(user_id="anna", fleet=fleet, path="elsewhere")
