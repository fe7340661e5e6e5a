import asyncio

from msgspec.structs import replace

from slowcat_memory.core.memory import chunk_id
from slowcat_memory.records import Forget
from slowcat_memory.testing import HashEmbedder
from tests.support.engine_home import TALK, Home, why_of


def test_search_why_tells_what_was_injected(home: Home) -> None:
    engine = home.open()
    ids = home.talk(engine)
    turn = home.turn("What is my dog called?")
    found = engine.search(turn.text, "anna")
    packed = engine.blocks.pack(found, engine.clock())
    assert "Max" in packed.text and packed.tokens <= 256
    ack = engine.append(turn)
    engine.note_recall(replace(turn, id=ack.id), found, packed)
    engine.store.flush()
    entry, memories = why_of(engine, ack.id)  # type: ignore[misc]
    assert [offer.memory for offer in entry.offers] == [hit.memory.id for hit in packed.hits]
    assert entry.stage == "lexical" and entry.tokens == packed.tokens
    assert memories[chunk_id(ids[0])].text == TALK[0]
    assert why_of(engine, ids[0]) is None
    engine.forget(Forget(turns=(ids[0],)))
    entry, memories = why_of(engine, ack.id)  # type: ignore[misc]
    assert chunk_id(ids[0]) not in memories
    assert chunk_id(ids[0]) not in {offer.memory for offer in entry.offers}


def test_search_stats_are_plain_values(home: Home) -> None:
    engine = home.open(HashEmbedder())
    home.talk(engine)
    engine.store.flush()
    asyncio.run(engine.recall("dog", "anna"))
    told = engine.upkeep.stats()
    assert told["counts"]["log"] == 5 and told["scopes"] == ["anna"]
    assert told["index"]["anna"] == {"memories": 5, "sealed": 0, "tail": 5, "vectors": 5}
    assert told["embedding"] == "hashed-words" and told["unsaved"] == 0
    assert told["disk_bytes"] > 0 and told["counters"]["recall_full"] == 1
    assert told["latency_ms"]["store_commit"]["n"] > 0
