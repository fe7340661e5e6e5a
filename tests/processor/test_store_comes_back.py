"""A conversation whose store cannot be opened, or that another process has open too, goes on."""

import asyncio
import errno
from contextlib import ExitStack

import pytest

from slowcat_memory.engine import background
from slowcat_memory.records import Turn
from slowcat_memory.testing.server import ToolCall
from tests.support.held_store import logged_texts, refusing
from tests.support.memories import remember
from tests.support.other_process import OtherProcess
from tests.support.processors import MAX, memory
from tests.support.voice_pipeline import VoicePipeline, run

# ------------------------------------------------------------------- A conversation whose store cannot be opened goes on, and its memory comes back b


class Application:
    """What an application hears of its memory."""

    def __init__(self, processor):
        self.memory, self.heard, self.stored = processor, [], []
        self.back, self.saved = asyncio.Event(), asyncio.Event()
        for event in ("on_memory_trouble", "on_memory_back", "on_exchange_stored"):
            processor.add_event_handler(event, getattr(self, event))

    async def on_memory_trouble(self, _, error):
        self.heard.append(error)

    async def on_memory_back(self, _):
        self.heard.append("back")
        self.back.set()

    async def on_exchange_stored(self, _, asked, said):
        self.stored.append((asked, said))
        self.saved.set()


@pytest.fixture(autouse=True)
def hasty(monkeypatch):
    monkeypatch.setattr(background, "FIRST_PAUSE_S", 0.02)
    monkeypatch.setattr(background, "LONGEST_PAUSE_S", 0.05)


def test_store_comes_back_and_what_was_said_meanwhile_is_recalled(config):
    remember(config, MAX)

    async def scenario():
        application = Application(memory(config))
        with refusing(errno.EROFS):
            voice = VoicePipeline(memory=application.memory)
            await voice.__aenter__()
            answer = await voice.exchange("what is my dog called?")
            assert "Max" in answer.content  # read from the disk that refuses to be written
            await voice.exchange("my boat is called Flora")
            assert application.memory.engine is None and not application.stored
        await asyncio.wait_for(application.back.wait(), 60)
        await asyncio.wait_for(application.saved.wait(), 60)
        voice.context.set_messages([])
        answer = await voice.exchange("what is my boat called?")
        assert "Flora" in answer.content and voice.errors == []
        await voice.__aexit__(None, None, None)
        return application

    application = run(scenario())
    trouble, back = application.heard
    assert "Read-only" in str(trouble) and back == "back"
    rows = [row for row in logged_texts(config.folder) if row[0] == "user"]
    assert [text for _, text, _ in rows] == [
        "My dog is called Max.",
        "what is my dog called?",
        "my boat is called Flora",
        "what is my boat called?",
    ]
    for asked, said in application.stored:
        assert isinstance(asked, Turn) and 0 < asked.id == said.reply_to < said.id


def test_store_comes_back_without_what_was_said_off_the_record(config):
    async def scenario():
        application, disk = Application(memory(config)), ExitStack()
        disk.enter_context(refusing(errno.ENOSPC))
        async with VoicePipeline(memory=application.memory) as voice:
            await voice.exchange("my boat is called Flora")
            application.memory.off_the_record()
            await voice.exchange("my secret is xylophonist")
            application.memory.back_on_the_record()
            await voice.exchange("my car is called Herbie")
            disk.close()

    run(scenario())
    assert "xylophonist" not in str(logged_texts(config.folder))
    assert "xylophonist" not in b"".join(
        path.read_bytes() for path in config.folder.rglob("*") if path.is_file()
    ).decode(errors="replace")
    assert "Herbie" in str(logged_texts(config.folder))


# ------------------------------------------------------------------- A conversation beside another process on the same memory, also when that is kill


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
