"""A conversation beside another process on the same memory, also when that is killed."""

import asyncio

from msgspec.structs import replace

from slowcat_memory.testing.server import ToolCall
from tests.support.held_store import logged_texts
from tests.support.other_process import OtherProcess
from tests.support.processors import memory
from tests.support.voice_pipeline import VoicePipeline, run


def test_beside_another_a_conversation_goes_on_when_the_other_process_is_killed(config):
    async def scenario(other):
        processor = memory(config)
        async with VoicePipeline(memory=processor) as voice:
            answer = await exchange(voice, "where is my violin?")
            assert "attic" in answer.content, "what another process logged is recalled"
            await exchange(voice, "my boat is called Flora")
            await exchange(voice, "what is the capital of Portugal?")
            await asyncio.to_thread(processor._engine_handle.memory.flush, 30, indexed=True)
            voice.context.set_messages([])
            answer = await exchange(voice, "what is my boat called?")
            assert "Flora" in answer.content, "its own turns are numbered and indexed there"
            noted = await asyncio.to_thread(_ledger, processor)
            assert noted, "the ledger has a row"
            other.kill()
            voice.context.set_messages([])
            answer = await exchange(voice, "where is my violin?")
            assert "attic" in answer.content and voice.errors == []

    with OtherProcess(config.folder) as other:
        other.call("say", "my violin is in the attic of my sister", scope=config.memory.user_id)
        run(scenario(other), 240.0)
    said = [text for role, text, _ in logged_texts(config.folder) if role == "user"]
    assert said == [
        "my violin is in the attic of my sister",
        "where is my violin?",
        "my boat is called Flora",
        "what is the capital of Portugal?",
        "what is my boat called?",
        "where is my violin?",
    ]


async def exchange(voice: VoicePipeline, text: str):
    """Speak, and wait for the answer, also beside busy processes."""
    before = len(voice.turns)
    await voice.speak(text)
    await voice.until(lambda: any(turn.content for turn in voice.turns[before:]), 120.0)
    return next(turn for turn in voice.turns[before:] if turn.content)


def _ledger(processor) -> list[str]:
    """Return the memories offered at turns."""
    owned = processor._engine_handle.memory
    with owned.snapshot() as snapshot:
        turns = [turn.id for turn in snapshot.turns(processor._config.memory.user_id)]
        rows = [snapshot.ledger(id_) for id_ in turns]
        return [offer.memory for row in rows if row for offer in row.offers]


def test_beside_another_what_is_forgotten_leaves_the_context_of_the_llm_too(config):
    patient = replace(config.commands, wait_s=60.0)

    async def scenario():
        processor = memory(replace(config, commands=patient))
        async with VoicePipeline(memory=processor) as voice:
            await exchange(voice, "my quokka is called Flora")
            answer = await exchange(voice, "forget that")
            assert "forgotten" in answer.content
            return [str(message.get("content")) for message in voice.context.messages]

    with OtherProcess(config.folder):
        left = run(scenario(), 240.0)
    assert left and "Flora" not in " ".join(left)


def test_beside_another_the_request_to_forget_is_forgotten_with_what_it_is_about(config):
    def reply(request):
        said = [one["role"] for one in request["messages"]]
        what = {"what": "quokka called Flora", "confirm": "yes" if said.count("user") > 1 else ""}
        return "All right." if said[-1] == "tool" else ToolCall("forget", what)

    async def scenario():
        processor = memory(config)
        async with VoicePipeline(reply, tools=processor.tools(), memory=processor) as voice:
            await exchange(voice, "I'd like you to see to the quokka Flora")
            await exchange(voice, "yes please")
            return voice.errors

    with OtherProcess(config.folder) as other:
        other.call("say", "my quokka is called Flora", scope=config.memory.user_id)
        assert run(scenario(), 240.0) == []
    said = [text for _, text, _ in logged_texts(config.folder)]
    assert "yes please" in said and "Flora" not in " ".join(said)
