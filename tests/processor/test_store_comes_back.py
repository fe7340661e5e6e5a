"""A conversation whose store cannot be opened goes on, and its memory comes back by itself."""

import asyncio
import errno
from contextlib import ExitStack

import pytest

from slowcat_memory.engine import background
from slowcat_memory.records import Turn
from tests.support.held_store import logged_texts, refusing
from tests.support.memories import remember
from tests.support.processors import MAX, memory
from tests.support.voice_pipeline import VoicePipeline, run


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


def test_store_comes_back_to_every_processor_of_the_process(config):
    async def scenario():
        one, other = Application(memory(config)), Application(memory(config))
        disk = ExitStack()
        disk.enter_context(refusing(errno.EROFS))
        async with VoicePipeline(memory=one.memory) as first:
            await first.exchange("my boat is called Flora")
            async with VoicePipeline(memory=other.memory) as second:
                await second.exchange("my car is called Herbie")
                disk.close()
                await asyncio.wait_for(one.back.wait(), 60)
                await asyncio.wait_for(other.back.wait(), 60)
        for application in (one, other):
            assert len(application.heard) == 2 and "Read-only" in str(application.heard[0])

    run(scenario())
    said = [text for role, text, _ in logged_texts(config.folder) if role == "user"]
    assert said == ["my boat is called Flora", "my car is called Herbie"]


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
