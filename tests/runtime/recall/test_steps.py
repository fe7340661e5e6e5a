"""The steps of a recall over a few memories, and what is chosen of the candidates."""

import numpy as np
import pytest

from slowcat_memory.core.query.understand import DialogueTurn
from tests.support.recall_without_store import EMBEDDER, NOW, Mind, memory, query

# ------------------------------------------------------------------- stages


def test_steps_run_an_abandoned_recall_embeds_and_fetches_nothing():
    asked = list[str]()
    mind = Mind(embed=asked.append)  # type: ignore[arg-type]
    recall, lexical = mind.begin(query("dog")), mind.searcher.lexical

    def abandoned_meanwhile(text: str, **how: object) -> object:
        recall.abandoned = True
        return lexical(text, **how)

    mind.searcher.lexical = abandoned_meanwhile  # type: ignore[method-assign,assignment]
    assert mind.retrieval.run(recall).hits == []
    assert asked == [] and mind.namespace.fetched == []


# ------------------------------------------------------------------- whatever the model does


def test_steps_run_keeps_to_one_searcher_when_sealing_replaces_it():
    mind, other = Mind(), Mind(memory("new", "My dog is called Rex"))

    def embed_while_sealing(text: str):  # type: ignore[no-untyped-def]
        mind.namespace.searcher = other.searcher
        return EMBEDDER.encode_query(text)

    mind.embedding.embed = embed_while_sealing
    recall = mind.begin(query("What is my dog called?"))
    assert mind.retrieval.run(recall).hits[0].memory.id == "dog"
    late = mind.retrieval.settle(recall)
    assert late.stage == "lexical" and late.hits[0].memory.id == "dog"


# ------------------------------------------------------------------- what was just talked about

WORK = (
    memory("moritz", "My brother Moritz works at the brewery"),
    memory("car", "The car is at the garage"),
    memory("swim", "I swim on Sundays"),
)


def cosine(mind: Mind, memory_id: str, text: str, *dialogue: DialogueTurn) -> float:
    """Of a memory and the vector that was searched with, which the dialogue may have turned."""
    searched = list[np.ndarray]()
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


def test_steps_query_dialogue_a_model_that_fails_on_the_dialogue_costs_its_direction_only():
    mind = Mind(*WORK)
    plain = cosine(mind, "car", "what was the plan")
    asked = list[str]()

    def once(text: str):  # type: ignore[no-untyped-def]
        asked.append(text)
        return EMBEDDER.encode_query(text) if len(asked) == 1 else None

    mind.embedding.embed = once
    assert cosine(mind, "car", "what was the plan", DialogueTurn("the garage called", NOW)) == plain
    assert len(asked) == 2
