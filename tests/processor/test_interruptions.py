"""Interruptions of the agent and of recall, and turns that may yet be withdrawn."""

import pytest
from pipecat.frames.frames import (
    EagerEndOfTurnCancelFrame,
    VADUserStartedSpeakingFrame,
    VADUserStoppedSpeakingFrame,
)
from pipecat.processors.aggregators import llm_response_universal as universal

from tests.support.processors import (
    STORY,
    EagerVoice,
    aggregators,
    blocks,
    contents,
    last_said,
    ledger_of,
    logged_words,
    memory,
    session_turns,
)
from tests.support.voice_pipeline import VoicePipeline


async def test_interruptions_interruption_keeps_what_was_heard(engine, config):
    async with VoicePipeline(
        lambda request: STORY if "story" in last_said(request) else "Yes?",
        memory=memory(config, engine=engine),
    ) as voice:
        await voice.speak("a story: what is my dog called?")
        await voice.until_spoken(2)
        before = len(voice.turns)
        await voice.speak("stop")
        await voice.until(lambda: any(t.content == "Yes?" for t in voice.turns[before:]))
    logged = session_turns(engine)  # on a busy machine "stop" is logged before what it cut
    asked, stop = (turn for turn in logged if turn.role == "user")
    cut, yes = (turn for turn in logged if turn.role == "assistant")
    assert cut.interrupted and not yes.interrupted
    assert cut.text and STORY.startswith(cut.text) and cut.text != STORY
    assert cut.text == voice.turns[0].content
    assert (cut.reply_to, yes.reply_to) == (asked.id, stop.id)
    first, second = voice.server.requests
    assert second["messages"][: len(first["messages"])] == first["messages"]  # the block stays
    assert blocks(contents(first)[1]) == 1 and blocks(contents(second)[-1]) == 0


async def test_interruptions_interruption_before_a_word_logs_nothing(engine, config):
    async with VoicePipeline(
        lambda request: STORY if "story" in last_said(request) else "Yes?",
        token_delay_s=0.05,
        memory=memory(config, engine=engine),
    ) as voice:
        await voice.speak("tell me a story")
        await voice.server.wait_for_requests(1)
        await voice.speak("stop")
        await voice.until(lambda: any(t.content == "Yes?" for t in voice.turns))
    assert [text for _, text in logged_words(engine)] == ["tell me a story", "stop", "Yes?"]
    assert not session_turns(engine)[-1].interrupted


async def test_interruptions_interruption_by_a_cough_is_no_turn(engine, config):
    if not hasattr(universal, "EmptyUserTurnConfig"):
        pytest.skip("recovery from empty user turns is newer than this Pipecat")

    def reply(request):
        if request["messages"][-1]["role"] == "developer":
            return "Did you say something?"
        return STORY

    voice = VoicePipeline(reply, memory=memory(config, engine=engine))
    voice.aggregators = aggregators(voice.context, user_turn_stop_timeout=0.1)
    async with voice:
        await voice.speak("tell me of my dog")
        await voice.until_spoken(1)
        await voice.worker.queue_frame(VADUserStartedSpeakingFrame(start_secs=0.2))
        await voice.worker.queue_frame(VADUserStoppedSpeakingFrame(stop_secs=0.2))
        await voice.until(lambda: any(t.content.startswith("Did") for t in voice.turns))
    asked, cut, recovered = session_turns(engine)
    assert cut.interrupted and cut.text.startswith("There was a cat.")
    assert recovered.text == "Did you say something?" and not recovered.interrupted
    assert asked.text == "tell me of my dog" and len(ledger_of(engine)) == 1
    assert sum(map(blocks, contents(voice.server.requests[-1])[1:])) == 1


async def test_speculated_turns_speculated_turn_eager_turn_that_is_withdrawn_leaves_no_trace(
    engine, config
):
    eager = EagerVoice(memory(config, engine=engine))
    async with eager.voice:
        await eager.begin("what is my dog called")
        await eager.queue(EagerEndOfTurnCancelFrame())
        await eager.end("never mind")
        await eager.voice.server.wait_for_requests(2)
        await eager.voice.answer()
    voice = eager.voice
    assert contents(voice.server.requests[1])[1:] == ["never mind"]
    assert [text for name, text in logged_words(engine) if name == "anna"] == ["never mind"]
    (entry,) = ledger_of(engine)
    assert entry.offers == ()
