"""Which contexts bring a new user turn: spoken, typed, of several, with tools; and what is logged."""

import pytest
from pipecat.frames.frames import (
    InterruptionFrame,
    LLMMessagesAppendFrame,
    LLMMessagesUpdateFrame,
    LLMRunFrame,
    TranscriptionFrame,
    VADUserStartedSpeakingFrame,
    VADUserStoppedSpeakingFrame,
)
from pipecat.utils.time import time_now_iso8601

from slowcat_memory.core.render.memory_block import CLOSE, OPEN
from slowcat_memory.testing.server import ToolCall
from tests.support.memories import edges, remember, turns
from tests.support.processors import (
    DEVELOPER,
    MAX,
    QUESTION,
    STORY,
    assistant,
    blocks,
    contents,
    last_said,
    ledger_of,
    logged_words,
    memory,
    session_turns,
    user,
    with_words,
)
from tests.support.voice_pipeline import FunctionSchema, VoicePipeline


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


async def test_turn_instruction_is_optional(config):
    async with VoicePipeline(memory=memory(config, add_instruction=False)) as voice:
        await voice.exchange("hello")
        result = contents(voice.server.requests[0])
    assert result == ["You are a cat.", "hello"]


async def test_turn_greeting_is_logged_and_nothing_is_recalled_for_it(engine, config):
    voice = VoicePipeline(lambda _: "Hello, Anna.", memory=memory(config, engine=engine))
    voice.context.add_message(dict(DEVELOPER))
    async with voice:
        await voice.worker.queue_frame(LLMRunFrame())
        await voice.answer()
        await voice.exchange("good morning")
    assert contents(voice.server.requests[0])[1:] == ["Say hello."]
    assert [text for _, text in logged_words(engine)] == [
        "Hello, Anna.",
        "good morning",
        "Hello, Anna.",
    ]
    assert len(ledger_of(engine)) == 1


async def test_turn_context_that_brings_its_history(engine, config):
    history = [user("my cat is called Tom"), assistant("Nice."), user("what is my dog called")]

    voice = VoicePipeline(memory=memory(config, engine=engine))
    voice.context.set_messages([dict(message) for message in history])
    async with voice:
        await voice.worker.queue_frame(LLMRunFrame())
        await voice.answer()
        assert voice.context.messages[:3] == history
        await voice.exchange("and what is my dog called")
    assert [name for name, _ in logged_words(engine)] == ["Assistant", "User", "Assistant"]
    assert voice.context.messages[:3] == history
    assert sum(blocks(m["content"]) for m in voice.context.messages) == 1


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


async def test_turn_context_replaced_by_equal_copies(engine, config):
    async with VoicePipeline(memory=memory(config, engine=engine)) as voice:
        await voice.exchange(QUESTION)
        for run_llm in (True, False):
            before = len(with_words(voice, 99))
            copies = [dict(m) for m in voice.context.messages]
            update = LLMMessagesUpdateFrame(messages=copies, run_llm=run_llm)
            await voice.worker.queue_frame(update)
            if run_llm:
                await voice.until(lambda: len(with_words(voice, 99)) > before)  # noqa: B023
        await voice.exchange(QUESTION)  # word for word the same, and yet a new turn
    asked = [text for name, text in logged_words(engine) if name == "User"]
    assert asked == [QUESTION, QUESTION]
    assert sum(map(blocks, contents(voice.server.requests[-1])[1:])) == 1  # the copy still shows it


@pytest.mark.parametrize("typed", [False, True])
async def test_turn_same_words_after_the_context_was_copied_are_a_new_turn(engine, config, typed):
    async with VoicePipeline(memory=memory(config, engine=engine)) as voice:
        await voice.exchange(QUESTION)
        copies = [dict(m) for m in voice.context.messages]
        if typed:
            await voice.worker.queue_frame(LLMMessagesUpdateFrame(messages=copies))
            again = LLMMessagesAppendFrame(messages=[user(QUESTION)], run_llm=True)
            await voice.worker.queue_frame(again)
        else:
            voice.context.set_messages(copies)
            await voice.speak(QUESTION)
        await voice.until(lambda: len(with_words(voice, 2)) == 2)
    asked = [(turn.text, turn.channel) for turn in session_turns(engine) if turn.role == "user"]
    assert asked == [(QUESTION, "voice"), (QUESTION, "text" if typed else "voice")]


async def test_turn_copy_of_an_unanswered_message_is_no_new_turn(engine, config):
    async with VoicePipeline(memory=memory(config, engine=engine)) as voice:
        message = user("nothing is known of that")
        append = LLMMessagesAppendFrame(messages=[message], run_llm=True)
        await voice.worker.queue_frame(append)
        await voice.answer()
        update = LLMMessagesUpdateFrame(messages=[dict(message)], run_llm=True)
        await voice.worker.queue_frame(update)
        await voice.until(lambda: len(with_words(voice, 2)) == 2)
    assert [name for name, _ in logged_words(engine)] == ["User", "Assistant", "Assistant"]


async def test_typed_turns_typed_turn_typed_text_that_interrupts_is_answered_and_paired(
    engine, config
):
    """What RTVI does with typed text: it interrupts, and appends at once."""

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
    logged = {turn.text: turn for turn in session_turns(engine)}
    cut = next(turn for turn in logged.values() if turn.interrupted)
    assert cut.reply_to == logged["tell me a story"].id
    assert logged["Yes?"].reply_to == logged["stop"].id and not logged["Yes?"].interrupted
    assert (logged["tell me a story"].channel, logged["stop"].channel) == ("voice", "text")


async def test_typed_turns_typed_turn_text_typed_while_somebody_speaks(engine, config):
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
    users = [(t.speaker, t.text, t.channel) for t in session_turns(engine) if t.role == "user"]
    assert users == [("User", "typed words", "text"), ("anna", "good morning", "voice")]


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


async def test_typed_turns_block_that_the_agent_reads_aloud_is_not_its_words(engine, config):
    reply = lambda _: f"{BLOCK} You like figs."  # noqa: E731
    async with VoicePipeline(reply, memory=memory(config, engine=engine)) as voice:
        await voice.exchange("what do I like", user_id="anna")
    (answer,) = [t.text for t in session_turns(engine) if t.role == "assistant"]
    assert answer == "You like figs."


async def test_reply_tool_follow_up_sees_the_memory_and_recalls_nothing(engine, config):
    def reply(request):
        if request["messages"][-1]["role"] == "tool":
            return "It rains on Max."
        return ToolCall("get_weather", {"city": "Oslo"})

    async def get_weather(params):
        params.context.add_message({"role": "developer", "content": "tool note"})
        await params.result_callback({"sky": "rain"})

    tool = FunctionSchema("get_weather", "The weather.", {}, [], handler=get_weather)

    async with VoicePipeline(reply, tools=[tool], memory=memory(config, engine=engine)) as voice:
        assert (await voice.exchange("what is the weather for my dog")).content
    first, second = voice.server.requests
    assert last_said(first) == last_said(second) == "what is the weather for my dog"
    assert second["messages"][: len(first["messages"])] == first["messages"]
    assert blocks(first["messages"][-1]["content"]) == 1
    assert len(ledger_of(engine)) == 1
    assert [text for _, text in logged_words(engine)] == [
        "what is the weather for my dog",
        "It rains on Max.",
    ]
    with engine.store.snapshot() as snapshot:
        *_, asked, answered = snapshot.turns()
    assert answered.tools == ("get_weather",) and asked.tools == ()
    assert answered.reply_to == asked.id


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
