"""Candidates to scores, seen from a recall: priors, neighbours, tokens, probability."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slowcat_memory.core.ranking.offering import probability
from slowcat_memory.core.ranking.score import FuseOptions
from slowcat_memory.records import Hit, Memory
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


def test_scoring_score_tokens_reorder_the_best() -> None:
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
