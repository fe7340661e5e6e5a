"""Recall over a store: whatever was said, sealed or not, loaded anew or not, answers alike."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from slowcat_memory.core.ranking.score import RankOptions
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.errors import ConfigError
from slowcat_memory.runtime.recall.query import Query, RecallOptions, RetrievalOptions
from slowcat_memory.runtime.recall.service import Retrieval
from slowcat_memory.testing import HashEmbedder
from tests.support.engine_home import Home
from tests.support.rows import listed
from tests.support.said import turn_at

NOW = datetime(2026, 5, 13, 10, tzinfo=UTC)  # a Wednesday
TALK = listed("recall_service", "talk")  # days ago, who, what
# A question, and which memories may be the first answer, where that is certain.
QUESTIONS = {question: firsts for question, *firsts in listed("recall_service", "asked")}
LOUD = RetrievalOptions(
    recall=RecallOptions(deadline_ms=30_000.0, floor=0.0, keep_share=0.0),
    rank=RankOptions(importance=0, recency=0, pinned=0, named=0.5, when=0.3),
)
LATER = timedelta(minutes=1)


def tell(engine: MemoryEngine) -> None:
    for n, (days, who, text) in enumerate(TALK):
        at = NOW - timedelta(days=int(days)) + n * LATER
        engine.append(turn_at(text, at, session=f"{days}/{who}", speaker=who))
    engine.flush(indexed=True)
    engine.store.flush()  # tokens are read from there


@pytest.fixture(params=["words", "vectors", "tokens"])
def embedder(request: pytest.FixtureRequest) -> HashEmbedder | None:
    made = {"vectors": HashEmbedder(512), "tokens": HashEmbedder(512, token_dim=64)}
    return made.get(request.param)


@pytest.fixture
def engine(home: Home, embedder: HashEmbedder | None) -> MemoryEngine:
    home.clock.now = NOW
    made = home.open(embedder)
    tell(made)
    return made


def asked(text: str, **how: object) -> Query:
    facts = {"text": text, "scope": "anna", "now": NOW, "k": 4, **how}
    return Query(**facts)  # type: ignore[arg-type]


def said(retrieval: Retrieval, text: str, **how: object) -> list[str]:
    return [hit.memory.text for hit in retrieval.search(asked(text, **how)).hits]


def answers(engine: MemoryEngine) -> dict[str, list[tuple[str, float, float]]]:
    """Everything found, with its score; among equals in the order of their texts."""
    retrieval = replace(engine.retrieval, options=LOUD)
    return {
        text: sorted(
            (hit.memory.text, hit.score, hit.probability)
            for hit in retrieval.search(asked(text, k=9)).hits
        )
        for text in QUESTIONS
    }


def alike(one: dict, other: dict) -> None:
    for text, hits in one.items():
        assert [hit[0] for hit in hits] == [hit[0] for hit in other[text]], text
        numbers = [np.array([hit[1:] for hit in told]) for told in (hits, other[text])]
        assert np.allclose(*numbers, atol=5e-3), text  # fp16 of sealed vectors


def check(retrieval: Retrieval) -> None:
    for question, firsts in QUESTIONS.items():
        assert not firsts or said(retrieval, question)[0] in firsts


def test_retrieval_whom_and_when_count_sealed_and_loaded_anew(home, embedder, engine):
    fresh = answers(engine)
    check(replace(engine.retrieval, options=LOUD))
    engine.upkeep.seal("anna")
    check(replace(engine.retrieval, options=LOUD))
    alike(fresh, answers(engine))
    engine.close()
    again = home.open(embedder)
    check(replace(again.retrieval, options=LOUD))
    alike(fresh, answers(again))


def test_retrieval_what_is_no_scope_is_refused(engine):
    with pytest.raises(ConfigError):
        asyncio.run(engine.retrieval.recall(asked("beer", scope="no/scope at all")))


# ------------------------------------------------------------------- several namespaces at once: one deadline, one list, each index its own

SAID = {
    "anna": ("The spare key is under the fern.", "Anna's locker code is blue."),
    "ben": ("The spare key is behind the clock.",),
    "home": ("The spare key of the shed is in the teapot.", "Bins are emptied on Monday."),
}
KEY = "where is the spare key"


@pytest.fixture
def household(home: Home) -> MemoryEngine:
    made = home.open(HashEmbedder(512), people={"scopes": "each", "household": "home"})
    for scope, texts in SAID.items():
        for text in texts:
            made.remember(text, scope)
    made.flush(indexed=True)
    return made


def retrieval(household: MemoryEngine, deadline_ms: float = 30_000.0) -> Retrieval:
    options = RecallOptions(deadline_ms=deadline_ms, floor=0.0, keep_share=0.0)
    return replace(household.retrieval, options=RetrievalOptions(recall=options))


def of_both(text: str = KEY, **how: Any) -> Query:
    return Query(**{"text": text, "scope": "anna", "also": ("home",), "now": NOW, "k": 9, **how})


def texts(found: Any) -> set[str]:
    return {hit.memory.text for hit in found.hits}


def test_service_union_union_what_is_read_is_ones_own_and_the_households(household):
    for found in (
        asyncio.run(retrieval(household).recall(of_both())),
        retrieval(household).search(of_both()),
    ):
        assert texts(found) == {*SAID["anna"], *SAID["home"]} and found.stage == "full"
        scores = [hit.score for hit in found.hits]
        assert scores == sorted(scores, reverse=True) and scores[0] > 0
        assert {hit.memory.scope for hit in found.hits[:2]} == {"anna", "home"}
        assert found.words and "embed" in found.timings


def test_service_union_union_what_is_excluded_is_excluded_everywhere(household):
    every = retrieval(household).search(of_both()).hits
    gone = frozenset(hit.memory.id for hit in every if "key" in hit.memory.text)
    assert not any(
        "key" in text for text in texts(retrieval(household).search(of_both(exclude=gone)))
    )


def test_service_union_union_what_is_local_only_is_left_out_of_each(household):
    for hit in retrieval(household).search(of_both()).hits:
        if "key" in hit.memory.text:
            household.edit(hit.memory.scope, hit.memory.id, local_only=True)
    away = retrieval(household).search(of_both(k=2))
    assert texts(away) == {SAID["anna"][1], SAID["home"][1]}  # the others fill the places
    every = texts(retrieval(household).search(of_both(local=True)))
    assert every == {*SAID["anna"], *SAID["home"]}


def test_service_union_union_one_that_is_not_loaded_yet_does_not_hold_up_the_other(household):
    del household.namespaces._loaded["home"]
    assert texts(asyncio.run(retrieval(household).recall(of_both()))) == set(SAID["anna"])
    household.flush(indexed=True)
    assert household.namespaces.loaded("home")
