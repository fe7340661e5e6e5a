import threading
from collections.abc import Callable
from datetime import timedelta

import numpy as np
import pytest
from msgspec.structs import replace

from slowcat_memory.core.query.understand import AskOptions, DialogueTurn
from slowcat_memory.core.text.normalize import fingerprint
from slowcat_memory.providers import Encoded
from slowcat_memory.runtime.recall.pipeline import Progress
from tests.support.recall_without_store import EMBEDDER, NOW, PLAIN, SAID, Mind, memory, query

# ------------------------------------------------------------------- stages


def test_words_and_vectors_are_the_full_stage() -> None:
    found = Mind().run(query("What is my dog called?"))
    assert found.stage == "full" and found.hits[0].memory.id == "dog"
    assert set(found.hits[0].views) == {"turn", "window", "dense", "session"}
    assert set(found.timings) == {"lexical", "embed", "dense", "fuse", "fetch"}
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
def test_without_a_vector_words_must_do(mind: Mind) -> None:
    found = mind.run(query("What is my dog called?"))
    assert found.stage == "lexical" and [hit.memory.id for hit in found.hits] == ["dog"]


def test_nobody_is_asked_for_a_vector_that_nothing_could_be_compared_with() -> None:
    asked: list[str] = []
    Mind(embed=asked.append, vectors=False).run(query("dog"))  # type: ignore[arg-type]
    assert asked == []


def test_a_vector_embedded_ahead_is_taken() -> None:
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
        assert self.open.wait(10)
        return self._then(*args, **kwargs)


def test_a_turn_out_of_time_takes_the_words_while_the_embedder_works() -> None:
    gate, results, progress = Gate(EMBEDDER.encode_query), [], Progress()
    mind, asked = Mind(embed=gate), query("What is my dog called?")
    worker = threading.Thread(target=lambda: results.append(mind.run(asked, progress)))
    worker.start()
    assert gate.reached.wait(10)
    found = mind.settle(asked, progress)
    gate.open.set()
    worker.join()
    assert found.stage == "lexical" and [hit.memory.id for hit in found.hits] == ["dog"]
    assert results[0].hits == []  # nobody waits for it any more


def test_a_turn_out_of_time_takes_the_tail_when_not_even_the_words_are_done() -> None:
    mind, progress = Mind(), Progress()
    found = mind.settle(query("What is my dog called?"), progress)
    assert found.stage == "tail" and [hit.memory.id for hit in found.hits] == ["dog"]
    late = mind.run(query("dog"), progress)
    assert late.hits == [] and late.stage == "none" and late.timings == {}


def test_an_abandoned_recall_embeds_and_fetches_nothing() -> None:
    asked: list[str] = []
    mind, progress = Mind(embed=asked.append), Progress()  # type: ignore[arg-type]
    lexical = mind.searcher.lexical

    def abandoned_meanwhile(text: str, **how: object) -> object:
        progress.abandoned = True
        return lexical(text, **how)

    mind.searcher.lexical = abandoned_meanwhile  # type: ignore[method-assign,assignment]
    assert mind.run(query("dog"), progress).hits == []
    assert asked == [] and mind.namespace.fetched == []


# ------------------------------------------------------------------- what is offered


def test_what_the_turn_can_see_already_is_left_out() -> None:
    mind = Mind()
    assert mind.ids("my dog", exclude=frozenset({"dog"}))[:1] != ["dog"]
    words = frozenset({fingerprint("MY DOG is called max!")})
    assert "dog" not in mind.ids("my dog", exclude_words=words)
    assert "dog" in mind.ids("my dog")


def test_what_is_left_out_makes_room() -> None:
    many = [memory(str(n), f"Max barks at number{n}") for n in range(12)]
    mind = Mind(*many)
    seen = mind.ids("Max barks", k=4)
    assert len(seen) == 4
    rest = mind.ids("Max barks", k=4, exclude=frozenset(seen))
    assert len(rest) == 4 and not set(seen) & set(rest)
    words = frozenset(fingerprint(mind.memories[i].text) for i in seen)
    rest = mind.ids("Max barks", k=4, exclude_words=words)
    assert len(rest) == 4 and not set(seen) & set(rest)


def test_the_floor_keeps_out_what_is_only_the_best_of_nothing() -> None:
    mind = Mind()
    assert mind.ids("quantum chromodynamics lectures", floor=0.3) == []
    assert mind.ids("what is my dog called", floor=0.3)[0] == "dog"
    assert Mind(vectors=False).ids("my dog eats quantum chromodynamics", floor=0.5) == []


def test_a_memory_without_a_vector_is_judged_by_its_words() -> None:
    mind = Mind(memory("dog", "My dog is called Max"), memory("tea", "I drink tea"))
    mind.add(memory("new", "Completely unrelated"), vector=False)
    assert mind.ids("My dog is called Max, I drink tea, ok?", floor=0.15)[:2] == ["dog", "tea"]
    assert mind.ids("Completely unrelated", floor=0.5)[0] == "new"
    assert mind.ids("Quite without precedent", floor=0.5) == []


def test_above_the_floor_what_is_offered_is_decided_by_score() -> None:
    mind = Mind(memory("dog", "My dog is called Max"), memory("who", "Max is the one on the left"))
    found = {hit.memory.id: hit for hit in mind.run(query("my dog Max")).hits}
    floor = found["dog"].probability - 0.01
    assert found["who"].probability < floor
    assert mind.ids("my dog Max", floor=floor)[:2] == ["dog", "who"]
    assert mind.ids("my dog Max", floor=floor + 0.02) == []


def test_a_pinned_candidate_passes_the_floor() -> None:
    mind = Mind(memory("dog", "My dog is called Max"), memory("tea", "I drink tea", pinned=True))
    assert mind.ids("My dog is called Max", floor=0.9) == ["dog", "tea"]


def test_the_weak_are_left_out_beside_the_strong() -> None:
    mind = Mind(
        memory("dog", "My dog is called Max"), memory("walk", "a dog was there on the walk")
    )
    assert mind.ids("what is my dog called", keep_share=0.05) == ["dog", "walk"]
    assert mind.ids("what is my dog called", keep_share=0.9) == ["dog"]


def test_near_equal_memories_are_offered_once() -> None:
    mind = Mind(
        memory("1", "My dog is called Max"), memory("2", "my dog is called MAX!"), *SAID[1:]
    )
    assert [i for i in mind.ids("dog Max") if i in ("1", "2")] in (["1"], ["2"])


def test_what_no_longer_exists_is_passed_over() -> None:
    mind = Mind()
    del mind.memories["dog"]
    assert "dog" not in mind.ids("my dog")


@pytest.mark.parametrize("text", ["", "   ", "...", "the", "\ufffd", "x" * 100_000])
@pytest.mark.parametrize("vectors", [True, False])
def test_any_query_has_an_answer(text: str, vectors: bool) -> None:
    assert isinstance(Mind(vectors=vectors).run(query(text, floor=0.3)).hits, list)


def test_an_empty_mind_answers() -> None:
    mind = Mind()
    for memory_id in mind.memories:
        mind.searcher.remove(memory_id)
    found = mind.run(query("dog", floor=0.3, keep_share=0.5))
    assert found.hits == [] and found.stage == "lexical"


# ------------------------------------------------------------------- whom and when it is about


def asked_for(mind: Mind, text: str, **how: object) -> str:
    """What the model is given of a query."""
    texts: list[str] = []
    mind.embedding.query = lambda text: texts.append(text) or EMBEDDER.encode_query(text)  # type: ignore[func-returns-value]
    mind.run(query(text, **how))
    return texts[0]


def test_names_are_taken_out_for_the_vector_but_not_for_the_words() -> None:
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
def test_the_words_of_whom_the_query_names_come_first(name: str) -> None:
    mind = Mind(*TOLD, ranking=replace(PLAIN, named=0.5))
    assert mind.ids(f"what does {name.title()} play")[0] == name
    assert mind.ids(f"what does {name} play")[0] == name


def test_nobody_gains_where_nobody_is_named_or_names_do_not_count() -> None:
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
def test_what_was_said_at_the_time_that_is_asked_about_comes_first(text: str, first: str) -> None:
    ranking = replace(PLAIN, when=0.3)
    for said in (DAYS, DAYS[::-1]):
        assert Mind(*said, ranking=ranking).ids(text)[0] == first
    off = Mind(*DAYS, ranking=ranking, asking=AskOptions(times=False)).scores(text)
    assert off == Mind(*DAYS, asking=AskOptions(times=False)).scores(text)
    assert len(set(off.values())) == 1


def test_what_speaks_of_the_time_that_is_asked_about_comes_first_too() -> None:
    told = (
        memory("plan", "the concert was on Saturday 4 October 2025", 90),
        memory("other", "the concert was on Saturday 8 November 2025", 90),
    )
    ranking = replace(PLAIN, when=0.3)
    for said in (told, told[::-1]):
        mind = Mind(*said, ranking=ranking)
        assert mind.ids("what concert did I hear in October 2025")[0] == "plan"
        assert mind.ids("what concert did I hear in November 2025")[0] == "other"


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
def test_a_follow_up_takes_the_words_that_it_leans_on(embed: Callable | None) -> None:
    mind = Mind(*WORK, embed=embed)
    assert mind.ids("and what about him?", dialogue=TALK)[0] == "moritz"
    words = mind.run(query("and what about him?", dialogue=TALK)).words
    assert "moritz" in words
    alone = mind.run(query("and what about him?"))
    assert "moritz" not in alone.words
    if embed:
        assert "Moritz" in asked_for(mind, "and what about him?", dialogue=TALK)


def test_a_late_follow_up_takes_them_too() -> None:
    mind, asked = Mind(*WORK), query("and what about him?", dialogue=TALK)
    found = mind.settle(asked, Progress())
    assert found.stage == "tail" and found.hits[0].memory.id == "moritz"
    assert mind.settle(replace(asked, dialogue=()), Progress()).hits == []


def cosine(mind: Mind, memory_id: str, text: str, *dialogue: DialogueTurn) -> float:
    """Of a memory and the vector that was searched with, which the dialogue may have turned."""
    searched: list[np.ndarray] = []
    candidates = mind.searcher.candidates

    def watched(lexical, vector=None, *rest):  # type: ignore[no-untyped-def]
        searched.append(vector)
        return candidates(lexical, vector, *rest)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mind.searcher, "candidates", watched)
        mind.run(query(text, dialogue=dialogue, k=9))
    own = mind.searcher.vector(memory_id)
    assert own is not None
    return round(float(searched[-1] @ own), 4)


def test_the_dialogue_turns_the_vector_its_way() -> None:
    text, said = "what was the plan", DialogueTurn("the garage called", NOW)
    for dialogue in (0.0, 0.5):
        mind = Mind(*WORK, asking=AskOptions(dialogue=dialogue))
        alone, turned = cosine(mind, "car", text), cosine(mind, "car", text, said)
        assert turned > alone + 0.1 if dialogue else turned == alone


def test_the_direction_is_the_mean_of_two_turns_by_their_weight() -> None:
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


def test_a_turn_that_a_memory_keeps_is_looked_up_and_not_embedded() -> None:
    mind, texts = Mind(*WORK), list[str]()
    mind.embedding.query = lambda text: texts.append(text) or EMBEDDER.encode_query(text)  # type: ignore[func-returns-value]
    kept, gone = (
        DialogueTurn("whatever it says", NOW, "car"),
        DialogueTurn("whatever", NOW, "unknown"),
    )
    alone = cosine(mind, "car", "what was the plan")
    assert cosine(mind, "car", "what was the plan", kept, gone) > alone + 0.3
    assert texts == ["what was the plan"] * 2


def test_a_model_that_fails_on_the_dialogue_costs_its_direction_only() -> None:
    mind = Mind(*WORK)
    plain = cosine(mind, "car", "what was the plan")
    asked: list[str] = []

    def once(text: str) -> np.ndarray | None:
        asked.append(text)
        return EMBEDDER.encode_query(text) if len(asked) == 1 else None

    mind.embedding.query = once
    assert cosine(mind, "car", "what was the plan", DialogueTurn("the garage called", NOW)) == plain
    assert len(asked) == 2


def test_a_dialogue_of_the_opposite_leaves_a_vector() -> None:
    mind = Mind(*WORK, asking=AskOptions(dialogue=1.0))
    mind.embedding.query = lambda text: EMBEDDER.encode_query("car") * (-1 if text == "no" else 1)
    found = mind.run(query("what about it", dialogue=(DialogueTurn("no", NOW),)))
    assert found.stage == "full" and all(np.isfinite(hit.score) for hit in found.hits)


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
def test_a_vector_that_says_nothing_leaves_the_words(vector: np.ndarray | Encoded) -> None:
    mind = Mind(tokens=EMBEDDED)
    found = mind.run(query("What is my dog called?", vector=vector, floor=0.05))
    assert found.hits[0].memory.id == "dog"
    assert all(np.isfinite([hit.score, hit.probability]).all() for hit in found.hits)


EMBEDDED = dict(
    zip([m.id for m in SAID], EMBEDDER.encode_tokens([m.text for m in SAID]).tokens, strict=True)
)


def test_a_model_without_tokens_answers_by_the_other_views() -> None:
    told, untold = Mind(tokens=EMBEDDED), Mind(tokens=None)
    for mind in (told, untold):
        found = mind.run(query("What is my dog called?"))
        assert found.stage == "full" and found.hits[0].memory.id == "dog"
        assert "tokens" not in found.hits[0].views and mind.store.fetched == []


def test_what_stands_in_the_context_hides_nothing_else() -> None:
    echo = "what is my dog called please"
    mind = Mind(memory("echo", echo), *SAID)
    assert mind.ids(echo, keep_share=0.9) == ["echo"]
    assert mind.ids(echo, keep_share=0.9, exclude_words=frozenset({fingerprint(echo)})) == ["dog"]
