"""The agent speaks first: what its greeting may bring up, in whole pipelines."""

import pytest
from pipecat.frames.frames import LLMRunFrame

from tests.support.memories import engine_of, remember, said
from tests.support.processors import MAX, memory
from tests.support.stores import configured
from tests.support.voice_pipeline import VoicePipeline

INTERVIEW = "Ask how the interview went."
BREAKS = "Bring this up once"


@pytest.fixture
def awake(tmp_path):
    """Neither quiet hours nor an absence: a test runs at any hour."""
    return configured(
        tmp_path / "memory",
        recall={"floor": 0.005},
        icebreakers={"quiet_hours": "", "min_absence_h": 0.0},
    )


def system(request) -> str:
    return request["messages"][0]["content"]


def greet(request) -> str:
    """A model that does what its system instruction says."""
    return "How did the interview go?" if INTERVIEW in system(request) else "Hello again."


async def conversation(config, *pushed: str) -> tuple[str, str]:
    """A session that begins with the agent's greeting; its system instruction and greeting."""
    processor = memory(config)
    for text in pushed:
        assert await processor.push_icebreaker(text, priority=0.9)
    known = await processor.session_context()
    assert known == await processor.session_context(), "byte-stable"
    async with VoicePipeline(greet, memory=processor, system_instruction=known or "-") as voice:
        await voice.worker.queue_frame(LLMRunFrame())
        greeting = (await voice.answer()).content
        assert await processor.session_context() == known
        await voice.exchange("it went well, thank you")
        assert len({system(request) for request in voice.server.requests}) == 1
        assert system(voice.server.requests[0]).startswith(known)
        return system(voice.server.requests[0]), greeting


async def test_proactive_a_greeting_uses_an_icebreaker_once_and_the_second_session_does_not(awake):
    remember(awake, MAX)
    with engine_of(awake) as engine:
        engine.icebreakers.push("user", "Something less important.", priority=0.1)

    first, greeting = await conversation(awake, INTERVIEW)
    second, later = await conversation(awake)
    assert first.count(BREAKS) == 1 and "You have talked once before" in first
    assert greeting == "How did the interview go?"
    assert BREAKS not in second and "You have talked 2 times before" in second
    assert later == "Hello again."
    assert ("Assistant", "How did the interview go?") in said(awake)
    with engine_of(awake) as engine:
        assert engine.icebreakers.waiting("user") == []  # the rest is dropped
        assert not engine.search("interview", "user", 9).hits[0].memory.kind.startswith("ice")


async def test_proactive_a_text_that_makes_no_sense_is_an_error(awake):
    processor = memory(awake)
    with pytest.raises(ValueError, match="text"):
        await processor.push_icebreaker("  ")
    processor.engine.close()
