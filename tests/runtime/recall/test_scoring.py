"""Candidates to scores, seen from a recall: priors, neighbours, tokens, probability."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slowcat_memory.core.ranking.offering import LeftOutReason, probability
from slowcat_memory.core.ranking.score import FuseOptions
from slowcat_memory.core.text.normalize import fingerprint
from slowcat_memory.records import Hit, Memory
from slowcat_memory.runtime.recall.query import Recollection
from tests.support.recall_without_store import EMBEDDER, Mind, memory, query

WORDS = ("max", "dog", "barks", "tea", "lisbon", "garden", "swims")

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


def test_scoring_score_tokens_reorder_the_best():
    tokens = tokens_of(**{str(n): "garden" for n in range(7)}, **{"7": "the dog house"})
    mind = with_tokens(tokens, *DOGS)
    found = mind.run(query("dog house"))
    assert found.hits[0].memory.id == "7"
    assert set(found.timings) >= {"tokens"} and set(found.hits[0].views) >= {"tokens"}
    assert found.hits[0].views["tokens"] == 1.0 and found.hits[1].views["tokens"] == 0.0
    order = with_tokens(tokens, *DOGS, rerank=0).ids("dog house")
    assert order[0] != "7"


# ------------------------------------------------------------------- probability


def hits(mind: Mind, text: str, **how: object) -> dict[str, Hit]:
    return {hit.memory.id: hit for hit in mind.run(query(text, k=20, **how)).hits}


said = st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join)


@settings(max_examples=60, deadline=None)
@given(st.lists(said, min_size=1, max_size=8, unique=True), said, st.booleans())
def test_scoring_score_a_hit_tells_how_likely_it_answers(texts, text, vectors):
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


def test_scoring_score_the_floor_is_a_probability():
    mind = Mind(*(memory(str(n), f"dog {' '.join(WORDS[3 : 3 + n])}") for n in range(4)))
    found = hits(mind, "dog tea lisbon")
    likely = sorted(hit.probability for hit in found.values())
    assert len(set(likely)) > 2
    for floor in (likely[0] - 0.001, likely[1] + 0.001, likely[-1] + 0.001):
        kept = {id_ for id_, hit in found.items() if hit.probability >= floor}
        assert set(hits(mind, "dog tea lisbon", floor=floor)) == kept


# ------------------------------------------------------------------- why a memory was left out


def reasons(found: Recollection, offered: int | None = None, most: int = 20) -> dict[str, str]:
    assert found.trace is not None
    ids = [hit.memory.id for hit in found.hits]
    told = found.trace.left_out(set(ids), set(ids[:offered]), most)
    return {one.memory: one.reason for one in told}


def ask(mind: Mind, text: str, **how: object) -> Recollection:
    return mind.run(query(text, **how))


def test_scoring_trace_left_out_the_floor_keeps_out_all_but_what_is_pinned():
    mind = Mind(memory("dog", "My dog is called Max"), memory("tea", "I drink tea", pinned=True))
    told = reasons(ask(mind, "what is my dog called", floor=1.0))
    assert told == {"dog": LeftOutReason.BELOW_FLOOR}
    low = ask(mind, "what is my dog called", floor=1.0, keep_share=1.0)
    assert reasons(low)["dog"] == LeftOutReason.BELOW_FLOOR


def test_scoring_trace_left_out_what_stands_in_the_context_is_told_apart_by_id_and_by_words():
    mind = Mind()
    found = ask(mind, "my dog", exclude=frozenset({"dog", "tea", "unknown"}))
    assert found.trace is not None and found.trace.visible_ids == ["dog", "tea"]
    assert "dog" not in reasons(found)
    words = frozenset({fingerprint("My dog is called Max")})
    assert reasons(ask(mind, "my dog", exclude_words=words))["dog"] == LeftOutReason.ALREADY_VISIBLE


def test_scoring_trace_visible_has_what_the_llm_reads_and_not_what_is_withheld_from_it():
    mind = Mind()
    mind.searcher.set_columns("tea", local=True)
    hidden = frozenset({"dog", "tea"})
    found = ask(mind, "my dog drinks tea in Lisbon", exclude=hidden, local=False)
    assert found.trace is not None and found.trace.visible_ids == ["dog"]
    assert list(found.trace.ids) == ["dog", "trip"] and list(reasons(found)) == []


def test_scoring_trace_left_out_beyond_as_many_as_may_be_offered_or_have_room_in_the_block():
    mind = Mind(*(memory(str(n), f"Max barks at number{n}") for n in range(6)))
    found = ask(mind, "Max barks", k=4)
    assert [*reasons(found).values()] == [LeftOutReason.BEYOND_LIMIT] * 2
    told = Counter(reasons(found, offered=1).values())
    assert told == {LeftOutReason.NO_BUDGET: 3, LeftOutReason.BEYOND_LIMIT: 2}


def test_scoring_trace_left_out_the_best_come_first_with_their_scores_and_no_more_than_asked_for():
    mind = Mind(*(memory(str(n), "Max barks " * (9 - n)) for n in range(9)))
    found = ask(mind, "Max barks", k=9, keep_share=1.0)
    assert found.trace is not None
    told = found.trace.left_out(set(), set(), 3)
    assert len(told) == 3 and [t.score for t in told] == sorted(t.score for t in told)[::-1]
    best = {hit.memory.id: hit for hit in found.hits}[told[0].memory]
    assert told[0].views == best.views and told[0].probability == best.probability
