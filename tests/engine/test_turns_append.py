import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from msgspec.structs import replace

from slowcat_memory.errors import ConfigError
from slowcat_memory.records import Cursor, SessionEdge
from slowcat_memory.testing import HashEmbedder
from tests.support.engine_home import TALK, Gate, Home, busy, first, stalled, texts


def test_turns_append_append_what_is_said_is_found_by_whatever_is_asked_after_it(
    home: Home,
) -> None:
    engine = home.open()
    engine.append(home.turn("My dog is called Max"))
    found = engine.search("What is my dog called?", "anna")
    assert texts(found) == ["My dog is called Max"] and found.stage == "lexical"


def test_turns_append_append_it_is_found_after_a_restart_with_and_without_an_index(
    home: Home,
) -> None:
    engine = home.open()
    home.talk(engine)
    engine.close()
    engine = home.open()
    assert first(engine, "dog") == TALK[0]
    engine.upkeep.seal("anna")
    engine.close()
    engine = home.open()
    assert engine.upkeep.stats()["index"]["anna"]["sealed"] == 5
    assert first(engine, "violin") == TALK[3]


def test_turns_append_a_time_without_a_zone_and_no_event_are_refused(home: Home) -> None:
    engine = home.open()
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


def test_turns_append_append_events_in_one_transaction(home: Home) -> None:
    engine = home.open()
    events = [
        SessionEdge(session="s", scope="anna", kind="start", at=home.clock()),
        home.turn("My dog is called Max"),
        replace(home.turn("Nice name", role="assistant"), reply_to=-1),
    ]
    assert engine.append(*events, cursor=Cursor(name="import", position=3)).id == 3
    assert first(engine, "name") == "Nice name"
    engine.store.flush()
    with engine.store.snapshot() as snapshot:
        assert snapshot.cursor("import").position == 3  # type: ignore[union-attr]
        assert snapshot.turn(3).reply_to == 2  # type: ignore[union-attr]


def test_turns_append_what_says_nothing_is_found_by_a_search_and_not_offered(home: Home) -> None:
    engine = home.open()
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


def test_turns_append_append_what_is_not_saved_yet_is_recalled_all_the_same(home: Home) -> None:
    engine = home.open()
    with stalled(engine):
        ack = engine.append(home.turn("My dog is called Max"))
        found = asyncio.run(engine.recall("What is my dog called?", "anna"))
        assert texts(found) == ["My dog is called Max"]
        assert not ack.done() and engine.upkeep.stats()["unsaved"] == 1
    ack.wait(30)
    assert engine.upkeep.stats()["unsaved"] == 0


def test_turns_append_appending_never_waits(home: Home) -> None:
    """On the event loop, with the disk, the worker and the embedder all stopped."""
    embedder = HashEmbedder()
    engine, gate = home.open(embedder), Gate(embedder.encode)
    embedder.encode = gate  # type: ignore[method-assign]

    async def talk() -> list[Any]:
        async with asyncio.timeout(30):
            return [engine.append(home.turn(f"number {n}")) for n in range(500)]

    with stalled(engine), busy(engine):
        acks = asyncio.run(talk())
        assert not any(ack.done() for ack in acks)
    gate.open.set()
    engine.flush(indexed=True)
    assert len(engine.wiring.namespaces.get("anna").searcher) == 500
    assert first(engine, "number 123") == "number 123"


def test_turns_append_append_several_threads_may_talk_at_once(home: Home) -> None:
    engine = home.open()
    with ThreadPoolExecutor(4) as pool:
        list(
            pool.map(
                lambda n: engine.append(home.turn(f"thing{n} was said", f"s{n % 3}")), range(200)
            )
        )
    engine.flush(indexed=True)
    assert len(engine.wiring.namespaces.get("anna").searcher) == 200
    assert first(engine, "thing77") == "thing77 was said"


@pytest.mark.parametrize("scope", ["", "Anna", "a/b", "../x", "a" * 65, "a b", "ä"])
def test_turns_append_append_what_cannot_name_a_scope_is_refused_at_every_door(
    home: Home, scope: str
) -> None:
    engine = home.open()
    for door in (
        lambda: engine.prepare(scope),
        lambda: engine.append(home.turn("x", scope=scope)),
        lambda: engine.append(home.turn("x", scope=scope), home.turn("y", scope=scope)),
        lambda: asyncio.run(engine.recall("x", scope)),
        lambda: engine.search("x", scope),
        lambda: engine.remember("x", scope),
        lambda: engine.upkeep.tidy(scope),
    ):
        with pytest.raises(ConfigError, match="cannot name a scope"):
            door()
    engine.flush(indexed=True)
    assert engine.upkeep.stats()["counts"]["log"] == 0


def test_turns_append_append_scopes_do_not_see_each_other(home: Home) -> None:
    engine = home.open()
    engine.append(home.turn("My dog is called Max"))
    engine.append(home.turn("My dog is called Moritz", scope="berta"))
    assert texts(engine.search("dog", "anna")) == ["My dog is called Max"]
    assert texts(engine.search("dog", "berta")) == ["My dog is called Moritz"]
    assert texts(engine.search("dog", "nobody")) == []
