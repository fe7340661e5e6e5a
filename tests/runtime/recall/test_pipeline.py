"""The steps of a recall over a few memories, and what is chosen of the candidates."""

import threading
from collections.abc import Callable

import numpy as np
import pytest

from slowcat_memory.core.text.normalize import fingerprint
from slowcat_memory.providers import Encoded
from tests.support.recall_without_store import EMBEDDER, SAID, Mind, memory, query
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


def test_pipeline_run_nobody_is_asked_for_a_vector_that_nothing_could_be_compared_with() -> None:
    asked: list[str] = []
    Mind(embed=asked.append, vectors=False).run(query("dog"))  # type: ignore[arg-type]
    assert asked == []


def test_pipeline_run_a_vector_embedded_ahead_is_taken() -> None:
    def never(text: str) -> np.ndarray:
        raise AssertionError("it was embedded already")

    found = Mind(embed=never).run(query("?", vector=EMBEDDER.encode_query("Lisbon in May")))
    assert found.stage == "full" and found.hits[0].memory.id == "trip"
    assert "embed" not in found.timings
    ahead = Encoded(EMBEDDER.encode_query("Lisbon in May"))
    assert Mind(embed=never).run(query("?", vector=ahead)).hits == found.hits


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


def test_pipeline_choose_what_is_left_out_makes_room() -> None:
    many = [memory(str(n), f"Max barks at number{n}") for n in range(12)]
    mind = Mind(*many)
    seen = mind.ids("Max barks", k=4)
    assert len(seen) == 4
    rest = mind.ids("Max barks", k=4, exclude=frozenset(seen))
    assert len(rest) == 4 and not set(seen) & set(rest)
    words = frozenset(fingerprint(mind.memories[i].text) for i in seen)
    rest = mind.ids("Max barks", k=4, exclude_words=words)
    assert len(rest) == 4 and not set(seen) & set(rest)


def test_pipeline_choose_the_floor_keeps_out_what_is_only_the_best_of_nothing() -> None:
    mind = Mind()
    assert mind.ids("quantum chromodynamics lectures", floor=0.3) == []
    assert mind.ids("what is my dog called", floor=0.3)[0] == "dog"
    assert Mind(vectors=False).ids("my dog eats quantum chromodynamics", floor=0.5) == []


def test_pipeline_choose_a_memory_without_a_vector_is_judged_by_its_words() -> None:
    mind = Mind(memory("dog", "My dog is called Max"), memory("tea", "I drink tea"))
    mind.add(memory("new", "Completely unrelated"), vector=False)
    assert mind.ids("My dog is called Max, I drink tea, ok?", floor=0.15)[:2] == ["dog", "tea"]
    assert mind.ids("Completely unrelated", floor=0.5)[0] == "new"
    assert mind.ids("Quite without precedent", floor=0.5) == []


def test_pipeline_choose_above_the_floor_what_is_offered_is_decided_by_score() -> None:
    mind = Mind(memory("dog", "My dog is called Max"), memory("who", "Max is the one on the left"))
    found = {hit.memory.id: hit for hit in mind.run(query("my dog Max")).hits}
    floor = found["dog"].probability - 0.01
    assert found["who"].probability < floor
    assert mind.ids("my dog Max", floor=floor)[:2] == ["dog", "who"]
    assert mind.ids("my dog Max", floor=floor + 0.02) == []


@each_row("text", ["", "   ", "...", "the", "\ufffd", "x" * 100_000])
@each_row("vectors", [True, False])
def test_pipeline_choose_any_query_has_an_answer(text: str, vectors: bool) -> None:
    assert isinstance(Mind(vectors=vectors).run(query(text, floor=0.3)).hits, list)


def test_pipeline_choose_an_empty_mind_answers() -> None:
    mind = Mind()
    for memory_id in mind.memories:
        mind.searcher.remove(memory_id)
    found = mind.run(query("dog", floor=0.3, keep_share=0.5))
    assert found.hits == [] and found.stage == "lexical"


# ------------------------------------------------------------------- whatever the model does


@pytest.mark.parametrize(
    "vector",
    [
        np.full(EMBEDDER.dim, np.nan, np.float32),
        np.zeros(EMBEDDER.dim, np.float32),
        Encoded(np.full(EMBEDDER.dim, np.nan, np.float32), np.zeros((0, 256), np.float32)),
        Encoded(EMBEDDER.encode_query("dog"), np.full((3, 256), np.nan, np.float32)),
        Encoded(EMBEDDER.encode_query("dog"), np.zeros((0, 256), np.float32)),
    ],
)
def test_pipeline_run_a_vector_that_says_nothing_leaves_the_words(
    vector: np.ndarray | Encoded,
) -> None:
    mind = Mind(tokens=EMBEDDED)
    found = mind.run(query("What is my dog called?", vector=vector, floor=0.05))
    assert found.hits[0].memory.id == "dog"
    assert all(np.isfinite([hit.score, hit.probability]).all() for hit in found.hits)


EMBEDDED = dict(
    zip([m.id for m in SAID], EMBEDDER.encode_tokens([m.text for m in SAID]).tokens, strict=True)
)


def test_pipeline_run_a_model_without_tokens_answers_by_the_other_views() -> None:
    told, untold = Mind(tokens=EMBEDDED), Mind(tokens=None)
    for mind in (told, untold):
        found = mind.run(query("What is my dog called?"))
        assert found.stage == "full" and found.hits[0].memory.id == "dog"
        assert "tokens" not in found.hits[0].views and mind.store.fetched == []


def test_pipeline_choose_what_stands_in_the_context_hides_nothing_else() -> None:
    echo = "what my dog is called I wrote on its collar"
    mind = Mind(memory("echo", echo), *SAID)
    assert mind.ids(echo, keep_share=0.9) == ["echo"]
    hidden = frozenset({fingerprint(echo)})
    assert mind.ids(echo, keep_share=0.9, exclude_words=hidden)[0] == "dog"


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
