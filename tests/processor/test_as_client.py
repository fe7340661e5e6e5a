"""A conversation whose memory another process owns, and goes on when that process is killed."""

import asyncio

from slowcat_memory.owner import who_owns
from tests.support import voice_pipeline
from tests.support.held_store import logged_texts
from tests.support.owner_process import OwnerProcess
from tests.support.processors import memory
from tests.support.voice_pipeline import VoicePipeline, run


def test_as_client_a_conversation_recalls_commands_and_outlives_its_owner(config, monkeypatch):
    monkeypatch.setattr(voice_pipeline, "TIMEOUT_S", 60.0)

    async def scenario(other):
        processor = memory(config)
        async with VoicePipeline(memory=processor) as voice:
            assert processor.engine is None, "it owns nothing"
            answer = await voice.exchange("where is my violin?")
            assert "attic" in answer.content, "what another process logged is recalled"
            await voice.exchange("my boat is called Flora")
            await voice.exchange("what is the capital of Portugal?")
            await asyncio.to_thread(processor._engine_handle.memory.flush, 30, indexed=True)
            voice.context.set_messages([])
            answer = await voice.exchange("what is my boat called?")
            assert "Flora" in answer.content, "its own turns are numbered and indexed there"
            noted = await asyncio.to_thread(_ledger, processor)
            assert noted, "the owner wrote the ledger's row"
            other.kill()
            await asyncio.to_thread(processor._engine_handle.memory._do, "stats")
            assert processor.engine is not None, "it owns the store now"
            voice.context.set_messages([])
            answer = await voice.exchange("where is my violin?")
            assert "attic" in answer.content and voice.errors == []

    with OwnerProcess(config.folder) as other:
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
    assert who_owns(config.folder) is None


def _ledger(processor) -> list[str]:
    """Return the memories offered at turns, as an owner wrote them down."""
    owned = processor._engine_handle.memory
    with owned.snapshot() as snapshot:
        turns = [turn.id for turn in snapshot.turns(processor._config.memory.user_id)]
        rows = [snapshot.ledger(id_) for id_ in turns]
        return [offer.memory for row in rows if row for offer in row.offers]
