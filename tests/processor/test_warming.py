"""The LLM reads the conversation ahead: at the start, and after somebody else has used it; a voice warms recall up."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from concurrent.futures import Future

import pytest
from msgspec.structs import replace
from pipecat.frames import frames
from pipecat.utils.time import time_now_iso8601

from slowcat_memory import HybridContextualMemoryProcessor, MemoryEngine
from slowcat_memory.idle.options import IdleOptions
from slowcat_memory.providers import ThinkingOptions
from slowcat_memory.runtime.recall.prefetch import Warmup
from slowcat_memory.runtime.recall.query import PrefetchOptions
from slowcat_memory.runtime.recall.service import Retrieval
from slowcat_memory.testing.server import Failure
from tests.support.memories import remember
from tests.support.processors import MAX, QUESTION, ahead, memory, user
from tests.support.voice_pipeline import FunctionSchema, VoicePipeline


def begins_with(request, earlier) -> bool:
    return request["messages"][: len(earlier["messages"])] == earlier["messages"]


@contextlib.asynccontextmanager
async def talking(config, reply=None, **how) -> AsyncIterator[tuple[VoicePipeline, object]]:
    processor = memory(config)
    async with VoicePipeline(reply, memory=processor, speed=50, **how) as voice:
        yield voice, processor


async def test_warming_next_request_begins_with_exactly_what_was_read_ahead(config):
    remember(config, MAX)
    tool = FunctionSchema("look_up", "Looks something up.", {}, [])

    async with talking(config, tools=[tool]) as (voice, processor):
        await voice.exchange(QUESTION)
        assert await processor.rewarm()
        await voice.exchange("thank you")
        first, warmed, then = voice.server.requests
    assert begins_with(warmed, first) and begins_with(then, warmed)
    assert [m["role"] for m in then["messages"][len(warmed["messages"]) :]] == ["user"]
    assert warmed["messages"][0] == then["messages"][0]  # the system instruction
    assert warmed["tools"] == then["tools"] and warmed["model"] == then["model"]
    assert 1 in (warmed.get("max_completion_tokens"), warmed.get("max_tokens"))


@pytest.mark.parametrize("how", ["speaks", "interrupts", "types"])
async def test_warming_whoever_speaks_stops_it_at_once(config, how):
    async def held(request):
        return "I see." if request.get("stream") else await asyncio.Event().wait()

    async with talking(config, held) as (voice, processor):
        await voice.exchange("hello")
        warming = asyncio.create_task(processor.rewarm())
        await voice.server.wait_for_requests(2)
        typed = frames.LLMMessagesAppendFrame(messages=[user("stop")], run_llm=True)
        frame = {
            "speaks": frames.VADUserStartedSpeakingFrame(start_secs=0.2),
            "interrupts": frames.InterruptionFrame(),
            "types": typed,
        }[how]
        await voice.worker.queue_frame(frame)
        await voice.server.wait_until(lambda: voice.server.cancelled == 1)
        assert await warming is False
        assert voice.errors == []


async def test_warming_nothing_is_sent_while_somebody_speaks_or_is_answered(config):
    go_on = asyncio.Event()

    async def reply(request):
        await go_on.wait()
        return "I see."

    async with talking(config, reply) as (voice, processor):
        await voice.speak("hello")
        await voice.server.wait_for_requests(1)
        assert await processor.rewarm() is False  # it is being answered
        go_on.set()
        await voice.answer()
        began = asyncio.Event()

        async def begin(*_):
            began.set()

        voice.aggregators.user().add_event_handler("on_user_turn_started", begin)
        await voice.worker.queue_frame(frames.VADUserStartedSpeakingFrame(start_secs=0.2))
        await asyncio.wait_for(began.wait(), 60)
        assert await processor.rewarm() is False
        assert ahead(voice) == []


async def test_warming_server_that_fails_costs_nothing(config):
    def reply(request):
        return "I see." if request.get("stream") else Failure(500, "broken")

    async with talking(config, reply) as (voice, processor):
        await voice.exchange("hello")
        assert await processor.rewarm() is False
        assert await voice.exchange("are you there")
        assert voice.errors == []


@pytest.mark.warm_start
@pytest.mark.parametrize("local", [True, False])
async def test_warming_start_reads_ahead_with_a_local_llm_only(config, local):
    processor = memory(config, llm_is_local=None if local else False)
    async with VoicePipeline(memory=processor, speed=50) as voice:
        if local:
            await voice.server.wait_for_requests(1)
            await voice.server.wait_until(lambda: voice.server.completed == 1)
        await voice.exchange("hello")
        *warmed, first = voice.server.requests
    assert len(warmed) == local
    assert all(begins_with(first, request) for request in warmed)


async def test_rewarm_after_idle_each_burst_is_followed_by_one_request_for_one_token(
    config, monkeypatch
):
    """Idle thinking uses the conversation's server, and tells of its pauses from another thread."""
    engine, pauses = MemoryEngine(replace(config, idle=IdleOptions(enabled=False))), []
    setup = HybridContextualMemoryProcessor.setup

    def subscribe(on_pause, **others):
        pauses.append(on_pause)
        return lambda: pauses.remove(on_pause)

    async def knowing(processor, given):
        url = str(voice.server.url).replace("127.0.0.1", "localhost")
        engine.config = replace(engine.config, thinking=ThinkingOptions(url=url))
        await setup(processor, given)

    monkeypatch.setattr(engine, "subscribe", subscribe)
    monkeypatch.setattr(HybridContextualMemoryProcessor, "setup", knowing)
    processor = HybridContextualMemoryProcessor(engine=engine)
    voice = VoicePipeline(lambda _: "I see.", memory=processor, speed=50)
    async with voice:
        await voice.exchange("hello")
        await voice.until(lambda: not voice.bot_speaks)
        for count in (1, 2):
            engine.metrics.count("idle_tokens_in", 100)
            await asyncio.to_thread(lambda: [tell() for tell in pauses])
            await voice.server.wait_until(lambda count=count: voice.server.completed == 1 + count)
            await asyncio.sleep(0.1)  # until it is read
        assert len(ahead(voice)) == 2
    await asyncio.to_thread(engine.close)
    assert not pauses


# ---------------------------------------------------------------- a voice warms recall up


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
