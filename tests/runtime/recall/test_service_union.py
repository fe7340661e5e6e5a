"""Recall over several namespaces at once: one deadline, one list, each index its own."""

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest

from slowcat_memory.engine import MemoryEngine
from slowcat_memory.runtime.recall.query import Query, RecallOptions, RetrievalOptions
from slowcat_memory.runtime.recall.service import Retrieval
from slowcat_memory.testing import HashEmbedder
from tests.support.engine_home import Home

NOW = datetime(2026, 5, 13, 10, tzinfo=UTC)
SAID = {
    "anna": ("The spare key is under the fern.", "Anna's locker code is blue."),
    "ben": ("The spare key is behind the clock.",),
    "home": ("The spare key of the shed is in the teapot.", "Bins are emptied on Monday."),
}
KEY = "where is the spare key"


@pytest.fixture
def engine(home: Home) -> MemoryEngine:
    made = home.open(HashEmbedder(512), people={"scopes": "each", "household": "home"})
    for scope, texts in SAID.items():
        for text in texts:
            made.remember(text, scope)
    made.flush(indexed=True)
    return made


def retrieval(engine: MemoryEngine, deadline_ms: float = 30_000.0) -> Retrieval:
    options = RecallOptions(deadline_ms=deadline_ms, floor=0.0, keep_share=0.0)
    return engine.wiring.retrieval_of(RetrievalOptions(recall=options))


def asked(text: str = KEY, **how: Any) -> Query:
    return Query(**{"text": text, "scope": "anna", "also": ("home",), "now": NOW, "k": 9, **how})


def texts(found: Any) -> set[str]:
    return {hit.memory.text for hit in found.hits}


def test_service_union_union_what_is_read_is_ones_own_and_the_households(engine):
    for found in (
        asyncio.run(retrieval(engine).recall(asked())),
        retrieval(engine).search(asked()),
    ):
        assert texts(found) == {*SAID["anna"], *SAID["home"]} and found.stage == "full"
        scores = [hit.score for hit in found.hits]
        assert scores == sorted(scores, reverse=True) and scores[0] > 0
        assert {hit.memory.scope for hit in found.hits[:2]} == {"anna", "home"}
        assert found.words and "embed" in found.timings


def test_service_union_union_what_is_excluded_is_excluded_everywhere(engine):
    every = retrieval(engine).search(asked()).hits
    gone = frozenset(hit.memory.id for hit in every if "key" in hit.memory.text)
    assert not any("key" in text for text in texts(retrieval(engine).search(asked(exclude=gone))))


def test_service_union_union_guests_are_read_nothing_of_theirs(engine):
    assert texts(retrieval(engine).search(asked(scope="guest", also=()))) == set()
    assert texts(asyncio.run(retrieval(engine).recall(asked(scope="guest", also=())))) == set()


def test_service_union_union_what_is_local_only_is_left_out_of_each(engine):
    for hit in retrieval(engine).search(asked()).hits:
        if "key" in hit.memory.text:
            engine.edit(hit.memory.scope, hit.memory.id, local_only=True)
    away = retrieval(engine).search(asked(k=2))
    assert texts(away) == {SAID["anna"][1], SAID["home"][1]}  # the others fill the places
    assert texts(retrieval(engine).search(asked(local=True))) == {*SAID["anna"], *SAID["home"]}
    assert engine.metrics.counts()["local_only_withheld"] == 2


def test_service_union_union_one_that_is_not_loaded_yet_does_not_hold_up_the_other(engine):
    del engine.wiring.namespaces._loaded["home"]
    assert texts(asyncio.run(retrieval(engine).recall(asked()))) == set(SAID["anna"])
    engine.flush(indexed=True)
    assert engine.wiring.namespaces.loaded("home")
