"""An engine's opening and end, and the turns that it logs and recalls."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from unittest.mock import Mock

import pytest
from msgspec.structs import replace

from slowcat_memory.core.memory import chunk_id
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.engine.engine import INDEX_AFTER_S
from slowcat_memory.errors import ConfigError, ProviderError, StoreBusyError, StoreError
from slowcat_memory.runtime.recall.query import RecallOptions
from slowcat_memory.testing import HashEmbedder, memory_config
from tests.support.engine_home import TALK, Gate, busy, edge, first, stalled, texts
from tests.support.memories import Look
from tests.support.other_process import OtherProcess
from tests.support.said import turn_at


def test_engine_a_store_is_opened_once_in_a_process_and_again_when_it_is_closed(home):
    config = memory_config(home.path)
    engine = MemoryEngine(config)
    with pytest.raises(StoreBusyError, match="already open in this process"):
        MemoryEngine(config)
    engine.append(home.turn("My dog is called Max")).wait(30)
    engine.close()
    with pytest.raises(StoreError):
        engine.append(home.turn("too late"))
    again = MemoryEngine(config)
    assert first(again, "dog") == TALK[0]
    again.close()


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
    assert len(Look(home.open(readonly=True)).vectors("hashed-words/64", "anna")) == 5


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
        reader = home.again(readonly=True)
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


def test_search_stats_are_plain_values(home):
    engine = home.open(HashEmbedder())
    home.talk(engine)
    engine.store.flush()
    asyncio.run(engine.recall("dog", "anna"))
    told = engine.upkeep.stats()
    assert told["counts"]["log"] == 5 and told["scopes"] == ["anna"]
    assert told["index"]["anna"] == {"memories": 5, "sealed": 0, "tail": 5, "vectors": 5}
    assert told["embedding"]["source"] == "hashed-words" and told["unsaved"] == 0
    assert told["disk_bytes"] > 0 and told["counters"]["recall_full"] == 1
    assert told["latency_ms"]["store_commit"]["n"] > 0


# ------------------------------------------------------------------- turns that are logged and recalled


def test_turns_append_a_time_without_a_zone_and_no_event_are_refused(home, engine):
    turn = home.turn("My dog is called Max")
    naive = replace(turn, at=turn.at.replace(tzinfo=None))
    with pytest.raises(ValueError, match="no event"):
        engine.append()
    for refused in (
        lambda: engine.append(naive),
        lambda: engine.append(turn, naive),
        lambda: engine.remember("Anna likes tea", "anna", at=naive.at),
    ):
        with pytest.raises(ConfigError, match="no time zone"):
            refused()
    assert texts(engine.search("dog", "anna")) == []


def test_turns_append_what_says_nothing_is_found_by_a_search_and_not_offered(home, engine):
    for text, role in (
        ("My dog is called Max", "user"),
        ("Nice name", "assistant"),
        ("What did the vet say about my dog?", "user"),
        ("okay thanks", "user"),
    ):
        engine.append(home.turn(text, role=role))
    for words in ("nice name", "okay thanks", "vet"):
        assert words in first(engine, words).lower()
        offered = texts(asyncio.run(engine.recall(f"{words} dog", "anna")))
        assert not any(words in text.lower() for text in offered)
    question = "What did the vet say about my dog?"
    assert question not in texts(engine.search(question, "anna")), "it is no answer to itself"
    assert question in texts(engine.search(question, "anna", talk=True))


def test_turns_append_append_what_is_not_saved_yet_is_recalled_all_the_same(home, engine):
    with stalled(engine.store):
        ack = engine.append(home.turn("My dog is called Max"))
        found = asyncio.run(engine.recall("What is my dog called?", "anna"))
        assert texts(found) == ["My dog is called Max"]
        assert not ack.done() and engine.upkeep.stats()["unsaved"] == 1
    ack.wait(30)
    assert engine.upkeep.stats()["unsaved"] == 0


async def test_turns_append_appending_never_waits(home):
    """On the event loop, with the disk, the worker and the embedder all stopped."""
    embedder = HashEmbedder()
    engine, gate = home.open(embedder), Gate(embedder.encode)
    embedder.encode = gate  # type: ignore[method-assign]
    with stalled(engine.store), busy(engine):
        async with asyncio.timeout(30):
            acks = [engine.append(home.turn(f"number {n}")) for n in range(500)]
        assert not any(ack.done() for ack in acks)
    gate.open.set()
    engine.flush(indexed=True)
    assert len(engine.namespaces.get("anna").searcher) == 500
    assert first(engine, "number 123") == "number 123"


def test_turns_append_append_several_threads_may_talk_at_once(home, engine):
    with ThreadPoolExecutor(4) as pool:
        said = (home.turn(f"thing{n} was said", f"s{n % 3}") for n in range(200))
        list(pool.map(engine.append, said))
    engine.flush(indexed=True)
    assert len(engine.namespaces.get("anna").searcher) == 200
    assert first(engine, "thing77") == "thing77 was said"


@pytest.mark.parametrize("scope", ["", "Anna", "a/b", "../x", "a" * 65, "a b", "ä"])
def test_turns_append_append_what_cannot_name_a_scope_is_refused_at_every_door(home, engine, scope):
    for door in (
        lambda: engine.prepare(scope),
        lambda: engine.append(home.turn("x", scope=scope)),
        lambda: engine.append(home.turn("x", scope=scope), home.turn("y", scope=scope)),
        lambda: asyncio.run(engine.recall("x", scope)),
        lambda: engine.search("x", scope),
        lambda: engine.remember("x", scope),
        lambda: engine.upkeep.tidy(scope),
    ):
        with pytest.raises(ConfigError, match="cannot name a memory"):
            door()
    engine.flush(indexed=True)
    assert engine.upkeep.stats()["counts"]["log"] == 0


async def test_turns_a_turn_is_indexed_when_its_own_recall_is_over_and_not_beside_it(
    home, monkeypatch
):
    engine = home.open(HashEmbedder(64))
    engine.flush(indexed=True)  # what opening left to do in the background
    indexer, namespace = engine.indexer, engine.namespaces.get("anna")
    later = []
    loop = asyncio.get_running_loop()
    monkeypatch.setattr(loop, "call_later", lambda *timer: later.append(timer))
    turn = turn_at("I have a boat", engine.clock())
    ids = [chunk_id(engine.append(turn).id) for _ in "ab"]
    await asyncio.to_thread(engine._warm_up, "anna")  # as after an opening
    indexer.talk.submit(lambda: None).result(30)
    assert namespace.searcher.tail_count == 0
    (delay, call, *arguments), _ = later
    assert delay == INDEX_AFTER_S
    call(*arguments)
    indexer.talk.submit(lambda: None).result(30)
    assert [id_ in namespace.searcher for id_ in ids] == [True, False]
    waits = RecallOptions()
    assert INDEX_AFTER_S * 1e3 > waits.deadline_ms + waits.settle_ms


async def test_turns_recall_recall_a_cancelled_recall_leaves_the_engine_usable(home):
    embedder = HashEmbedder(256)
    engine, gate = home.open(embedder, recall={"deadline_ms": 6e4}), Gate(embedder.encode_query)
    home.talk(engine)
    embedder.encode_query = gate  # type: ignore[method-assign]
    asking = [asyncio.create_task(engine.recall(f"dog {n}", "anna")) for n in range(5)]
    await asyncio.to_thread(gate.reached.wait, 10)
    for task in asking:
        task.cancel()
    outcomes = await asyncio.gather(*asking, return_exceptions=True)
    assert all(isinstance(outcome, asyncio.CancelledError) for outcome in outcomes)
    gate.open.set()
    found = await engine.recall("What is my dog called?", "anna")
    assert found.stage == "full" and texts(found)[0] == TALK[0]


def test_turns_recall_recall_a_failing_embedder_costs_no_turn_its_words(home):
    embedder = HashEmbedder(256)
    engine, failing = home.open(embedder), Mock(side_effect=ProviderError("out of memory"))
    home.talk(engine)
    embedder.encode_query = failing  # type: ignore[method-assign]
    found = asyncio.run(engine.recall("What is my dog called?", "anna"))
    assert found.stage == "lexical" and texts(found)[0] == TALK[0]
    assert engine.metrics.counts()["embedding_failures"] == 1


def test_turns_recall_recall_an_embedder_that_fails_from_the_start_does_not_keep_the_engine_from_working(
    home,
):
    embedder = HashEmbedder()
    embedder.encode = embedder.encode_query = Mock(side_effect=ProviderError("gone"))  # type: ignore[method-assign]
    engine = home.open(embedder)
    home.talk(engine)
    assert first(engine, "dog") == TALK[0]
    assert engine.metrics.counts()["background_failures"] >= 1
