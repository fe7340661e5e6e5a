"""Typed turns beside spoken ones."""

from pipecat.frames.frames import (
    InterruptionFrame,
    LLMMessagesAppendFrame,
    TranscriptionFrame,
    VADUserStartedSpeakingFrame,
    VADUserStoppedSpeakingFrame,
)
from pipecat.utils.time import time_now_iso8601

from tests.support.processors import (
    QUESTION,
    STORY,
    blocks,
    contents,
    last_said,
    memory,
    session_turns,
    user,
    with_words,
)
from tests.support.voice_pipeline import VoicePipeline, run


def test_typed_turns_typed_turn_typed_text_is_a_turn(engine, config):
    async def scenario():
        async with VoicePipeline(memory=memory(config, engine=engine)) as voice:
            typed = LLMMessagesAppendFrame(messages=[user(QUESTION)], run_llm=True)
            await voice.worker.queue_frame(typed)
            await voice.answer()
            return voice

    voice = run(scenario())
    asked, answered = session_turns(engine)
    assert (asked.text, asked.channel, answered.channel) == (QUESTION, "text", "text")
    assert asked.speaker == "User"
    assert blocks(contents(voice.server.requests[0])[-1]) == 1


def test_typed_turns_typed_turn_typed_text_that_interrupts_is_answered_and_paired(engine, config):
    """What RTVI does with typed text: it interrupts, and appends at once."""

    async def scenario():
        async with VoicePipeline(
            lambda request: STORY if "story" in last_said(request) else "Yes?",
            memory=memory(config, engine=engine),
        ) as voice:
            await voice.speak("tell me a story")
            await voice.until_spoken(1)
            await voice.worker.queue_frame(InterruptionFrame())
            typed = LLMMessagesAppendFrame(messages=[user("stop")], run_llm=True)
            await voice.worker.queue_frame(typed)
            await voice.until(lambda: any(t.content == "Yes?" for t in voice.turns))

    run(scenario())
    told = {turn.text: turn for turn in session_turns(engine)}
    cut = next(turn for turn in told.values() if turn.interrupted)
    assert cut.reply_to == told["tell me a story"].id
    assert told["Yes?"].reply_to == told["stop"].id and not told["Yes?"].interrupted
    assert (told["tell me a story"].channel, told["stop"].channel) == ("voice", "text")


def test_typed_turns_typed_turn_text_typed_while_somebody_speaks(engine, config):
    async def scenario():
        async with VoicePipeline(memory=memory(config, engine=engine)) as voice:
            await voice.worker.queue_frame(VADUserStartedSpeakingFrame(start_secs=0.2))
            final = TranscriptionFrame("good morning", "anna", time_now_iso8601())
            await voice.worker.queue_frame(final)
            typed = LLMMessagesAppendFrame(messages=[user("typed words")], run_llm=True)
            await voice.worker.queue_frame(typed)
            await voice.server.wait_for_requests(1)
            await voice.worker.queue_frame(VADUserStoppedSpeakingFrame(stop_secs=0.2))
            await voice.server.wait_for_requests(2)
            await voice.until(lambda: len(with_words(voice, 2)) == 2)

    run(scenario())
    users = [(t.speaker, t.text, t.channel) for t in session_turns(engine) if t.role == "user"]
    assert users == [("User", "typed words", "text"), ("anna", "good morning", "voice")]


BLOCK = "<memories>\n- (today) Anna: I like figs.\n</memories>"


def test_typed_turns_words_behind_a_copied_block_are_kept_and_the_block_is_not(engine, config):
    async def scenario():
        async with VoicePipeline(memory=memory(config, engine=engine)) as voice:
            for words in (f"{BLOCK}\n\nI like plums.", BLOCK):
                typed = LLMMessagesAppendFrame(messages=[user(words)], run_llm=True)
                await voice.worker.queue_frame(typed)
                await voice.answer(len(voice.turns))

    run(scenario())
    assert [t.text for t in session_turns(engine) if t.role == "user"] == ["I like plums."]


def test_typed_turns_block_that_the_agent_reads_aloud_is_not_its_words(engine, config):
    async def scenario():
        reply = lambda _: f"{BLOCK} You like figs."  # noqa: E731
        async with VoicePipeline(reply, memory=memory(config, engine=engine)) as voice:
            await voice.exchange("what do I like", user_id="anna")

    run(scenario())
    (answer,) = [t.text for t in session_turns(engine) if t.role == "assistant"]
    assert answer == "You like figs."
