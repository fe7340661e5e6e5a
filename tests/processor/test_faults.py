"""What goes wrong costs the turn its memories, never its reply; and what is said can be anything."""

from concurrent.futures import Future

import pytest
from msgspec.structs import replace
from pipecat.frames.frames import ErrorFrame, LLMContextFrame

from slowcat_memory.errors import (
    StoreBusyError,
    StoreClosedError,
    StoreDamagedError,
    StoreFullError,
)
from slowcat_memory.runtime.namespaces.registry import Namespaces
from slowcat_memory.store import Ack, Store
from tests.support.memories import engine_of, remember, said
from tests.support.processors import MAX, QUESTION, asking, blocks, events_of, logged, memory, user
from tests.support.voice_pipeline import VoicePipeline

CANARY = "xylophonist"


# ---------------------------------------------------------------- recall fails


def test_faults_recall_that_fails_never_costs_the_reply(engine, config):
    async def recall(*_, **__):
        raise RuntimeError(f"cannot read {CANARY}")

    engine.recall = recall
    with logged() as lines:
        messages, (frame,), up = asking(memory(config, engine=engine))
    assert frame.context.messages is messages
    (error,) = up
    assert isinstance(error, ErrorFrame) and not error.fatal
    assert "memory skipped this turn: RuntimeError" in error.error
    assert messages == [user(QUESTION)]
    assert engine.metrics.counts()["turns_without_memory"] == 1
    assert not any(CANARY in line for line in lines)
    engine.close()
    assert said(config)[-1] == ("User", QUESTION)


def test_faults_log_that_takes_nothing_still_lets_recall_work(engine, config):
    def append(event, **_):
        raise StoreFullError("10000 events wait to be saved")

    engine.append = append
    messages, down, up = asking(memory(config, engine=engine))
    assert len(down) == 1 and not up
    assert blocks(messages[0]["content"]) == 1
    assert engine.metrics.counts()["failures"] >= 1


# ---------------------------------------------------------------- the memory does not open


def test_faults_store_that_is_held_by_another_leaves_the_agent_without_memory(config):
    with Store.open(config.folder):
        processor = memory(config)
        troubles = events_of(processor, "on_memory_trouble")
        messages, down, up = asking(processor)
    assert [type(frame) for frame in down] == [LLMContextFrame] and not up
    assert messages == [user(QUESTION)]
    (error,) = troubles
    assert isinstance(error, StoreBusyError) and error.hint
    assert processor.engine is None


def test_faults_index_that_cannot_load_costs_recall_and_no_word(config, monkeypatch):
    def load(*_):
        raise MemoryError

    monkeypatch.setattr(Namespaces, "_load", load)
    processor = memory(config)
    troubles = events_of(processor, "on_memory_trouble")
    _, down, _ = asking(processor, "hello")
    assert len(down) == 1
    assert "memories of user cannot be recalled: MemoryError" in str(troubles[0])
    monkeypatch.undo()
    assert ("User", "hello") in said(config)


def test_faults_damaged_store_starts_anew_and_the_agent_remembers(config, monkeypatch):
    monkeypatch.setattr("slowcat_memory.processor.processor.START_S", 60.0)
    remember(config, MAX)
    (data,) = config.folder.rglob("data.mdb")
    data.write_bytes(b"damaged" * 4096)
    processor = memory(config)
    troubles = events_of(processor, "on_memory_trouble")
    _, down, _ = asking(processor, "hello")
    assert len(down) == 1
    assert ("User", "hello") in said(config)
    (aside,) = troubles
    assert isinstance(aside, StoreDamagedError) and str(config.folder / "corrupt-") in str(aside)


async def test_faults_words_that_cannot_be_saved_are_reported(engine, config):
    append = engine.append

    def refuse(event):
        failed = Future()
        failed.set_exception(StoreFullError("the disk is full"))
        return Ack(failed, append(event).event)

    engine.append = refuse

    processor = memory(config, engine=engine)
    troubles = events_of(processor, "on_memory_trouble")
    async with VoicePipeline(memory=processor) as voice:
        await voice.exchange("hello")
    assert [type(error) for error in troubles] == [StoreFullError]


# ---------------------------------------------------------------- what is said can be anything

# ---------------------------------------------------------------- a bad optional part


@pytest.mark.parametrize("url", ["http://203.0.113.7/v1", "http://[::1", "http://127.0.0.1:9/v1"])
async def test_faults_thinking_url_that_cannot_be_used_costs_no_memory(config, url):
    remember(config, MAX)

    thinking = replace(config, idle=replace(config.idle, enabled=True))
    processor = memory(thinking, context_llm_endpoint=url)
    troubles = events_of(processor, "on_memory_trouble")
    async with VoicePipeline(memory=processor) as voice:
        assert "Max" in (await voice.exchange(QUESTION)).content and voice.errors == []
    assert troubles == []
    assert ("User", QUESTION) in said(config)


def test_faults_engine_that_is_closed_leaves_the_agent_without_memory(config):
    with engine_of(config) as engine:
        pass
    processor = memory(config, engine=engine)
    troubles = events_of(processor, "on_memory_trouble")
    _, down, up = asking(processor, "hello")
    assert len(down) == 1 and not up
    assert isinstance(troubles[0], StoreClosedError | RuntimeError)
