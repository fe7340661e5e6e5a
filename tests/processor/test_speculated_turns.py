"""Eager end of turn: turns that may yet be withdrawn."""

from pipecat.frames.frames import (
    EagerEndOfTurnCancelFrame,
)

from slowcat_memory.core.render.memory_block import CLOSE
from tests.support.processors import (
    QUESTION,
    EagerVoice,
    Gate,
    blocks,
    contents,
    ledger_of,
    logged_words,
    memory,
    saw,
    session_turns,
    with_words,
)
from tests.support.voice_pipeline import run


def test_speculated_turns_speculated_turn_eager_turn_that_holds_is_recalled_once_and_logged_when_it_holds(
    engine, config
):
    async def scenario():
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
        return voice

    voice = run(scenario())
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


def test_speculated_turns_speculated_turn_eager_turn_that_is_withdrawn_leaves_no_trace(
    engine, config
):
    async def scenario():
        eager = EagerVoice(memory(config, engine=engine))
        async with eager.voice:
            await eager.begin("what is my dog called")
            await eager.queue(EagerEndOfTurnCancelFrame())
            await eager.end("never mind")
            await eager.voice.server.wait_for_requests(2)
            await eager.voice.answer()
        return eager.voice

    voice = run(scenario())
    assert contents(voice.server.requests[1])[1:] == ["never mind"]
    assert [text for name, text in logged_words(engine) if name == "anna"] == ["never mind"]
    (entry,) = ledger_of(engine)
    assert entry.offers == ()


def test_speculated_turns_speculated_turn_eager_turn_that_goes_on_is_recalled_for_what_was_said(
    engine, config
):
    async def scenario():
        eager = EagerVoice(memory(config, engine=engine))
        async with eager.voice:
            await eager.begin("what is")
            await eager.end("what is my dog called")
            await eager.voice.server.wait_for_requests(2)
            await eager.voice.answer()
        return eager.voice

    voice = run(scenario())
    assert blocks(contents(voice.server.requests[1])[-1]) == 1
    assert [text for name, text in logged_words(engine) if name == "anna"] == [QUESTION]
    assert len(ledger_of(engine)) == 1


def test_speculated_turns_speculated_turn_eager_turn_that_is_withdrawn_during_recall(
    engine, config
):
    async def scenario():
        eager, gate = EagerVoice(memory(config, engine=engine)), Gate(engine)
        recalls, engine_recall = [], engine.recall

        async def recall(text, *arguments, **named):
            recalls.append(text)
            return await engine_recall(text, *arguments, **named)

        engine.recall = recall
        async with eager.voice as voice:
            await eager.begin("what is my dog called", requests=0)
            await gate.begun.wait()
            await eager.queue(EagerEndOfTurnCancelFrame())
            await voice.until(lambda: saw(voice, EagerEndOfTurnCancelFrame))
            gate.open.set()
            await voice.server.wait_for_requests(1)
            await eager.end("what is my dog called")
            await voice.server.wait_for_requests(2)
            await voice.answer()
        return voice, recalls

    voice, recalls = run(scenario())
    assert recalls == [QUESTION, QUESTION]
    assert blocks(contents(voice.server.requests[1])[-1]) == 1
    assert len(ledger_of(engine)) == 1
