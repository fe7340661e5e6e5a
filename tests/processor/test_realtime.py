"""Realtime services, which answer before the turn is known."""

import asyncio

import pytest
from pipecat.frames.frames import (
    LLMFullResponseEndFrame,
    LLMFullResponseStartFrame,
    LLMServiceMetadataFrame,
    LLMTextFrame,
    StartFrame,
    TranscriptionFrame,
)
from pipecat.pipeline.pipeline import Pipeline
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.processors.aggregators.llm_response_universal import (
    LLMContextAggregatorPair,
)
from pipecat.processors.frame_processor import FrameDirection, FrameProcessor
from pipecat.tests.utils import SleepFrame, run_test
from pipecat.utils.time import time_now_iso8601

from tests.support.memories import ledger, remember, turns
from tests.support.processors import (
    MAX,
    QUESTION,
    Mark,
    assistant,
    logged,
    memory,
    user,
)


class SpeechToSpeech(FrameProcessor):
    """What a realtime service sends: its answer first, the transcript of the question later."""

    async def process_frame(self, frame, direction):
        await super().process_frame(frame, direction)
        await self.push_frame(frame, direction)
        if isinstance(frame, StartFrame):
            for _ in range(2):
                await self.broadcast_frame(
                    LLMServiceMetadataFrame, service_name="realtime", is_realtime_service=True
                )
        elif isinstance(frame, Mark):
            await self.push_frame(LLMFullResponseStartFrame())
            heard = TranscriptionFrame(QUESTION, "anna", time_now_iso8601())
            await self.push_frame(heard, FrameDirection.UPSTREAM)
            await self.push_frame(LLMTextFrame("Max, "))
            await self.push_frame(LLMTextFrame("of course."))
            await self.push_frame(LLMFullResponseEndFrame())


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
