"""A turn that is appended on an event loop."""

import asyncio
from pathlib import Path

from slowcat_memory.core.memory import chunk_id
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.engine.turns import INDEX_AFTER_S
from slowcat_memory.records import Turn
from slowcat_memory.runtime.recall.query import RecallOptions
from slowcat_memory.testing import FixedClock, HashEmbedder, memory_config


def test_turns_a_turn_is_indexed_when_its_own_recall_is_over_and_not_beside_it(
    tmp_path: Path, monkeypatch
) -> None:
    engine = MemoryEngine(
        memory_config(tmp_path / "memory"), clock=FixedClock(), embedder=HashEmbedder(64)
    )
    indexer, namespace = engine.wiring.indexer, engine.wiring.namespaces.get("anna")
    namespace.finish_opening()

    async def talk() -> None:
        later = []
        loop = asyncio.get_running_loop()
        monkeypatch.setattr(loop, "call_later", lambda *timer: later.append(timer))
        turn = Turn(session="s", scope="anna", speaker="Anna", role="user", text="I have a boat",
                    at=engine.clock())  # fmt: skip
        ids = [chunk_id(engine.append(turn).id) for _ in "ab"]
        await asyncio.sleep(0)
        indexer.talk.submit(lambda: None).result(30)
        assert namespace.searcher.tail_count == 0
        (delay, call, *arguments), _ = later
        assert delay == INDEX_AFTER_S
        call(*arguments)
        indexer.talk.submit(lambda: None).result(30)
        assert [id_ in namespace.searcher for id_ in ids] == [True, False]

    try:
        asyncio.run(talk())
    finally:
        engine.close()
    waits = RecallOptions()
    assert INDEX_AFTER_S * 1e3 > waits.deadline_ms + waits.settle_ms
