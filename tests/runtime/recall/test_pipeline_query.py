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


def test_pipeline_query_parse_names_are_taken_out_for_the_vector_but_not_for_the_words() -> None:
    mind = Mind(memory("own", "I play the cello"), memory("of", "Anna plays it", speaker="Ben"))
    text = "what does Anna play"
    assert asked_for(mind, text) == "what does they play"
    assert asked_for(Mind(*mind.memories.values(), asking=AskOptions(names=False)), text) == text
    words = mind.run(query(text)).words
    assert "anna" in words and words["anna"] > 0


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


def test_pipeline_query_parse_nobody_gains_where_nobody_is_named_or_names_do_not_count() -> None:
    plain, named = Mind(*TOLD), Mind(*TOLD, ranking=replace(PLAIN, named=0.5))
    deaf = Mind(*TOLD, ranking=replace(PLAIN, named=0.5), asking=AskOptions(names=False))
    assert named.scores("who plays the cello") == plain.scores("who plays the cello")
    named_scores, plain_scores = (m.scores("what does Ben play") for m in (named, plain))
    assert named_scores["ben"] == pytest.approx(plain_scores["ben"] + 0.5, abs=2e-4)
    assert named_scores["carl"] == pytest.approx(plain_scores["carl"], abs=2e-4)
    untold = Mind(*TOLD, asking=AskOptions(names=False)).scores("what does Ben play")
    assert deaf.scores("what does Ben play") == untold


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


def test_pipeline_query_dialogue_a_late_follow_up_takes_them_too() -> None:
    mind, asked = Mind(*WORK), query("and what about him?", dialogue=TALK)
    found = mind.pipeline.settle(mind.begin(asked))
    assert found.stage == "tail" and found.hits[0].memory.id == "moritz"
    alone = mind.begin(replace(asked, dialogue=()))
    assert mind.pipeline.settle(alone).hits == []


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


def test_pipeline_query_dialogue_the_dialogue_turns_the_vector_its_way() -> None:
    text, said = "what was the plan", DialogueTurn("the garage called", NOW)
    for dialogue in (0.0, 0.5):
        mind = Mind(*WORK, asking=AskOptions(dialogue=dialogue))
        alone, turned = cosine(mind, "car", text), cosine(mind, "car", text, said)
        assert turned > alone + 0.1 if dialogue else turned == alone


def test_pipeline_query_dialogue_the_direction_is_the_mean_of_two_turns_by_their_weight() -> None:
    said = [DialogueTurn(text, NOW) for text in ("ignored", "the garage called", "sundays again")]
    turned = Mind(*WORK, asking=AskOptions(dialogue=0.5))
    asked, garage, sundays = (
        EMBEDDER.encode_query(text) for text in ("what was the plan", *[s.text for s in said[1:]])
    )
    direction = asked + 0.5 * (garage + sundays) / 2
    direction /= np.linalg.norm(direction)
    own = EMBEDDER.encode_query(WORK[1].text)
    assert cosine(turned, "car", "what was the plan", *said) == pytest.approx(
        float(direction @ own), abs=2e-3
    )


def test_pipeline_query_dialogue_a_turn_that_a_memory_keeps_is_looked_up_and_not_embedded() -> None:
    mind, texts = Mind(*WORK), list[str]()
    mind.embedding.query = lambda text: texts.append(text) or EMBEDDER.encode_query(text)  # type: ignore[func-returns-value]
    kept, gone = (
        DialogueTurn("whatever it says", NOW, "car"),
        DialogueTurn("whatever", NOW, "unknown"),
    )
    alone = cosine(mind, "car", "what was the plan")
    assert cosine(mind, "car", "what was the plan", kept, gone) > alone + 0.3
    assert texts == ["what was the plan"] * 2


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


def test_pipeline_query_dialogue_a_dialogue_of_the_opposite_leaves_a_vector() -> None:
    mind = Mind(*WORK, asking=AskOptions(dialogue=1.0))
    mind.embedding.query = lambda text: EMBEDDER.encode_query("car") * (-1 if text == "no" else 1)
    found = mind.run(query("what about it", dialogue=(DialogueTurn("no", NOW),)))
    assert found.stage == "full" and all(np.isfinite(hit.score) for hit in found.hits)
