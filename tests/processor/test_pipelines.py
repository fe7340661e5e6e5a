"""Nested, parallel and shared pipelines."""

import asyncio
import contextlib

from pipecat.frames.frames import (
    TranscriptionFrame,
    VADUserStartedSpeakingFrame,
    VADUserStoppedSpeakingFrame,
)
from pipecat.pipeline.parallel_pipeline import ParallelPipeline
from pipecat.pipeline.pipeline import Pipeline
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.processors.filters.function_filter import FunctionFilter
from pipecat.processors.frame_processor import FrameProcessor
from pipecat.tests.utils import SleepFrame, run_test
from pipecat.utils.time import time_now_iso8601

from tests.support.memories import engine_of, remember, said, turns
from tests.support.processors import (
    MAX,
    QUESTION,
    STORY,
    aggregators,
    blocks,
    contents,
    logged,
    memory,
)
from tests.support.voice_pipeline import VoicePipeline, run


def test_pipelines_pipeline_nested_with_its_aggregators_handed_over(config):
    remember(config, MAX)

    async def scenario():
        voice = VoicePipeline()
        processor = memory(config, aggregators=voice.aggregators)
        voice._memory = [Pipeline([Pipeline([processor])])]
        with logged("WARNING") as lines:
            async with voice:
                await voice.exchange(QUESTION, user_id="anna")
        assert not any("aggregators" in line for line in lines)
        return voice

    voice = run(scenario())
    assert blocks(contents(voice.server.requests[0])[-1]) == 1
    assert [name for name, _ in said(config)] == ["User", "anna", "Assistant"]


def test_pipelines_pipeline_parallel_branch(config):
    remember(config, MAX)

    async def nothing(frame):
        return False

    context = LLMContext()
    pair = aggregators(context)
    branches = ParallelPipeline([memory(config, aggregators=pair)], [FunctionFilter(nothing)])
    sent = [
        VADUserStartedSpeakingFrame(start_secs=0.2),
        SleepFrame(0.02),
        TranscriptionFrame(QUESTION, "anna", time_now_iso8601(), finalized=True),
        VADUserStoppedSpeakingFrame(stop_secs=0.2),
        SleepFrame(0.3),
    ]
    pipeline = Pipeline([pair.user(), branches, pair.assistant()])
    asyncio.run(run_test(pipeline, frames_to_send=sent, start_timeout=30.0))
    assert blocks(context.messages[0]["content"]) == 1
    assert said(config)[-1] == ("anna", QUESTION)


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


def test_pipelines_pipeline_twenty_conversations_at_once_in_one_process(config):
    async def scenario():
        with engine_of(config) as engine:
            voices = [
                VoicePipeline(
                    lambda _: "I see.",
                    memory=memory(config, engine=engine, user_id=f"u{n}"),
                    speed=50,
                )
                for n in range(20)
            ]
            async with contextlib.AsyncExitStack() as stack:
                for voice in voices:
                    await stack.enter_async_context(voice)
                await asyncio.gather(
                    *(v.exchange(f"my number is {n}") for n, v in enumerate(voices))
                )

    run(scenario())
    for n in range(20):
        assert [text for _, text in said(config, f"u{n}")] == [f"my number is {n}", "I see."]


def test_pipelines_pipeline_processor_is_a_plain_frame_processor(config):
    processor = memory(config, name="memory")
    assert isinstance(processor, FrameProcessor) and processor.name == "memory"
    assert processor.can_generate_metrics() and processor.engine is None
