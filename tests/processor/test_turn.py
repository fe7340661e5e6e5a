"""Which contexts bring a new user turn, and what reaches the LLM and the log."""

import pytest
from pipecat.frames.frames import (
    LLMMessagesAppendFrame,
    LLMMessagesUpdateFrame,
    LLMRunFrame,
)

from slowcat_memory.core.render.memory_block import CLOSE, OPEN
from tests.support.memories import edges, remember, turns
from tests.support.processors import (
    DEVELOPER,
    MAX,
    QUESTION,
    assistant,
    blocks,
    contents,
    ledger_of,
    logged_words,
    memory,
    session_turns,
    user,
    with_words,
)
from tests.support.voice_pipeline import VoicePipeline, run


def test_turn_plain_turn(config):
    remember(config, MAX)

    async def scenario():
        async with VoicePipeline(memory=memory(config)) as voice:
            answer = await voice.exchange(QUESTION)
            return voice, answer

    voice, answer = run(scenario())
    assert "My dog is called Max." in answer.content
    system, question = contents(voice.server.requests[0])
    assert system.startswith("You are a cat.") and system.count(OPEN) == 1  # the one instruction
    assert question.startswith(OPEN) and question.endswith(f"{CLOSE}\n\n{QUESTION}")
    asked, answered = turns(config)[-2:]
    assert (asked.speaker, asked.text, asked.channel) == ("User", QUESTION, "voice")
    assert (answered.speaker, answered.text) == ("Assistant", answer.content)
    assert answered.reply_to == asked.id and not answered.interrupted
    assert edges(config)[2:] == ["start", "end disconnect"]


def test_turn_instruction_is_optional(config):
    async def scenario():
        async with VoicePipeline(memory=memory(config, add_instruction=False)) as voice:
            await voice.exchange("hello")
            return contents(voice.server.requests[0])

    assert run(scenario()) == ["You are a cat.", "hello"]


def test_turn_greeting_is_logged_and_nothing_is_recalled_for_it(engine, config):
    async def scenario():
        voice = VoicePipeline(lambda _: "Hello, Anna.", memory=memory(config, engine=engine))
        voice.context.add_message(dict(DEVELOPER))
        async with voice:
            await voice.worker.queue_frame(LLMRunFrame())
            await voice.answer()
            await voice.exchange("good morning")
        return voice

    voice = run(scenario())
    assert contents(voice.server.requests[0])[1:] == ["Say hello."]
    assert [text for _, text in logged_words(engine)] == [
        "Hello, Anna.",
        "good morning",
        "Hello, Anna.",
    ]
    assert len(ledger_of(engine)) == 1


def test_turn_rerun_recalls_and_logs_nothing_new(engine, config):
    async def scenario():
        async with VoicePipeline(memory=memory(config, engine=engine)) as voice:
            await voice.exchange(QUESTION)
            await voice.worker.queue_frame(LLMRunFrame())
            await voice.until(lambda: len(with_words(voice, 2)) == 2)
            return voice

    voice = run(scenario())
    first, second = voice.server.requests
    assert first["messages"] == second["messages"][: len(first["messages"])]
    assert sum(map(blocks, contents(second)[1:])) == 1
    assert [name for name, _ in logged_words(engine)] == ["User", "Assistant", "Assistant"]
    assert len(ledger_of(engine)) == 1


def test_turn_context_that_brings_its_history(engine, config):
    history = [user("my cat is called Tom"), assistant("Nice."), user("what is my dog called")]

    async def scenario():
        voice = VoicePipeline(memory=memory(config, engine=engine))
        voice.context.set_messages([dict(message) for message in history])
        async with voice:
            await voice.worker.queue_frame(LLMRunFrame())
            await voice.answer()
            assert voice.context.messages[:3] == history
            await voice.exchange("and what is my dog called")
        return voice

    voice = run(scenario())
    assert [name for name, _ in logged_words(engine)] == ["Assistant", "User", "Assistant"]
    assert voice.context.messages[:3] == history
    assert sum(blocks(m["content"]) for m in voice.context.messages) == 1


def test_turn_history_that_comes_later_is_history_all_the_same(engine, config):
    history = [user("what is my dog called"), assistant("I don't know.")]

    async def scenario():
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

    run(scenario())


def test_turn_context_replaced_by_equal_copies(engine, config):
    async def scenario():
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
            return voice

    voice = run(scenario())
    asked = [text for name, text in logged_words(engine) if name == "User"]
    assert asked == [QUESTION, QUESTION]
    assert sum(map(blocks, contents(voice.server.requests[-1])[1:])) == 1  # the copy still shows it


@pytest.mark.parametrize("typed", [False, True])
def test_turn_same_words_after_the_context_was_copied_are_a_new_turn(engine, config, typed):
    async def scenario():
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

    run(scenario())
    asked = [(turn.text, turn.channel) for turn in session_turns(engine) if turn.role == "user"]
    assert asked == [(QUESTION, "voice"), (QUESTION, "text" if typed else "voice")]


def test_turn_copy_of_an_unanswered_message_is_no_new_turn(engine, config):
    async def scenario():
        async with VoicePipeline(memory=memory(config, engine=engine)) as voice:
            message = user("nothing is known of that")
            append = LLMMessagesAppendFrame(messages=[message], run_llm=True)
            await voice.worker.queue_frame(append)
            await voice.answer()
            update = LLMMessagesUpdateFrame(messages=[dict(message)], run_llm=True)
            await voice.worker.queue_frame(update)
            await voice.until(lambda: len(with_words(voice, 2)) == 2)

    run(scenario())
    assert [name for name, _ in logged_words(engine)] == ["User", "Assistant", "Assistant"]
