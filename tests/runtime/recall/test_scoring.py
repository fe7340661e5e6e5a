"""Candidates to scores, seen from a recall: priors, neighbours, tokens, probability."""

from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from slowcat_memory.core.ranking.offering import probability
from slowcat_memory.core.ranking.score import FuseOptions, RankOptions
from slowcat_memory.records import Hit, Memory
from tests.support.recall_without_store import EMBEDDER, NOW, PLAIN, SAID, Mind, memory, query

WORDS = ("max", "dog", "barks", "tea", "lisbon", "garden", "swims")

# ------------------------------------------------------------------- priors


@pytest.mark.parametrize(
    ("special", "first"),
    [
        ({"importance": 1.0}, "special"),
        ({"importance": 0.0}, "plain"),
        ({"pinned": True}, "special"),
        ({"valid_from": NOW}, "special"),
        ({"valid_from": NOW - timedelta(days=300)}, "plain"),
    ],
)
def test_scoring_score_priors_decide_between_equals(special: dict, first: str) -> None:
    told = (
        memory("plain", "Max likes bones", 100),
        memory("special", "Max likes balls", 100, **special),
    )
    for order in (told, told[::-1]):
        mind = Mind(*order, ranking=RankOptions(), embed=None)
        assert mind.ids("Max likes")[0] == first


def test_scoring_score_a_prior_counts_once_before_and_after_the_tokens() -> None:
    tokens = dict.fromkeys(("a", "b"), EMBEDDER.encode_tokens(["dog dog"]).tokens[0])
    told = (memory("a", "the dog"), memory("b", "the dog", role="assistant", pinned=True))
    mind = Mind(
        *told,
        embed=EMBEDDER.encode_query_tokens,
        tokens=tokens,
        ranking=replace(PLAIN, pinned=0.25),
        fusing=FuseOptions(duplicate=1.1),
    )
    scores = mind.scores("dog")
    assert scores["b"] - scores["a"] == pytest.approx(0.25, abs=2e-4)


# ------------------------------------------------------------------- neighbours


def chain(**fusing: float) -> Mind:
    made = Mind(
        SAID[1],
        embed=None,
        fusing=FuseOptions(**fusing),  # type: ignore[arg-type]
    )
    for text, before in (("Max", ""), ("He barks", "Max"), ("Nothing", "He barks")):
        made.add(memory(text, text), before)
    return made


def test_scoring_score_smoothing_lifts_a_neighbour_where_turns_are_short() -> None:
    def scores(smoothing: float, **more: float) -> dict[str, float]:
        return chain(smoothing=smoothing, session=0.0, **more).scores("Max")

    plain, smoothed = scores(0.0), scores(0.2)
    assert plain["He barks"] / plain["Max"] < smoothed["He barks"] / smoothed["Max"] < 1.0
    assert scores(0.2, smooth_below_words=1.0) == plain


# ------------------------------------------------------------------- tokens

DOGS = tuple(memory(str(n), f"dog number{n} of the house") for n in range(8))


def tokens_of(**said: str) -> dict[str, np.ndarray]:
    """Token vectors as if memories had said something else."""
    return dict(zip(said, EMBEDDER.encode_tokens(list(said.values())).tokens, strict=True))


def with_tokens(known: dict[str, np.ndarray], *memories: Memory, **fusing: float) -> Mind:
    return Mind(
        *memories,
        embed=EMBEDDER.encode_query_tokens,
        tokens=known,
        fusing=FuseOptions(**fusing),  # type: ignore[arg-type]
    )


def test_scoring_score_tokens_reorder_the_best() -> None:
    tokens = tokens_of(**{str(n): "garden" for n in range(7)}, **{"7": "the dog house"})
    mind = with_tokens(tokens, *DOGS)
    found = mind.run(query("dog house"))
    assert found.hits[0].memory.id == "7"
    assert set(found.timings) >= {"tokens"} and set(found.hits[0].views) >= {"tokens"}
    assert found.hits[0].views["tokens"] == 1.0 and found.hits[1].views["tokens"] == 0.0
    order = with_tokens(tokens, *DOGS, rerank=0).ids("dog house")
    assert order[0] != "7"


def test_scoring_score_only_the_best_by_the_other_views_are_scored_by_their_tokens() -> None:
    said = (*DOGS, memory("weak", "a house"))
    tokens = tokens_of(**{m.id: "garden" for m in DOGS}, weak="the dog house")
    shallow = with_tokens(tokens, *said, rerank=3)
    shallow.ids("dog house")
    assert len(shallow.store.fetched) == 3 and "weak" not in shallow.store.fetched
    deep = with_tokens(tokens, *said, rerank=50)
    assert deep.ids("dog house")[0] == "weak" and len(deep.store.fetched) == 9


@pytest.mark.parametrize("off", [{"rerank": 0}, {"tokens": 0.0}])
def test_scoring_score_tokens_can_be_switched_off(off: dict) -> None:
    tokens = tokens_of(**{m.id: "garden" for m in DOGS})
    mind, none = with_tokens(tokens, *DOGS, **off), Mind(*DOGS, fusing=FuseOptions(**off))
    assert mind.scores("dog house") == none.scores("dog house")
    assert mind.store.fetched == []


# ------------------------------------------------------------------- probability


def hits(mind: Mind, text: str, **how: object) -> dict[str, Hit]:
    return {hit.memory.id: hit for hit in mind.run(query(text, k=20, **how)).hits}


said = st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join)


@settings(max_examples=60, deadline=None)
@given(st.lists(said, min_size=1, max_size=8, unique=True), said, st.booleans())
def test_scoring_score_a_hit_tells_how_likely_it_answers(
    texts: list[str], text: str, vectors: bool
) -> None:
    mind = Mind(*(memory(str(n), t) for n, t in enumerate(texts)), vectors=vectors)
    found = list(hits(mind, text).values())
    for hit in found:
        assert 0 <= hit.coverage <= 1 and 0 <= hit.probability <= 1
        assert (hit.cosine is not None) == vectors
        near = None if hit.cosine is None else np.array([hit.cosine])
        expected = probability(np.array([hit.coverage]), near, len(texts))[0]
        assert hit.probability == pytest.approx(expected, abs=1e-3)
    for a in found:
        for b in found:  # no better by either measure, no likelier
            if a.coverage <= b.coverage and (a.cosine or 0) <= (b.cosine or 0):
                assert a.probability <= b.probability + 2e-4


def test_scoring_score_the_floor_is_a_probability() -> None:
    mind = Mind(*(memory(str(n), f"dog {' '.join(WORDS[3 : 3 + n])}") for n in range(4)))
    found = hits(mind, "dog tea lisbon")
    likely = sorted(hit.probability for hit in found.values())
    assert len(set(likely)) > 2
    for floor in (likely[0] - 0.001, likely[1] + 0.001, likely[-1] + 0.001):
        kept = {id_ for id_, hit in found.items() if hit.probability >= floor}
        assert set(hits(mind, "dog tea lisbon", floor=floor)) == kept


def test_scoring_score_a_prior_does_not_make_a_hit_likelier() -> None:
    text = "who has a dog"
    plain, loud = (
        Mind(*SAID, memory("note", "the weather", importance=importance), ranking=RankOptions())
        for importance in (0.5, 1.0)
    )
    one, other = hits(plain, text)["note"], hits(loud, text)["note"]
    assert other.score > one.score and other.probability == one.probability


def test_scoring_score_what_is_left_out_does_not_change_how_likely_the_others_are() -> None:
    mind = Mind()
    both, alone = hits(mind, "my dog tea"), hits(mind, "my dog tea", exclude=frozenset({"dog"}))
    assert alone["tea"].probability == both["tea"].probability
    assert alone["tea"].score == both["tea"].score  # relative to the best, visible or not
