"""What the next recall touches is kept warm from the first sound of a voice until its turn."""

from concurrent.futures import Future

import pytest
from msgspec.structs import replace
from pipecat.frames import frames
from pipecat.utils.time import time_now_iso8601

from slowcat_memory.runtime.recall.prefetch import Warmup
from slowcat_memory.runtime.recall.query import PrefetchOptions
from slowcat_memory.runtime.recall.service import Retrieval
from tests.support.processors import QUESTION, memory
from tests.support.voice_pipeline import VoicePipeline


@pytest.mark.parametrize("ahead", [True, False], ids=["prefetch", "no prefetch"])
async def test_voice_warmup_from_the_first_sound_until_the_turn(config, monkeypatch, engine, ahead):
    engine.config = replace(engine.config, prefetch=PrefetchOptions(enabled=ahead))
    processor = memory(engine.config, engine=engine)
    touched, warmups, speaks = list[object](), list[Warmup](), Warmup.speaks

    def touch(retrieval: Retrieval, query: object) -> "Future[float]":
        """Throw no recall away, so dear that the next one would come in minutes."""
        touched.append(query)
        made: Future[float] = Future()
        made.set_result(10.0)
        return made

    def begins(warmup: Warmup) -> None:
        warmups.append(warmup)
        speaks(warmup)

    async with VoicePipeline(lambda _: "I see.", memory=processor) as voice:
        monkeypatch.setattr(Retrieval, "touch", touch)
        monkeypatch.setattr(Warmup, "speaks", begins)
        assert not touched, "nobody speaks yet"
        await voice.worker.queue_frame(frames.VADUserStartedSpeakingFrame(start_secs=0.2))
        await voice.until(lambda: len(touched) >= 1)
        await voice.worker.queue_frame(frames.VADUserStoppedSpeakingFrame(stop_secs=0.2))
        await voice.until(lambda: len(touched) >= 2)
        assert any(one.is_active for one in warmups), "the recogniser still works"
        final = frames.TranscriptionFrame(QUESTION, "user", time_now_iso8601(), finalized=True)
        await voice.worker.queue_frame(final)
        await voice.until(lambda: bool(voice.server.requests))
        assert not any(one.is_active for one in warmups)
