"""What a query names, when it is about, and what it follows up, seen from a recall."""

from collections.abc import Callable
from datetime import timedelta

import numpy as np
import pytest
from msgspec.structs import replace

from slowcat_memory.core.query.understand import AskOptions, DialogueTurn
from tests.support.recall_without_store import EMBEDDER, NOW, PLAIN, Mind, memory, query

# ------------------------------------------------------------------- whom and when it is about


def asked_for(mind: Mind, text: str, **how: object) -> str:
    """What the model is given of a query."""
    texts: list[str] = []
    mind.embedding.query = lambda text: texts.append(text) or EMBEDDER.encode_query(text)  # type: ignore[func-returns-value]
    mind.run(query(text, **how))
    return texts[0]


TOLD = (
    memory("ben", "I play the cello in Anna's band", speaker="Ben"),
    memory("anna", "I play the cello", speaker="Anna"),
    memory("carl", "I play the cello in a band", speaker="Carl"),
)


@pytest.mark.parametrize("name", ["anna", "ben", "carl"])
def test_pipeline_query_parse_the_words_of_whom_the_query_names_come_first(name: str) -> None:
    mind = Mind(*TOLD, ranking=replace(PLAIN, named=0.5))
    assert mind.ids(f"what does {name.title()} play")[0] == name
    assert mind.ids(f"what does {name} play")[0] == name


DAYS = (
    memory("before", "we ate soup at the market", 30),
    memory("then", "we ate soup at the harbour", 6),
    memory("late", "we ate soup at the station", 1),
)


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("where did we eat soup last week", "then"),
        ("where did we eat soup last month", "before"),
        ("where did we eat soup yesterday", "late"),
    ],
)
def test_pipeline_query_parse_what_was_said_at_the_time_that_is_asked_about_comes_first(
    text: str, first: str
) -> None:
    ranking = replace(PLAIN, when=0.3)
    for said in (DAYS, DAYS[::-1]):
        assert Mind(*said, ranking=ranking).ids(text)[0] == first
    off = Mind(*DAYS, ranking=ranking, asking=AskOptions(times=False)).scores(text)
    assert off == Mind(*DAYS, asking=AskOptions(times=False)).scores(text)
    assert len(set(off.values())) == 1


# ------------------------------------------------------------------- what was just talked about

WORK = (
    memory("moritz", "My brother Moritz works at the brewery"),
    memory("car", "The car is at the garage"),
    memory("swim", "I swim on Sundays"),
)
TALK = (
    DialogueTurn("Where does my brother Moritz work?", NOW - timedelta(seconds=20)),
    DialogueTurn("He brews beer.", NOW - timedelta(seconds=10)),
)


@pytest.mark.parametrize("embed", [None, EMBEDDER.encode_query])
def test_pipeline_query_dialogue_a_follow_up_takes_the_words_that_it_leans_on(
    embed: Callable | None,
) -> None:
    mind = Mind(*WORK, embed=embed)
    assert mind.ids("and what about him?", dialogue=TALK)[0] == "moritz"
    words = mind.run(query("and what about him?", dialogue=TALK)).words
    assert "moritz" in words
    alone = mind.run(query("and what about him?"))
    assert "moritz" not in alone.words
    if embed:
        assert "Moritz" in asked_for(mind, "and what about him?", dialogue=TALK)


def cosine(mind: Mind, memory_id: str, text: str, *dialogue: DialogueTurn) -> float:
    """Of a memory and the vector that was searched with, which the dialogue may have turned."""
    searched: list[np.ndarray] = []
    candidates = mind.searcher.candidates

    def watched(lexical, vector=None, *rest, **how):  # type: ignore[no-untyped-def]
        searched.append(vector)
        return candidates(lexical, vector, *rest, **how)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mind.searcher, "candidates", watched)
        mind.run(query(text, dialogue=dialogue, k=9))
    own = mind.searcher.vector(memory_id)
    assert own is not None
    return round(float(searched[-1] @ own), 4)


def test_pipeline_query_dialogue_a_model_that_fails_on_the_dialogue_costs_its_direction_only() -> (
    None
):
    mind = Mind(*WORK)
    plain = cosine(mind, "car", "what was the plan")
    asked: list[str] = []

    def once(text: str) -> np.ndarray | None:
        asked.append(text)
        return EMBEDDER.encode_query(text) if len(asked) == 1 else None

    mind.embedding.query = once
    assert cosine(mind, "car", "what was the plan", DialogueTurn("the garage called", NOW)) == plain
    assert len(asked) == 2
