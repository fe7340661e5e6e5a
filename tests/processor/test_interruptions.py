"""Interruptions of the agent and of recall, and turns that may yet be withdrawn."""

import pytest
from pipecat.frames.frames import (
    EagerEndOfTurnCancelFrame,
    InterruptionFrame,
    TranscriptionFrame,
    VADUserStartedSpeakingFrame,
    VADUserStoppedSpeakingFrame,
)
from pipecat.processors.aggregators import llm_response_universal as universal
from pipecat.utils.time import time_now_iso8601

from slowcat_memory.core.render.memory_block import CLOSE
from tests.support.processors import (
    QUESTION,
    STORY,
    EagerVoice,
    Gate,
    aggregators,
    blocks,
    contents,
    last_said,
    ledger_of,
    logged_words,
    memory,
    saw,
    session_turns,
    with_words,
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


async def test_interruptions_interruption_during_recall(engine, config):
    gate = Gate(engine)
    async with VoicePipeline(memory=memory(config, engine=engine)) as voice:
        await voice.speak("tell me of my dog")
        await gate.begun.wait()
        await voice.worker.queue_frame(VADUserStartedSpeakingFrame(start_secs=0.2))
        await voice.until(lambda: saw(voice, InterruptionFrame))
        gate.open.set()
        await voice.worker.queue_frame(VADUserStoppedSpeakingFrame(stop_secs=0.2))
        final = TranscriptionFrame(QUESTION, "user", time_now_iso8601(), finalized=True)
        await voice.worker.queue_frame(final)
        await voice.answer()
    (request,) = voice.server.requests
    _, first, second = contents(request)
    assert first == "tell me of my dog"  # nothing half done
    assert blocks(second) == 1 and second.endswith(QUESTION)
    assert [text for name, text in logged_words(engine) if name == "User"] == [first, QUESTION]


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


async def test_speculated_turns_speculated_turn_eager_turn_that_holds_is_recalled_once_and_logged_when_it_holds(
    engine, config
):
    eager, heard = EagerVoice(memory(config, engine=engine)), []
    voice = eager.voice
    processor = voice._memory[0]

    async def recalled(_, found, packed):
        heard.append(len(packed.hits))

    processor.add_event_handler("on_memory_recalled", recalled)
    async with voice:
        await eager.begin("What is my dog called")
        assert logged_words(engine) == [] and heard == []
        assert voice.context.messages == []
        await eager.end("what is my dog called?")
        await voice.answer()
        assert heard == [1]
        assert len(voice.server.requests) == 1
        await eager.begin("thank you", 2)
        await eager.end("Thank you!")
        await voice.until(lambda: len(with_words(voice, 2)) == 2)
    first, second = voice.server.requests
    provisional, real = contents(first)[-1], contents(second)[1]
    assert blocks(provisional) == blocks(real) == 1
    assert provisional.partition(CLOSE)[0] == real.partition(CLOSE)[0]  # the same block
    assert real.endswith("what is my dog called?")  # in front of the committed words
    users = [(t.speaker, t.text, t.channel) for t in session_turns(engine) if t.role == "user"]
    assert users == [
        ("anna", "what is my dog called?", "voice"),
        ("anna", "Thank you!", "voice"),
    ]
    assert len(ledger_of(engine)) == 2


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


async def test_speculated_turns_speculated_turn_eager_turn_that_goes_on_is_recalled_for_what_was_said(
    engine, config
):
    eager = EagerVoice(memory(config, engine=engine))
    async with eager.voice:
        await eager.begin("what is")
        await eager.end("what is my dog called")
        await eager.voice.server.wait_for_requests(2)
        await eager.voice.answer()
    voice = eager.voice
    assert blocks(contents(voice.server.requests[1])[-1]) == 1
    assert [text for name, text in logged_words(engine) if name == "anna"] == [QUESTION]
    assert len(ledger_of(engine)) == 1
