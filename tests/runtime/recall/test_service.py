"""Recall over a store: whatever was said, sealed or not, loaded anew or not, answers alike."""

import asyncio
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from slowcat_memory.core.ranking.score import RankOptions
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.errors import ConfigError
from slowcat_memory.runtime.recall.query import Query, RecallOptions, RetrievalOptions
from slowcat_memory.runtime.recall.service import Retrieval
from slowcat_memory.testing import HashEmbedder
from tests.support.engine_home import Home
from tests.support.said import turn_at

NOW = datetime(2026, 5, 13, 10, tzinfo=UTC)  # a Wednesday
TALK = (  # days ago, who, what
    (30, "Anna", "We ate soup at the market"),
    (30, "Ben", "We ate soup at the castle"),
    (6, "Anna", "We ate soup at the harbour"),
    (6, "Carl", "We ate soup at the lake"),
    (1, "Anna", "My brother Moritz brews beer"),
    (1, "Carl", "The race was on 4 October 2025"),
    (1, "Anna", "The race was on 8 November 2025"),
)
QUESTIONS = (
    "where did we eat soup",
    "where did Carl eat soup",
    "what did Ben say about soup",
    "where did we eat soup last week",
    "where did we eat soup last month",
    "which race was in October 2025",
    "which race was in November 2025",
    "who brews beer",
)
LOUD = RetrievalOptions(
    recall=RecallOptions(deadline_ms=30_000.0, floor=0.0, keep_share=0.0),
    rank=RankOptions(importance=0, recency=0, pinned=0, named=0.5, when=0.3),
)
LATER = timedelta(minutes=1)


def tell(engine: MemoryEngine) -> None:
    for n, (days, who, text) in enumerate(TALK):
        at = NOW - timedelta(days=days) + n * LATER
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
    retrieval = engine.wiring.retrieval_of(LOUD)
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
    first = {text: said(retrieval, text)[0] for text in QUESTIONS}
    assert first["where did Carl eat soup"] == "We ate soup at the lake"
    assert first["what did Ben say about soup"] == "We ate soup at the castle"
    assert first["where did we eat soup last week"] in (TALK[2][2], TALK[3][2])
    assert first["where did we eat soup last month"] in (TALK[0][2], TALK[1][2])
    assert first["which race was in October 2025"] == TALK[5][2]
    assert first["which race was in November 2025"] == TALK[6][2]


def test_retrieval_whom_and_when_count_sealed_and_loaded_anew(home, embedder, engine):
    fresh = answers(engine)
    check(engine.wiring.retrieval_of(LOUD))
    engine.upkeep.seal("anna")
    check(engine.wiring.retrieval_of(LOUD))
    alike(fresh, answers(engine))
    engine.close()
    again = home.open(embedder)
    check(again.wiring.retrieval_of(LOUD))
    alike(fresh, answers(again))


def test_retrieval_what_is_no_scope_is_refused(engine):
    with pytest.raises(ConfigError):
        asyncio.run(engine.wiring.retrieval_of(LOUD).recall(asked("beer", scope="no/scope at all")))
