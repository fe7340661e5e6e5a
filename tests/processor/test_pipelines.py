"""Nested, parallel, shared and realtime pipelines, and a memory's place in them."""

import asyncio
from typing import Any

import pytest
from pipecat.frames import frames
from pipecat.pipeline.parallel_pipeline import ParallelPipeline
from pipecat.pipeline.pipeline import Pipeline
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.processors.aggregators.llm_response_universal import (
    LLMAssistantAggregator,
    LLMContextAggregatorPair,
    LLMUserAggregator,
)
from pipecat.processors.filters.identity_filter import IdentityFilter
from pipecat.processors.frame_processor import FrameDirection, FrameProcessor
from pipecat.services.llm_service import LLMService
from pipecat.tests.utils import SleepFrame, run_test
from pipecat.utils.time import time_now_iso8601

from slowcat_memory.processor.neighbours import Places, find_neighbours
from tests.support.memories import engine_of, ledger, remember, turns
from tests.support.processors import MAX, QUESTION, Mark, assistant, logged, memory, user
from tests.support.rows import cases
from tests.support.voice_pipeline import VoicePipeline, aggregators


async def test_pipelines_two_agents_of_one_path_share_its_store_and_the_last_closes_it(config):
    async with VoicePipeline(memory=memory(config)) as first:
        async with VoicePipeline(memory=memory(config)) as second:
            await second.exchange("my parrot is called Rio")
        result = await first.exchange("what is my parrot called")
    assert "Rio" in result.content
    with engine_of(config):  # nobody holds it any more
        pass


def parts():
    pair = aggregators(LLMContext())
    return pair.user(), pair.assistant(), LLMService(), IdentityFilter()


RIGHT = "between the user aggregator and the LLM"


def laid_out(layout, made: dict[str, FrameProcessor]):
    """Build a pipeline: a list of names, lists and branches."""
    if isinstance(layout, str):
        return made[layout]
    if isinstance(layout, dict):
        branches = ([laid_out(one, made) for one in branch] for branch in layout["branches"])
        return ParallelPipeline(*branches)
    return Pipeline([laid_out(one, made) for one in layout])


def placed(config, layout) -> tuple[dict[str, FrameProcessor], Any, list[str]]:
    """Return what a pipeline is made of, what a memory finds in it, and what is logged."""
    made = dict(zip(("users", "assistants", "llm", "other"), parts(), strict=True))
    made["memory"] = memory(config)
    with logged("WARNING") as lines:
        found = find_neighbours(made["memory"], None, laid_out(layout, made))
    return made, found, lines


@cases("processor/pipelines.jsonl")
def test_places_a_wrong_one_is_named_with_the_right_one(config, layout, wrong) -> None:
    _, _, lines = placed(config, layout)
    seen = "\n".join(lines)
    assert wrong in seen and (RIGHT in seen or "assistant" in wrong), seen
    assert seen.count("HybridContextualMemoryProcessor") == 1, "one warning"


@cases("processor/pipelines.jsonl")
def test_places_a_right_one_finds_its_neighbours_and_is_silent(config, layout) -> None:
    made, found, lines = placed(config, layout)
    neighbours = (found.user_aggregator, found.assistant_aggregator, found.llm)
    assert neighbours == (made["users"], made["assistants"], made["llm"]) and not lines


def test_places_each_branch_works_with_its_own_aggregators(config) -> None:
    ours, theirs = parts(), parts()
    one, other = memory(config), memory(config)
    branches = [
        [users, m, llm, assistants]
        for (users, assistants, llm, _), m in ((ours, one), (theirs, other))
    ]
    pipeline = Pipeline([ParallelPipeline(*branches)])
    assert find_neighbours(one, None, pipeline).user_aggregator is ours[0]
    assert find_neighbours(other, None, pipeline).user_aggregator is theirs[0]
    places = Places(pipeline)
    assert places.precedes(one, other) is None and places.precedes(ours[0], one)
    assert (
        len(places.of_kind(LLMUserAggregator)) == len(places.of_kind(LLMAssistantAggregator)) == 2
    )


async def test_places_of_two_memories_for_one_user_the_second_does_nothing(config) -> None:
    first, second, other = memory(config), memory(config), memory(config, user_id="ben")
    voice = VoicePipeline(lambda _: "I see.")
    voice._memory = [first, Pipeline([second, other])]
    with logged("WARNING") as lines:
        async with voice:
            await voice.exchange("my dog is called Max", user_id="anna")
            assert second.engine is None and first.engine and other.engine
    [line] = [line for line in lines if "this one does nothing" in line]
    assert str(second) in line and "remove one of them, or give it another user_id" in line
    for one in (first, other):
        stored = [turn.text for turn in turns(config, one.remembers[1])]
        assert stored == ["my dog is called Max", "I see."]


class SpeechToSpeech(FrameProcessor):
    """What a realtime service sends: its answer first, the transcript of the question later."""

    async def process_frame(self, frame, direction):
        await super().process_frame(frame, direction)
        await self.push_frame(frame, direction)
        if isinstance(frame, frames.StartFrame):
            for _ in range(2):
                await self.broadcast_frame(
                    frames.LLMServiceMetadataFrame,
                    service_name="realtime",
                    is_realtime_service=True,
                )
        elif isinstance(frame, Mark):
            await self.push_frame(frames.LLMFullResponseStartFrame())
            heard = frames.TranscriptionFrame(QUESTION, "anna", time_now_iso8601())
            await self.push_frame(heard, FrameDirection.UPSTREAM)
            await self.push_frame(frames.LLMTextFrame("Max, "))
            await self.push_frame(frames.LLMTextFrame("of course."))
            await self.push_frame(frames.LLMFullResponseEndFrame())


@pytest.mark.parametrize("aggregators_known", [True, False])
def test_realtime_service_is_listened_to_and_not_prefixed(config, aggregators_known):
    remember(config, MAX)
    context = LLMContext()
    pair = LLMContextAggregatorPair(context)
    processor = memory(config)
    between = [processor] if aggregators_known else [Pipeline([processor])]
    pipeline = Pipeline([pair.user(), *between, SpeechToSpeech(), pair.assistant()])
    sent = [Mark(), SleepFrame(0.2)]
    with logged() as lines:
        asyncio.run(run_test(pipeline, frames_to_send=sent, start_timeout=30.0))
    assert context.messages == [user(QUESTION), assistant("Max, of course.")]
    asked, answered = turns(config)[-2:]
    assert (asked.text, answered.text) == (QUESTION, "Max, of course.")
    if aggregators_known:
        assert (asked.speaker, asked.channel) == ("anna", "voice")
        assert answered.reply_to == asked.id
    assert ledger(config) == []
    assert sum("the LLM is a realtime service" in line for line in lines) == 1
