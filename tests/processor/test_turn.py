"""Which contexts bring a new user turn: spoken, typed, of several, with tools; and what is logged."""

from pipecat.frames.frames import (
    LLMMessagesAppendFrame,
    LLMMessagesUpdateFrame,
    TranscriptionFrame,
    VADUserStartedSpeakingFrame,
    VADUserStoppedSpeakingFrame,
)
from pipecat.utils.time import time_now_iso8601

from slowcat_memory.core.render.memory_block import CLOSE, OPEN
from tests.support.memories import edges, remember, turns
from tests.support.processors import (
    DEVELOPER,
    MAX,
    QUESTION,
    assistant,
    contents,
    logged_words,
    memory,
    session_turns,
    user,
)
from tests.support.voice_pipeline import VoicePipeline


async def test_turn_plain_turn(config):
    remember(config, MAX)

    async with VoicePipeline(memory=memory(config)) as voice:
        answer = await voice.exchange(QUESTION)
    assert "My dog is called Max." in answer.content
    system, question = contents(voice.server.requests[0])
    assert system.startswith("You are a cat.") and system.count(OPEN) == 1  # the one instruction
    assert question.startswith(OPEN) and question.endswith(f"{CLOSE}\n\n{QUESTION}")
    asked, answered = turns(config)[-2:]
    assert (asked.speaker, asked.text, asked.channel) == ("User", QUESTION, "voice")
    assert (answered.speaker, answered.text) == ("Assistant", answer.content)
    assert answered.reply_to == asked.id and not answered.interrupted
    assert edges(config)[2:] == ["start", "end disconnect"]


async def test_turn_history_that_comes_later_is_history_all_the_same(engine, config):
    history = [user("what is my dog called"), assistant("I don't know.")]

    async with VoicePipeline(memory=memory(config, engine=engine)) as voice:
        update = LLMMessagesUpdateFrame(messages=[*history, dict(DEVELOPER)], run_llm=True)
        await voice.worker.queue_frame(update)
        await voice.answer()
        assert contents(voice.server.requests[0])[1:] == [
            "what is my dog called",
            "I don't know.",
            "Say hello.",
        ]
        assert [name for name, _ in logged_words(engine)] == ["Assistant"]


BLOCK = "<memories>\n- (today) Anna: I like figs.\n</memories>"


async def test_typed_turns_words_behind_a_copied_block_are_kept_and_the_block_is_not(
    engine, config
):
    async with VoicePipeline(memory=memory(config, engine=engine)) as voice:
        for words in (f"{BLOCK}\n\nI like plums.", BLOCK):
            typed = LLMMessagesAppendFrame(messages=[user(words)], run_llm=True)
            await voice.worker.queue_frame(typed)
            await voice.answer(len(voice.turns))
    assert [t.text for t in session_turns(engine) if t.role == "user"] == ["I like plums."]


async def test_speakers_several_people_in_one_turn_become_a_turn_each(engine, config):
    processor = memory(config, engine=engine, speaker_names={"s1": "Anna"})
    async with VoicePipeline(memory=processor, speech_timeout_s=0.1) as voice:
        await voice.worker.queue_frame(VADUserStartedSpeakingFrame(start_secs=0.2))
        for speaker, words in (("s1", "I like tea."), ("s1", "Green tea."), ("ben", "Me too!")):
            frame = TranscriptionFrame(words, speaker, time_now_iso8601())
            await voice.worker.queue_frame(frame)
        await voice.worker.queue_frame(VADUserStoppedSpeakingFrame(stop_secs=0.2))
        await voice.answer()
        await voice.exchange("who likes green tea", user_id="s1")
    anna, ben, answer, *_ = session_turns(engine)
    assert (anna.speaker, anna.text) == ("Anna", "I like tea. Green tea.")
    assert (ben.speaker, ben.text) == ("ben", "Me too!")
    assert answer.reply_to == ben.id
    # All of it is still visible, in the words of both: nothing of it is offered again.
    assert "I like tea" not in contents(voice.server.requests[1])[-1]
