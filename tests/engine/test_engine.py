import asyncio
from datetime import timedelta

import pytest
from msgspec.structs import replace

from slowcat_memory.core.memory import chunk_id
from slowcat_memory.engine import MemoryEngine, acquire
from slowcat_memory.errors import ConfigError, StoreBusyError, StoreError
from slowcat_memory.records import Forget
from slowcat_memory.testing import HashEmbedder, memory_config
from tests.support.engine_home import TALK, Gate, edge, first, why_of
from tests.support.memories import Look
from tests.support.other_process import OtherProcess


def test_engine_processors_share_one_engine(home):
    config = memory_config(home.path)
    engine = acquire(config)
    assert acquire(memory_config(home.path, recall={"floor": 0.1})) is engine
    engine.close()
    engine.append(home.turn("My dog is called Max")).wait(30)
    engine.close()
    with pytest.raises(StoreError):
        engine.append(home.turn("too late"))
    again = acquire(config)
    assert again is not engine and first(again, "dog") == TALK[0]
    again.close()


def test_engine_an_engine_that_nobody_shares_may_be_released_and_closed_twice(home, engine):
    engine.close()
    engine.close()
    again = home.open()  # the store is free
    assert again is not engine
    again.close()


def test_engine_a_failed_opening_is_not_shared(home):
    holder = home.open()
    with pytest.raises(StoreBusyError):
        acquire(memory_config(home.path))
    holder.close()
    acquire(memory_config(home.path)).close()


def test_engine_closing_does_not_wait_for_a_stuck_embedder(home, monkeypatch):
    monkeypatch.setattr("slowcat_memory.runtime.namespaces.indexer.CLOSE_S", 0.05)
    embedder = HashEmbedder()
    engine, gate = home.open(embedder), Gate(embedder.encode)
    engine.flush(indexed=True)
    embedder.encode = gate  # type: ignore[method-assign,assignment]
    for text in TALK:
        engine.append(home.turn(text))
    assert gate.reached.wait(30)
    engine.close()
    gate.open.set()
    engine = home.open()
    assert first(engine, "dog") == TALK[0]


def test_engine_closing_embeds_the_last_turns(home):
    engine = home.open(HashEmbedder())
    for text in TALK:
        engine.append(home.turn(text))
    engine.close()
    with home.open(readonly=True).store.snapshot() as snapshot:
        assert len(list(snapshot.vectors("hashed-words/64", "anna"))) == 5


def test_engine_sessions_that_a_crash_left_open_are_closed_at_their_last_word(home, engine):
    engine.append(edge(home, "done", "start"))
    home.talk(engine, session="done")
    engine.append(edge(home, "done", "end"))
    home.talk(engine, session="cut off")
    last = home.clock()
    engine.close()  # without an end, as a crash leaves it
    home.clock.advance(3600)
    engine = home.open()
    engine.store.flush()
    sessions = {session.id: session for session in Look(engine.store).sessions("anna")}
    assert (sessions["cut off"].ended, sessions["cut off"].reason) == (last, "crash")
    assert sessions["done"].reason == "" and sessions["done"].ended is not None


def test_engine_reading_works_beside_a_process_that_writes(home):
    with OtherProcess(home.path) as writer:
        writer.call("say", TALK[0])
        reader = home.open(readonly=True)
        assert first(reader, "dog") == TALK[0]
        with pytest.raises(StoreError, match="reading only"):
            reader.append(home.turn("x"))
        writer.call("say", "My cat is called Moritz")
        writer.call("seal")
        assert first(reader, "dog") == TALK[0]
        reader.close()
        reader = home.open(readonly=True)
        assert reader.upkeep.stats()["index"]["anna"]["sealed"] == 2
        assert first(reader, "cat") == "My cat is called Moritz"


@pytest.mark.parametrize(("zone", "day"), [("Pacific/Auckland", "13 May"), ("UTC", "12 May")])
def test_engine_dates_are_those_of_the_users_zone(home, zone, day):
    engine = home.open(memory={"time_zone": zone})
    home.talk(engine, "My dog is called Max")
    later = home.clock() + timedelta(days=9)
    assert f"({day})" in engine.blocks.pack(engine.search("dog", "anna"), later).text


def test_engine_a_zone_that_does_not_exist_is_refused(home):
    for zone in ("Mars/Olympus", "../etc/passwd"):
        with pytest.raises(ConfigError, match="memory.time_zone: there is no"):
            home.open(memory={"time_zone": zone})


def test_engine_an_unknown_stemmer_is_refused(home):
    with pytest.raises((ConfigError, ValueError), match="klingon"):
        MemoryEngine(memory_config(home.path, index={"stemmer": "klingon"}))


def test_search_why_tells_what_was_injected(home, engine):
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


def test_search_stats_are_plain_values(home):
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
