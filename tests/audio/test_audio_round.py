"""One round in real sound, offline: a voice is heard, remembered, and answered aloud.

::

    espeak voice → Silero → pocketsphinx → Smart Turn → user aggregator → memory
        → OpenAILLMService → espeak voice → output → assistant aggregator

The agent hears a fact in one session and is asked for it in the next. Everything between the two
voices is what a user's own bot has.
"""

import asyncio
import time

import pytest
from pipecat.audio.vad.silero import SileroVADAnalyzer
from pipecat.frames.frames import InputAudioRawFrame
from pipecat.processors.aggregators.llm_response_universal import (
    LLMContextAggregatorPair,
    LLMUserAggregatorParams,
)
from pipecat.processors.frame_processor import FrameProcessor

from slowcat_memory import HybridContextualMemoryProcessor
from slowcat_memory.core.render.memory_block import OPEN
from tests.support.memories import edges, turns
from tests.support.voice_pipeline import HeadlessOutput, VoicePipeline

speech = pytest.importorskip("speech", reason="the test-audio extra is not installed")
pytestmark = [pytest.mark.slow, pytest.mark.audio]

FACT, QUESTION = "my dog is called bobby", "what is my dog called"
PIECE = speech.RATE // 50 * 2  # bytes of 20 ms


class Sounding(VoicePipeline):
    """A voice pipeline that hears and speaks in earnest."""

    def __init__(self, memory: FrameProcessor, ear: FrameProcessor) -> None:
        super().__init__(memory=memory)
        self._ear = [ear]
        self._voice = [speech.EspeakVoice(), HeadlessOutput(speed=4.0)]
        self.aggregators = LLMContextAggregatorPair(
            self.context,  # its default: Smart Turn says when somebody has finished
            user_params=LLMUserAggregatorParams(vad_analyzer=SileroVADAnalyzer()),
        )

    async def hear(self, text: str, until_answered_s: float = 15.0) -> str:
        """Let a voice say something into the microphone, and listen on until it is answered."""
        before, begun = len(self.turns), time.monotonic()
        samples = bytes(speech.RATE) + speech.spoken(text)
        sent = 0
        while not any(turn.content for turn in self.turns[before:]):
            assert time.monotonic() - begun < until_answered_s, "nobody answered"
            piece = samples[sent * PIECE : (sent + 1) * PIECE].ljust(PIECE, b"\0")
            await self.worker.queue_frame(InputAudioRawFrame(piece, speech.RATE, 1))
            sent += 1
            await asyncio.sleep(max(0.0, begun + sent * 0.02 - time.monotonic()))
        return next(turn.content for turn in self.turns[before:] if turn.content)


async def test_audio_round_a_fact_that_was_heard_is_told_aloud_in_the_next_session(config):
    async def session(words: str) -> tuple[str, VoicePipeline]:
        memory = HybridContextualMemoryProcessor(config=config, speaker_names={"s1": "Anna"})
        ear = speech.SphinxEar([FACT, QUESTION], speaker="s1")
        async with Sounding(memory, ear) as voice:
            return await voice.hear(words), voice

    first, _ = await session(FACT)
    second, voice = await session(QUESTION)
    assert first == "I am listening."
    assert second == f"I remember (today): Anna said, “{FACT}”"
    assert voice.spoken, "the answer was played"
    asked = voice.server.requests[0]["messages"][-1]["content"]
    assert asked.startswith(OPEN) and asked.endswith(QUESTION)
    assert [(t.speaker, t.text, t.channel, t.interrupted) for t in turns(config)] == [
        ("Anna", FACT, "voice", False),
        ("Assistant", first, "voice", False),
        ("Anna", QUESTION, "voice", False),
        ("Assistant", second, "voice", False),
    ]
    assert edges(config) == ["start", "end disconnect", "resume", "end disconnect"]
