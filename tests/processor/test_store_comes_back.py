"""A conversation whose store cannot be opened, or that another process has open too, goes on."""

import asyncio
import errno
from contextlib import ExitStack

import pytest

from slowcat_memory.engine import background
from slowcat_memory.records import Turn
from slowcat_memory.testing.server import ToolCall
from tests.support.held_store import logged_texts, refusing
from tests.support.memories import remember, residue
from tests.support.other_process import OtherProcess
from tests.support.processors import MAX, events_of, ledger_of, memory
from tests.support.voice_pipeline import VoicePipeline

# ------------------------------------------------------------------- A conversation whose store cannot be opened goes on, and its memory comes back b


@pytest.fixture(autouse=True)
def hasty(monkeypatch):
    monkeypatch.setattr(background, "FIRST_PAUSE_S", 0.02)
    monkeypatch.setattr(background, "LONGEST_PAUSE_S", 0.05)


async def test_store_comes_back_and_what_was_said_meanwhile_is_recalled(config):
    remember(config, MAX)
    processor, disk = memory(config), ExitStack()
    trouble = events_of(processor, "on_memory_trouble")
    stored = events_of(processor, "on_exchange_stored")
    back = list[bool]()
    processor.add_event_handler("on_memory_back", lambda *_: back.append(True))
    disk.enter_context(refusing(errno.EROFS))
    async with VoicePipeline(memory=processor) as voice:
        answer = await voice.exchange("what is my dog called?")
        assert "Max" in answer.content  # read from the disk that refuses to be written
        await voice.exchange("my boat is called Flora")
        assert processor.engine is None and not stored
        disk.close()
        async with asyncio.timeout(60):
            while not (back and stored):
                await asyncio.sleep(0.01)
        voice.context.set_messages([])
        answer = await voice.exchange("what is my boat called?")
        assert "Flora" in answer.content and voice.errors == []
    assert len(trouble) == len(back) == 1 and "Read-only" in str(trouble[0])
    rows = [row for row in logged_texts(config.folder) if row[0] == "user"]
    assert [text for _, text, _ in rows] == [
        "My dog is called Max.",
        "what is my dog called?",
        "my boat is called Flora",
        "what is my boat called?",
    ]
    for asked, said in stored:
        assert isinstance(asked, Turn) and 0 < asked.id == said.reply_to < said.id


async def test_store_comes_back_without_what_was_said_off_the_record(config):
    processor, disk = memory(config), ExitStack()
    disk.enter_context(refusing(errno.ENOSPC))
    async with VoicePipeline(memory=processor) as voice:
        await voice.exchange("my boat is called Flora")
        processor.off_the_record()
        await voice.exchange("my secret is xylophonist")
        processor.back_on_the_record()
        await voice.exchange("my car is called Herbie")
        disk.close()
    assert "xylophonist" not in str(logged_texts(config.folder))
    assert residue(config.folder, "xylophonist") == []
    assert "Herbie" in str(logged_texts(config.folder))


# ------------------------------------------------------------------- A conversation beside another process on the same memory, also when that is kill


async def test_beside_another_a_conversation_goes_on_when_the_other_process_is_killed(config):
    with OtherProcess(config.folder) as other:
        other.call("say", "my violin is in the attic of my sister", scope=config.memory.user_id)
        processor = memory(config)
        async with VoicePipeline(memory=processor) as voice:
            answer = await voice.exchange("where is my violin?")
            assert "attic" in answer.content, "what another process logged is recalled"
            await voice.exchange("my boat is called Flora")
            await voice.exchange("what is the capital of Portugal?")
            await asyncio.to_thread(processor._memory.flush, 30, indexed=True)
            voice.context.set_messages([])
            answer = await voice.exchange("what is my boat called?")
            assert "Flora" in answer.content, "its own turns are numbered and indexed there"
            assert any(row.offers for row in ledger_of(processor._memory))
            other.kill()
            voice.context.set_messages([])
            answer = await voice.exchange("where is my violin?")
            assert "attic" in answer.content and voice.errors == []
    said = [text for role, text, _ in logged_texts(config.folder) if role == "user"]
    assert said == [
        "my violin is in the attic of my sister",
        "where is my violin?",
        "my boat is called Flora",
        "what is the capital of Portugal?",
        "what is my boat called?",
        "where is my violin?",
    ]


async def test_beside_another_the_request_to_forget_is_forgotten_with_what_it_is_about(config):
    def reply(request):
        said = [one["role"] for one in request["messages"]]
        what = {"what": "quokka called Flora", "confirm": "yes" if said.count("user") > 1 else ""}
        return "All right." if said[-1] == "tool" else ToolCall("forget", what)

    with OtherProcess(config.folder) as other:
        other.call("say", "my quokka is called Flora", scope=config.memory.user_id)
        processor = memory(config)
        async with VoicePipeline(reply, tools=processor.tools(), memory=processor) as voice:
            await voice.exchange("I'd like you to see to the quokka Flora")
            await voice.exchange("yes please")
            assert voice.errors == []
    said = [text for _, text, _ in logged_texts(config.folder)]
    assert "yes please" in said and "Flora" not in " ".join(said)
