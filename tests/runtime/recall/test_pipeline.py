"""The steps of a recall over a few memories, and what is chosen of the candidates."""

import threading
from collections.abc import Callable

import numpy as np
import pytest

from slowcat_memory.core.text.normalize import fingerprint
from tests.support.recall_without_store import EMBEDDER, Mind, memory, query
from tests.support.rows import each_row

# ------------------------------------------------------------------- stages


def test_pipeline_run_words_and_vectors_are_the_full_stage() -> None:
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
def test_pipeline_run_without_a_vector_words_must_do(mind: Mind) -> None:
    found = mind.run(query("What is my dog called?"))
    assert found.stage == "lexical" and [hit.memory.id for hit in found.hits] == ["dog"]


class Gate:
    """Something that stops in its middle until it may go on."""

    def __init__(self, then: Callable) -> None:
        self.reached, self.open, self._then = threading.Event(), threading.Event(), then

    def __call__(self, *args: object, **kwargs: object) -> object:
        self.reached.set()
        assert self.open.wait(30)
        return self._then(*args, **kwargs)


def test_pipeline_run_a_turn_out_of_time_takes_the_words_while_the_embedder_works() -> None:
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


def test_pipeline_run_a_turn_out_of_time_takes_the_tail_when_not_even_the_words_are_done() -> None:
    mind = Mind()
    recall = mind.begin(query("What is my dog called?"))
    found = mind.pipeline.settle(recall)
    assert found.stage == "tail" and [hit.memory.id for hit in found.hits] == ["dog"]
    late = mind.pipeline.run(recall)
    assert late.hits == [] and late.stage == "none" and late.timings == {}


def test_pipeline_run_an_abandoned_recall_embeds_and_fetches_nothing() -> None:
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


def test_pipeline_choose_what_the_turn_can_see_already_is_left_out() -> None:
    mind = Mind()
    assert mind.ids("my dog", exclude=frozenset({"dog"}))[:1] != ["dog"]
    words = frozenset({fingerprint("MY DOG is called max!")})
    assert "dog" not in mind.ids("my dog", exclude_words=words)
    assert "dog" in mind.ids("my dog")


def test_pipeline_choose_the_floor_keeps_out_what_is_only_the_best_of_nothing() -> None:
    mind = Mind()
    assert mind.ids("quantum chromodynamics lectures", floor=0.3) == []
    assert mind.ids("what is my dog called", floor=0.3)[0] == "dog"
    assert Mind(vectors=False).ids("my dog eats quantum chromodynamics", floor=0.5) == []


@each_row("text", ["", "   ", "...", "the", "\ufffd", "x" * 100_000])
@each_row("vectors", [True, False])
def test_pipeline_choose_any_query_has_an_answer(text: str, vectors: bool) -> None:
    assert isinstance(Mind(vectors=vectors).run(query(text, floor=0.3)).hits, list)


# ------------------------------------------------------------------- whatever the model does


def test_pipeline_run_keeps_to_one_searcher_when_sealing_replaces_it() -> None:
    mind, other = Mind(), Mind(memory("new", "My dog is called Rex"))

    def embed_while_sealing(text: str) -> np.ndarray:
        mind.namespace.searcher = other.searcher
        return EMBEDDER.encode_query(text)

    mind.embedding.query = embed_while_sealing
    recall = mind.begin(query("What is my dog called?"))
    assert mind.pipeline.run(recall).hits[0].memory.id == "dog"
    late = mind.pipeline.settle(recall)
    assert late.stage == "lexical" and late.hits[0].memory.id == "dog"
