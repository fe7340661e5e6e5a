"""Sessions: how conversations end, and go on."""

import asyncio
import contextlib

from pipecat.frames.frames import (
    TranscriptionFrame,
    VADUserStartedSpeakingFrame,
    VADUserStoppedSpeakingFrame,
)
from pipecat.utils.time import time_now_iso8601

from slowcat_memory import MemoryEngine
from tests.support.memories import edges, said, turns
from tests.support.processors import (
    STORY,
    memory,
    saw,
    sessions,
)
from tests.support.voice_pipeline import VoicePipeline


async def test_sessions_session_cancelling_keeps_the_last_words(config):
    async with VoicePipeline(lambda _: STORY, memory=memory(config)) as voice:
        await voice.speak("tell me a story")
        await voice.until_spoken(2)
        await voice.cancel()
        spoken = voice.spoken
    asked, told = turns(config)
    assert asked.text == "tell me a story" and told.reply_to == asked.id
    assert told.interrupted and told.text.startswith("There was a cat. It lived in a house.")
    assert told.text == " ".join(spoken) != STORY
    assert edges(config) == ["start", "end disconnect"]


async def test_sessions_session_cancelling_in_the_middle_of_a_turn_keeps_the_users_words(config):
    async with VoicePipeline(memory=memory(config), speech_timeout_s=5) as voice:
        await voice.worker.queue_frame(VADUserStartedSpeakingFrame(start_secs=0.2))
        final = TranscriptionFrame("my last words", "anna", time_now_iso8601())
        await voice.worker.queue_frame(final)
        await voice.worker.queue_frame(VADUserStoppedSpeakingFrame(stop_secs=0.2))
        await voice.until(lambda: saw(voice, VADUserStoppedSpeakingFrame))
        await voice.cancel()
    assert said(config) == [("anna", "my last words")]


async def test_sessions_session_client_that_leaves_and_comes_back(config):
    processor = memory(config)
    async with VoicePipeline(memory=processor) as voice:
        await voice.exchange("hello")
        processor.disconnected()
        processor.disconnected()
        await voice.exchange("here I am again")
        processor.disconnected()
    assert edges(config) == ["start", "end disconnect", "resume", "end disconnect"]
    assert len({turn.session for turn in turns(config)}) == 1


async def test_sessions_session_silence_ends_the_session(tmp_path):
    from tests.support.stores import configured

    config = configured(tmp_path / "memory", sessions={"silence_s": 1.0})

    processor = memory(config)
    with contextlib.closing(MemoryEngine(config)) as engine:
        async with VoicePipeline(memory=memory(config, engine=engine)) as voice:
            await voice.exchange("hello")
            async with asyncio.timeout(30):
                while "silence" not in [s.reason for s in sessions(engine)]:
                    await asyncio.sleep(0.02)
            await voice.exchange("hello again")
    del processor
    assert edges(config)[:3] == ["start", "end silence", "start"]
    assert len({turn.session for turn in turns(config)}) == 2
