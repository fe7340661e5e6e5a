import asyncio

import numpy as np
from msgspec.structs import replace

from slowcat_memory.core.memory import chunk_id
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.errors import ProviderError
from slowcat_memory.runtime.recall.query import Recollection
from slowcat_memory.runtime.recall.service import RetrievalOptions
from slowcat_memory.testing import HashEmbedder
from tests.support.engine_home import TALK, Gate, Home, busy, first, texts


def test_turns_recall_recall_the_first_recall_of_an_unknown_scope_does_not_wait_for_its_index(
    home: Home,
) -> None:
    engine = home.open()
    found = asyncio.run(engine.recall("dog", "berta"))
    assert found.stage == "none" and found.hits == []
    engine.flush(indexed=True)
    assert asyncio.run(engine.recall("dog", "berta")).stage == "lexical"


def slow_embedder(home: Home) -> tuple[MemoryEngine, Gate]:
    """An engine whose embedder answers queries when its gate opens; a turn waits half a second,

    which is enough for everything before the gate, on a machine however busy.
    """
    embedder = HashEmbedder(256)
    gate = Gate(embedder.encode_query)
    engine = home.open(embedder, recall={"deadline_ms": 500.0})
    home.talk(engine)
    engine.wiring.embedding.query._embed = gate  # type: ignore[union-attr]
    return engine, gate


def test_turns_recall_recall_a_turn_takes_the_words_when_the_embedder_is_too_slow(
    home: Home,
) -> None:
    engine, gate = slow_embedder(home)

    async def ask() -> Recollection:
        asking = asyncio.create_task(engine.recall("What is my dog called?", "anna"))
        await asyncio.to_thread(gate.reached.wait, 10)
        return await asking

    found = asyncio.run(ask())
    assert found.stage == "lexical" and texts(found)[0] == TALK[0]
    gate.open.set()
    engine.flush(indexed=True)
    assert engine.metrics.counts()["recall_lexical"] == 1
    assert engine.search("dog", "anna").stage == "full"


def test_turns_recall_recall_a_turn_takes_the_tail_when_the_worker_is_busy(home: Home) -> None:
    engine = home.open(recall={"deadline_ms": 20.0})
    home.talk(engine)
    engine.upkeep.seal("anna")
    home.talk(engine, "My cat is called Moritz", session="later")
    with busy(engine):
        found = asyncio.run(engine.recall("What is my cat called?", "anna"))
        assert found.stage == "tail" and texts(found) == ["My cat is called Moritz"]
        assert texts(asyncio.run(engine.recall("Who plays the violin?", "anna"))) == []
    engine.flush(indexed=True)
    assert engine.metrics.counts()["recall_tail"] == 2
    assert texts(asyncio.run(engine.recall("Who plays the violin?", "anna")))[0] == TALK[3]


def test_turns_recall_recall_a_cancelled_recall_leaves_the_engine_usable(home: Home) -> None:
    engine, gate = slow_embedder(home)

    async def interrupt() -> None:
        options = replace(engine.config.recall, deadline_ms=60_000.0)
        engine.wiring.retrieval = engine.wiring.retrieval_of(RetrievalOptions(recall=options))
        asking = [asyncio.create_task(engine.recall(f"dog {n}", "anna")) for n in range(5)]
        await asyncio.to_thread(gate.reached.wait, 10)
        for task in asking:
            task.cancel()
        outcomes = await asyncio.gather(*asking, return_exceptions=True)
        assert all(isinstance(outcome, asyncio.CancelledError) for outcome in outcomes)
        gate.open.set()
        found = await engine.recall("What is my dog called?", "anna")
        assert found.stage == "full" and texts(found)[0] == TALK[0]

    asyncio.run(interrupt())


def test_turns_recall_recall_a_failing_embedder_costs_no_turn_its_words(home: Home) -> None:
    embedder = HashEmbedder(256)
    engine, asked = home.open(embedder), []
    home.talk(engine)

    def fail(text: str) -> np.ndarray:
        asked.append(text)
        raise ProviderError("out of memory")

    engine.wiring.embedding.query._embed = fail  # type: ignore[union-attr]
    for _ in range(5):
        found = asyncio.run(engine.recall("What is my dog called?", "anna"))
        assert found.stage == "lexical" and texts(found)[0] == TALK[0]
    assert len(asked) == 3 and engine.metrics.counts()["embedding_failures"] == 3
    engine.wiring.embedding.query._embed = embedder.encode_query  # type: ignore[union-attr]
    home.clock.advance(60)
    assert asyncio.run(engine.recall("What is my dog called?", "anna")).stage == "full"


def test_turns_recall_recall_an_embedder_that_fails_from_the_start_does_not_keep_the_engine_from_working(
    home: Home,
) -> None:
    embedder = HashEmbedder()
    embedder.encode = embedder.encode_query = _fail  # type: ignore[method-assign,assignment]
    engine = home.open(embedder)
    home.talk(engine)
    assert first(engine, "dog") == TALK[0]
    assert engine.metrics.counts()["background_failures"] >= 1


def _fail(*_: object) -> np.ndarray:
    raise ProviderError("the server is gone")


def test_turns_recall_recall_a_recall_leaves_out_what_is_visible(home: Home) -> None:
    engine = home.open()
    ids = home.talk(engine)
    seen = frozenset({chunk_id(ids[0])})
    assert TALK[0] not in texts(asyncio.run(engine.recall("my dog Max", "anna", exclude=seen)))
    words = frozenset({"my dog is called max"})
    assert TALK[0] not in texts(
        asyncio.run(engine.recall("my dog Max", "anna", exclude_words=words))
    )
