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

VOICE = frames.VADUserStartedSpeakingFrame(start_secs=0.2)
SILENCE = frames.VADUserStoppedSpeakingFrame(stop_secs=0.2)


class Room:
    """A pipeline whose warm-up only counts: one recall thrown away for each sound."""

    def __init__(self, voice: VoicePipeline, monkeypatch: pytest.MonkeyPatch) -> None:
        self.voice, self.touched = voice, 0
        self.warmups: list[Warmup] = []

        def touch(retrieval: Retrieval, query: object) -> "Future[float]":
            self.touched += 1
            made: Future[float] = Future()
            made.set_result(10.0)  # so dear that the next one would come in minutes
            return made

        speaks = Warmup.speaks

        def begins(warmup: Warmup) -> None:
            self.warmups.append(warmup)
            speaks(warmup)

        monkeypatch.setattr(Retrieval, "touch", touch)
        monkeypatch.setattr(Warmup, "speaks", begins)

    @property
    def active(self) -> bool:
        return any(warmup.is_active for warmup in self.warmups)

    async def hear(self, *heard) -> None:
        for frame in heard:
            await self.voice.worker.queue_frame(frame)


@pytest.mark.parametrize("ahead", [True, False], ids=["prefetch", "no prefetch"])
async def test_voice_warmup_from_the_first_sound_until_the_turn(config, monkeypatch, engine, ahead):
    engine.config = replace(engine.config, prefetch=PrefetchOptions(enabled=ahead))
    processor = memory(engine.config, engine=engine)
    async with VoicePipeline(lambda _: "I see.", memory=processor) as voice:
        room = Room(voice, monkeypatch)
        assert room.touched == 0, "nobody speaks yet"
        await room.hear(VOICE)
        await voice.until(lambda: room.touched >= 1)
        await room.hear(SILENCE)
        await voice.until(lambda: room.touched >= 2)
        assert room.active, "the recogniser still works"
        final = frames.TranscriptionFrame(QUESTION, "user", time_now_iso8601(), finalized=True)
        await room.hear(final)
        await voice.until(lambda: bool(voice.server.requests))
        assert not room.active
