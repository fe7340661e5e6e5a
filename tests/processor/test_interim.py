"""Recall ahead of the speaker, in whole pipelines: what is heard, what a turn takes of it."""

import asyncio

import pytest
from pipecat.frames import frames
from pipecat.utils.time import time_now_iso8601

from slowcat_memory import MemoryEngine
from slowcat_memory.records import Forget
from tests.support.memories import engine_remembering
from tests.support.processors import (
    MAX,
    QUESTION,
    EagerVoice,
    Mark,
    contents,
    ledger_of,
    logged_words,
    memory,
    saw,
    session_turns,
    with_words,
)
from tests.support.voice_pipeline import VoicePipeline, run

engine = engine_remembering({3: [MAX], 9: ["User: We flew to Lisbon in May."]})


class Ear:
    """A recogniser that waits until what it sent was listened to, and recalled for."""

    def __init__(self, voice: VoicePipeline, engine: MemoryEngine) -> None:
        self.voice, self.engine = voice, engine
        saw(voice, Mark)

    async def send(self, *sent) -> None:
        for frame in sent:
            await self.voice.worker.queue_frame(frame)
            self.voice.kinds.discard(Mark)
            await self.voice.worker.queue_frame(Mark())
            await self.voice.until(lambda: saw(self.voice, Mark))
        await asyncio.to_thread(self.engine.wiring.indexer.ahead.submit(lambda: None).result, 10)

    async def begins(self) -> None:
        await self.send(frames.VADUserStartedSpeakingFrame(start_secs=0.2))

    async def interim(self, words: str) -> None:
        await self.send(frames.InterimTranscriptionFrame(words, "user", time_now_iso8601()))

    async def final(self, words: str) -> None:
        await self.send(
            frames.TranscriptionFrame(words, "user", time_now_iso8601(), finalized=True)
        )

    async def ends(self) -> None:
        answered = len(with_words(self.voice, 99))
        await self.voice.worker.queue_frame(frames.VADUserStoppedSpeakingFrame(stop_secs=0.2))
        await self.voice.until(lambda: len(with_words(self.voice, 99)) > answered)

    async def turn(self, *interims: str, final: str) -> None:
        await self.begins()
        for words in interims:
            await self.interim(words)
        await self.final(final)
        await self.ends()


def played(config, engine, scenario, **more):
    async def inside():
        async with VoicePipeline(
            lambda _: "I see.", memory=memory(config, engine=engine), **more
        ) as voice:
            await scenario(Ear(voice, engine))
            return voice

    return run(inside())


def taken(engine) -> dict[str, int]:
    """What turns took of what was recalled ahead."""
    counts = engine.metrics.counts()
    hows = ("stood", "vector", "redone")
    return {how: n for how in hows if (n := counts.get(f"prefetch_{how}", 0))}


def test_prefetch_what_is_forgotten_while_somebody_speaks_is_not_offered(engine, config):
    async def scenario(ear):
        await ear.begins()
        await ear.interim(QUESTION)
        await asyncio.to_thread(engine.forget, Forget(scope="user", session="earlier-3"))
        await ear.final(QUESTION)
        await ear.ends()

    with engine.store.snapshot() as snapshot:
        assert "earlier-3" in {turn.session for turn in snapshot.turns("user")}
    voice = played(config, engine, scenario)
    (asked,) = contents(voice.server.requests[0])[1:]
    assert asked.endswith(QUESTION) and "Max" not in asked


def test_prefetch_words_that_were_only_heard_are_kept_nowhere(engine, config):
    async def scenario(ear):
        await ear.turn("my secret is zanzibar", final=QUESTION)

    played(config, engine, scenario)
    engine.store.flush(None)
    assert "zanzibar" not in str(engine.upkeep.stats()) + str(ledger_of(engine)) + str(
        session_turns(engine)
    )
    files = [file for file in config.folder.rglob("*") if file.is_file()]
    assert files and not any(b"zanzibar" in file.read_bytes() for file in files)


def test_prefetch_trouble_with_what_is_heard_costs_nothing(engine, config, monkeypatch):
    monkeypatch.setattr(engine.wiring.retrieval, "begin", lambda _: 1 / 0)

    async def scenario(ear):
        await ear.turn(QUESTION, final=QUESTION)

    voice = played(config, engine, scenario)
    assert "Max" in contents(voice.server.requests[0])[-1] and voice.errors == []
    assert engine.metrics.counts()["failures"] > 0


# ---------------------------------------------------------------- eager end of turn


@pytest.mark.parametrize("withdrawn", [False, True])
async def test_prefetch_eager_turn_takes_what_was_recalled_ahead(engine, config, withdrawn):
    eager = EagerVoice(memory(config, engine=engine))
    async with eager.voice:
        await eager.begin("what is my dog called")
        first = taken(engine)
        if withdrawn:
            await eager.queue(frames.EagerEndOfTurnCancelFrame())
        await eager.end("What is my dog called?")
        await eager.voice.server.wait_for_requests(1 + withdrawn)
        await eager.voice.answer()
    voice = eager.voice
    assert sum(first.values()) == 1 and sum(taken(engine).values()) == 1 + withdrawn
    assert all("Max" in contents(request)[-1] for request in voice.server.requests)
    assert len(ledger_of(engine)) == 1
    assert [text for _, text in logged_words(engine)][0] == "What is my dog called?"
