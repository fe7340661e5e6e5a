import threading
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from slowcat_memory.core.fuse import FuseOptions
from slowcat_memory.core.rank import RankOptions
from slowcat_memory.core.text import Tokenizer, fingerprint
from slowcat_memory.index import IndexOptions, Searcher
from slowcat_memory.records import Memory
from slowcat_memory.runtime.namespace import document
from slowcat_memory.runtime.recall import Breaker, Embed, Progress, Query, Recall
from slowcat_memory.testing import FixedClock, HashEmbedder

NOW = datetime(2026, 5, 12, 12, tzinfo=UTC)
EMBEDDER = HashEmbedder(2048)  # wide enough that no two words meet
PLAIN = RankOptions(importance=0, recency=0, pinned=0, agent=1)  # no priors


def memory(id_: str, text: str, days: float = 0, **more: object) -> Memory:
    facts = {"kind": "chunk", "scope": "anna", "speaker": "Anna"}
    at = NOW - timedelta(days=days)
    return Memory(id=id_, text=text, valid_from=at, **{**facts, **more})  # type: ignore[arg-type]


SAID = (
    memory("dog", "My dog is called Max"),
    memory("tea", "I drink green tea every morning"),
    memory("trip", "We flew to Lisbon in May"),
)


class Mind:
    """A recall over a few memories, with what it was asked to do."""

    def __init__(
        self,
        *memories: Memory,
        embed: Embed | None = EMBEDDER.encode_query,
        vectors: bool = True,
        ranking: RankOptions = PLAIN,
        fusing: FuseOptions = FuseOptions(),
    ) -> None:
        self.searcher = Searcher(Tokenizer(), IndexOptions(), EMBEDDER.dim)
        self.memories = {m.id: m for m in memories or SAID}
        self.fetched: list[str] = []
        for m in self.memories.values():
            self.searcher.add(document(m))
            if vectors:
                self.searcher.put_vector(m.id, EMBEDDER.encode_query(m.text))
        self.recall = Recall(self.searcher, self.fetch, embed, fusing, ranking)

    def fetch(self, scope: str, ids: Sequence[str]) -> dict[str, Memory]:
        self.fetched += ids
        return {i: self.memories[i] for i in ids if i in self.memories}

    def ids(self, text: str, **how: object) -> list[str]:
        return [hit.memory.id for hit in self.recall.run(query(text, **how)).hits]


def query(text: str, **how: object) -> Query:
    return Query(**{"text": text, "scope": "anna", "now": NOW, "k": 5, **how})  # type: ignore[arg-type]


# ------------------------------------------------------------------- stages


def test_words_and_vectors_are_the_full_stage() -> None:
    found = Mind().recall.run(query("What is my dog called?"))
    assert found.stage == "full" and found.hits[0].memory.id == "dog"
    assert set(found.hits[0].views) == {"turn", "window", "dense"}
    assert set(found.timings) == {"lexical", "embed", "dense", "fuse", "fetch"}
    scores = [hit.score for hit in found.hits]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize(
    "mind", [Mind(embed=None), Mind(vectors=False), Mind(embed=lambda _: None)]
)
def test_without_a_vector_words_must_do(mind: Mind) -> None:
    found = mind.recall.run(query("What is my dog called?"))
    assert found.stage == "lexical" and [hit.memory.id for hit in found.hits] == ["dog"]


def test_nobody_is_asked_for_a_vector_that_nothing_could_be_compared_with() -> None:
    asked: list[str] = []
    Mind(embed=asked.append, vectors=False).recall.run(query("dog"))  # type: ignore[arg-type]
    assert asked == []


def test_a_vector_embedded_ahead_is_taken() -> None:
    def never(text: str) -> np.ndarray:
        raise AssertionError("it was embedded already")

    found = Mind(embed=never).recall.run(query("?", vector=EMBEDDER.encode_query("Lisbon in May")))
    assert found.stage == "full" and found.hits[0].memory.id == "trip"
    assert "embed" not in found.timings


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
    worker = threading.Thread(target=lambda: results.append(mind.recall.run(asked, progress)))
    worker.start()
    assert gate.reached.wait(10)
    found = mind.recall.settle(asked, progress)
    gate.open.set()
    worker.join()
    assert found.stage == "lexical" and [hit.memory.id for hit in found.hits] == ["dog"]
    assert results[0].hits == []  # nobody waits for it any more


def test_a_turn_out_of_time_takes_the_tail_when_not_even_the_words_are_done() -> None:
    mind, progress = Mind(), Progress()
    found = mind.recall.settle(query("What is my dog called?"), progress)
    assert found.stage == "tail" and [hit.memory.id for hit in found.hits] == ["dog"]
    late = mind.recall.run(query("dog"), progress)
    assert late.hits == [] and late.stage == "none" and late.timings == {}


def test_an_abandoned_recall_embeds_and_fetches_nothing() -> None:
    asked: list[str] = []
    mind, progress = Mind(embed=asked.append), Progress()  # type: ignore[arg-type]
    lexical = mind.searcher.lexical

    def abandoned_meanwhile(text: str) -> object:
        progress.abandoned = True
        return lexical(text)

    mind.searcher.lexical = abandoned_meanwhile  # type: ignore[method-assign,assignment]
    assert mind.recall.run(query("dog"), progress).hits == []
    assert asked == [] and mind.fetched == []


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
    assert mind.ids("what is my dog called", floor=0.3) == ["dog"]
    assert Mind(vectors=False).ids("my dog eats quantum chromodynamics", floor=0.5) == []


def test_a_memory_without_a_vector_is_judged_by_its_words() -> None:
    mind = Mind(memory("dog", "My dog is called Max"), memory("tea", "I drink tea"))
    mind.searcher.add(document(memory("new", "Completely unrelated")))
    mind.memories["new"] = memory("new", "Completely unrelated")
    assert mind.ids("My dog is called Max, I drink tea, ok?", floor=0.3) == ["dog", "tea"]
    assert mind.ids("Completely unrelated", floor=0.3) == ["new"]


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
    assert isinstance(Mind(vectors=vectors).recall.run(query(text, floor=0.3)).hits, list)


def test_an_empty_mind_answers() -> None:
    mind = Mind()
    for memory_id in mind.memories:
        mind.searcher.remove(memory_id)
    found = mind.recall.run(query("dog", floor=0.3, keep_share=0.5))
    assert found.hits == [] and found.stage == "lexical"


# ------------------------------------------------------------------- priors


def two(**second: object) -> list[Memory]:
    """Two memories that answer a question equally well; the second one is special."""
    return [
        memory("plain", "Max likes bones", 100),
        memory("special", "Max likes balls", 100, **second),
    ]


@pytest.mark.parametrize(
    ("special", "first"),
    [
        ({"importance": 1.0}, "special"),
        ({"importance": 0.0}, "plain"),
        ({"pinned": True}, "special"),
        ({"role": "assistant"}, "plain"),
        ({"valid_from": NOW}, "special"),
        ({"valid_from": NOW - timedelta(days=300)}, "plain"),
    ],
)
def test_priors_decide_between_equals(special: dict, first: str) -> None:
    plain, other = two()
    mind = Mind(plain, Memory(**{**{f: getattr(other, f) for f in other.__struct_fields__}, **special}),
                ranking=RankOptions(), embed=None)  # fmt: skip
    assert mind.ids("Max likes")[0] == first


def test_smoothing_lifts_a_neighbour_where_turns_are_short() -> None:
    def mind(smoothing: float) -> Mind:
        made = Mind(SAID[1], embed=None, fusing=FuseOptions(smoothing=smoothing, window=0.0))
        for text, before in (("Max", ""), ("He barks", "Max"), ("Nothing", "He barks")):
            made.memories[text] = memory(text, text)
            made.searcher.add(document(made.memories[text], before))
        return made

    def scores(smoothing: float) -> dict[str, float]:
        found = mind(smoothing).recall.run(query("Max"))
        return {hit.memory.id: hit.score for hit in found.hits}

    assert scores(0.0)["He barks"] == 0.0 < scores(0.2)["He barks"] < scores(0.2)["Max"]


# ------------------------------------------------------------------- a failing embedder


class Moody:
    """An embedder that does what it is told: raise, be late, or work."""

    def __init__(self, clock: FixedClock) -> None:
        self.clock, self.raises, self.takes, self.asked = clock, None, 0.0, 0

    def __call__(self, text: str) -> np.ndarray:
        self.asked += 1
        self.clock.advance(self.takes)
        if self.raises:
            raise self.raises
        return EMBEDDER.encode_query(text)


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture
def moody(clock: FixedClock) -> Moody:
    return Moody(clock)


def test_a_failing_embedder_costs_the_vectors_only(moody: Moody, clock: FixedClock) -> None:
    problems: list[str] = []
    mind = Mind(embed=Breaker(moody, clock, problems.append))
    moody.raises = MemoryError()
    found = mind.recall.run(query("my dog"))
    assert found.stage == "lexical" and found.hits[0].memory.id == "dog"
    moody.raises = None
    assert mind.recall.run(query("my dog")).stage == "full"
    assert problems == ["MemoryError"]


def test_three_failures_in_a_row_open_it_for_a_minute(moody: Moody, clock: FixedClock) -> None:
    problems: list[str] = []
    breaker = Breaker(moody, clock, problems.append)
    moody.raises = RuntimeError("no")
    for _ in range(10):
        assert breaker("x") is None
        clock.advance(1)
    assert moody.asked == 3 and len(problems) == 3
    clock.advance(51.9)
    assert breaker("x") is None and moody.asked == 3
    clock.advance(0.1)  # 60 s after the third failure: one try, which fails and opens it again
    assert breaker("x") is None and breaker("x") is None and moody.asked == 4
    clock.advance(60)
    moody.raises = None
    assert breaker("x") is not None and moody.asked == 5
    moody.raises = RuntimeError("again")
    for _ in range(3):  # it counts anew
        assert breaker("x") is None
    assert moody.asked == 8


def test_failures_that_are_not_in_a_row_do_not_open_it(moody: Moody, clock: FixedClock) -> None:
    breaker = Breaker(moody, clock, lambda _: None)
    for _ in range(5):
        for moody.raises in (OSError(), OSError(), None):
            breaker("x")
    assert moody.asked == 15


def test_a_late_vector_is_taken_but_counts_as_a_failure(moody: Moody, clock: FixedClock) -> None:
    problems: list[str] = []
    breaker = Breaker(moody, clock, problems.append)
    moody.takes = 1.0
    assert [breaker("x") is not None for _ in range(4)] == [True, True, True, False]
    assert moody.asked == 3 and problems == ["late"] * 3
