"""Nested, parallel and shared pipelines."""

import asyncio

from pipecat.pipeline.pipeline import Pipeline

from tests.support.memories import engine_of, remember, turns
from tests.support.processors import (
    MAX,
    QUESTION,
    STORY,
    blocks,
    contents,
    logged,
    memory,
)
from tests.support.voice_pipeline import VoicePipeline, run


def test_pipelines_pipeline_nested_finds_its_aggregators_by_itself(config):
    remember(config, MAX)

    async def scenario():
        voice = VoicePipeline(lambda _: STORY)
        voice._memory = [Pipeline([memory(config)])]
        with logged("WARNING") as lines:
            async with voice:
                await voice.speak(QUESTION, user_id="anna")
                await voice.until_spoken(2)
                await voice.interrupt()
                await voice.answer()
                await voice.exchange("go on")
        assert not any("aggregator" in line for line in lines)
        return voice

    voice = run(scenario())
    assert blocks(contents(voice.server.requests[0])[-1]) == 1
    _, asked, cut, _, told = turns(config)
    assert (asked.speaker, asked.text, cut.reply_to) == ("anna", QUESTION, asked.id)
    assert cut.interrupted and STORY.startswith(cut.text)
    assert (told.text, told.interrupted) == (STORY, False)


def test_pipelines_pipeline_two_agents_share_one_engine(engine, config):
    async def scenario():
        async with (
            VoicePipeline(memory=memory(config, engine=engine, user_id="anna")) as anna,
            VoicePipeline(memory=memory(config, engine=engine, user_id="ben")) as ben,
        ):
            await asyncio.gather(
                anna.exchange("my parrot is called Rio"), ben.exchange("my parrot is called Lola")
            )
        async with (
            VoicePipeline(memory=memory(config, engine=engine, user_id="anna")) as anna,
            VoicePipeline(memory=memory(config, engine=engine, user_id="ben")) as ben,
        ):
            return await asyncio.gather(
                anna.exchange("what is my parrot called"), ben.exchange("what is my parrot called")
            )

    of_anna, of_ben = run(scenario())
    assert "Rio" in of_anna.content and "Lola" not in of_anna.content
    assert "Lola" in of_ben.content and "Rio" not in of_ben.content


def test_pipelines_pipeline_two_agents_of_one_path_share_its_store_and_the_last_closes_it(config):
    async def scenario():
        async with VoicePipeline(memory=memory(config)) as first:
            async with VoicePipeline(memory=memory(config)) as second:
                await second.exchange("my parrot is called Rio")
            return await first.exchange("what is my parrot called")

    assert "Rio" in run(scenario()).content
    with engine_of(config):  # nobody holds it any more
        pass
