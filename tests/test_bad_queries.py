"""Queries and namespaces that nobody plans for, through the engine, with vectors and without."""

import asyncio
from datetime import timedelta

import pytest

from slowcat_memory import MemoryEngine
from slowcat_memory.runtime.recall.query import Recollection
from slowcat_memory.testing import HashEmbedder
from tests.support.engine_home import Home
from tests.support.rows import each_row, listed
from tests.support.said import turn_at

SCRIPTS = listed("scripts")
SAID = {script: text for script, text, *_ in SCRIPTS}


def said(engine: MemoryEngine, *texts: str) -> None:
    at = engine.clock() - timedelta(days=1)
    for place, text in enumerate(texts):
        engine.append(turn_at(text, at + timedelta(minutes=place), scope="user"))
    engine.flush(indexed=True)


@pytest.fixture(params=["vectors", "words"])
def empty(request: pytest.FixtureRequest, home: Home) -> MemoryEngine:
    embedder = HashEmbedder(2048) if request.param == "vectors" else None
    engine = home.open(embedder, recall={"deadline_ms": 5000.0})
    engine.prepare("user")
    engine.flush(indexed=True)
    return engine


@pytest.fixture
def full(empty: MemoryEngine) -> MemoryEngine:
    said(empty, *SAID.values())
    return empty


def both(engine: MemoryEngine, text: str) -> tuple[Recollection, Recollection]:
    """Search without a threshold, and recall as a turn does."""
    return engine.search(text, "user"), asyncio.run(engine.recall(text, "user"))


def words(count: int) -> str:
    return " ".join(
        ("where", "dog", "lake", "zebra", "unheard")[n % 5] + str(n % 7) for n in range(count)
    )


LONG = [words(10_000), "a" * 100_000, "猫" * 20_000, "ﷺ" * 20_000]  # the last unfolds
ODD = [*LONG, *(query for _, query in listed("odd_queries.jsonl"))]


@each_row("text", ODD)
def test_bad_queries_any_query_is_answered(full, text):
    for found in both(full, text):
        nothing_said = not any(character.isalnum() for character in text)
        assert found.stage in ("full", "lexical") or (found.stage == "skipped" and nothing_said)
        assert len({hit.memory.id for hit in found.hits}) == len(found.hits) <= 10
        full.blocks.pack(found, full.clock())


@each_row("text", ["", "😀", "what is it", "lake", words(10_000)])
def test_bad_queries_any_query_of_an_empty_memory_finds_nothing(empty, text):
    for found in both(empty, text):
        assert found.hits == [] and empty.blocks.pack(found, empty.clock()).text == ""


def test_bad_queries_the_only_memory_is_found(empty):
    said(empty, SAID["lake"])
    for found in both(empty, "who swam in the lake"):
        assert [hit.memory.text for hit in found.hits] == [SAID["lake"]]
    for found in both(empty, "zebra"):
        assert len(found.hits) <= 1
    assert asyncio.run(empty.recall("zebra", "user")).hits == []


@each_row(("said", "query"), [(text, query) for _, text, *own in SCRIPTS for query in own])
def test_bad_queries_other_scripts_are_found_by_their_own_words(full, said, query):
    found = full.search(query, "user")
    # Vectors of words that the embedder does not know are noise, and may outweigh one other.
    best = 1 if found.stage == "lexical" else 2
    assert said in [hit.memory.text for hit in found.hits[:best]]


def test_bad_queries_a_hundred_equal_memories_are_one_hit(empty):
    said(empty, *["My dog is called Max."] * 100, SAID["lake"])
    for found in both(empty, "what is my dog called"):
        texts = [hit.memory.text for hit in found.hits]
        assert texts[0] == "My dog is called Max." and texts.count(texts[0]) == 1
    assert SAID["lake"] in [hit.memory.text for hit in empty.search("the lake", "user").hits]
