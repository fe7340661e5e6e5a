"""The steps of a recall over a few memories, and what is chosen of the candidates."""

import threading
from datetime import timedelta

import numpy as np
import pytest
from msgspec.structs import replace

from slowcat_memory.core.query.understand import AskOptions, DialogueTurn
from slowcat_memory.core.text.normalize import fingerprint
from tests.support.engine_home import Gate
from tests.support.recall_without_store import EMBEDDER, NOW, PLAIN, Mind, memory, query
from tests.support.rows import each_row

# ------------------------------------------------------------------- stages


def test_pipeline_run_words_and_vectors_are_the_full_stage():
    found = Mind().run(query("What is my dog called?"))
    assert found.stage == "full" and found.hits[0].memory.id == "dog"
    assert set(found.hits[0].views) == {"window", "dense", "session"}
    assert set(found.timings) == {"parse", "lexical", "embed", "dense", "fuse", "fetch"}
    scores = [hit.score for hit in found.hits]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize(
    "mind",
    [
        Mind(embed=None),
        Mind(vectors=False),
        Mind(embed=lambda _: None),
        Mind(embed=None, vectors=False, tokens={}),
    ],
)
def test_pipeline_run_without_a_vector_words_must_do(mind):
    found = mind.run(query("What is my dog called?"))
    assert found.stage == "lexical" and [hit.memory.id for hit in found.hits] == ["dog"]


def test_pipeline_run_a_turn_out_of_time_takes_the_words_while_the_embedder_works():
    gate, results = Gate(EMBEDDER.encode_query), []
    mind = Mind(embed=gate)
    recall = mind.begin(query("What is my dog called?"))
    worker = threading.Thread(target=lambda: results.append(mind.pipeline.run(recall)))
    worker.start()
    assert gate.reached.wait(30)
    found = mind.pipeline.settle(recall)
    gate.open.set()
    worker.join()
    assert found.stage == "lexical" and [hit.memory.id for hit in found.hits] == ["dog"]
    assert results[0].hits == []  # nobody waits for it any more


def test_pipeline_run_a_turn_out_of_time_takes_the_tail_when_not_even_the_words_are_done():
    mind = Mind()
    recall = mind.begin(query("What is my dog called?"))
    found = mind.pipeline.settle(recall)
    assert found.stage == "tail" and [hit.memory.id for hit in found.hits] == ["dog"]
    late = mind.pipeline.run(recall)
    assert late.hits == [] and late.stage == "none" and late.timings == {}


def test_pipeline_run_an_abandoned_recall_embeds_and_fetches_nothing():
    asked: list[str] = []
    mind = Mind(embed=asked.append)  # type: ignore[arg-type]
    recall, lexical = mind.begin(query("dog")), mind.searcher.lexical

    def abandoned_meanwhile(text: str, **how: object) -> object:
        recall.abandoned = True
        return lexical(text, **how)

    mind.searcher.lexical = abandoned_meanwhile  # type: ignore[method-assign,assignment]
    assert mind.pipeline.run(recall).hits == []
    assert asked == [] and mind.namespace.fetched == []


# ------------------------------------------------------------------- what is offered


def test_pipeline_choose_what_the_turn_can_see_already_is_left_out():
    mind = Mind()
    assert mind.ids("my dog", exclude=frozenset({"dog"}))[:1] != ["dog"]
    words = frozenset({fingerprint("MY DOG is called max!")})
    assert "dog" not in mind.ids("my dog", exclude_words=words)
    assert "dog" in mind.ids("my dog")


def test_pipeline_choose_the_floor_keeps_out_what_is_only_the_best_of_nothing():
    mind = Mind()
    assert mind.ids("quantum chromodynamics lectures", floor=0.3) == []
    assert mind.ids("what is my dog called", floor=0.3)[0] == "dog"
    assert Mind(vectors=False).ids("my dog eats quantum chromodynamics", floor=0.5) == []


@each_row("text", ["", "   ", "...", "the", "\ufffd", "x" * 100_000])
@each_row("vectors", [True, False])
def test_pipeline_choose_any_query_has_an_answer(text, vectors):
    assert isinstance(Mind(vectors=vectors).run(query(text, floor=0.3)).hits, list)


# ------------------------------------------------------------------- whatever the model does


def test_pipeline_run_keeps_to_one_searcher_when_sealing_replaces_it():
    mind, other = Mind(), Mind(memory("new", "My dog is called Rex"))

    def embed_while_sealing(text: str) -> np.ndarray:
        mind.namespace.searcher = other.searcher
        return EMBEDDER.encode_query(text)

    mind.embedding.query = embed_while_sealing
    recall = mind.begin(query("What is my dog called?"))
    assert mind.pipeline.run(recall).hits[0].memory.id == "dog"
    late = mind.pipeline.settle(recall)
    assert late.stage == "lexical" and late.hits[0].memory.id == "dog"


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
def test_pipeline_query_parse_the_words_of_whom_the_query_names_come_first(name):
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
    text, first
):
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
def test_pipeline_query_dialogue_a_follow_up_takes_the_words_that_it_leans_on(embed):
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


def test_pipeline_query_dialogue_a_model_that_fails_on_the_dialogue_costs_its_direction_only():
    mind = Mind(*WORK)
    plain = cosine(mind, "car", "what was the plan")
    asked: list[str] = []

    def once(text: str) -> np.ndarray | None:
        asked.append(text)
        return EMBEDDER.encode_query(text) if len(asked) == 1 else None

    mind.embedding.query = once
    assert cosine(mind, "car", "what was the plan", DialogueTurn("the garage called", NOW)) == plain
    assert len(asked) == 2
