"""Candidates to one order, with tokens and without."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from slowcat_memory.config import build
from slowcat_memory.core.ranking.score import (
    VIEWS,
    WEIGHTS,
    Candidates,
    FuseOptions,
    RankOptions,
    Row,
    score,
)
from tests.support.frames import frame_at_random, question_at_random

seeds = st.integers(0, 2**32 - 1)
sizes = st.sampled_from([0, 1, 2, 5, 40, 300])
views = st.frozensets(st.sampled_from(sorted(VIEWS))).map(
    # Without vectors there are no cosines of keys or judged queries either.
    lambda names: names if "dense" in names else names & {"window"}
)


@settings(deadline=None)
@given(seed=seeds, size=sizes, views=views)
def test_score_what_the_caller_has_already_is_ranked_like_all_others(
    seed: int, size: int, views: frozenset[str]
) -> None:
    random = np.random.default_rng(seed)
    frame, question = frame_at_random(random, size, views), question_at_random(random)
    block = frame.block.copy()
    block[Row.VISIBLE] = 0
    similarity = random.random(size)
    orders = [
        score(one, question, FuseOptions(), RankOptions(), WEIGHTS, lambda best: similarity).order
        for one in (frame, replace(frame, block=block))
    ]
    assert sorted(orders[0]) == list(range(size))
    assert orders[0].tolist() == orders[1].tolist()


def test_score_equal_scores_stay_in_order_and_a_missing_one_is_last() -> None:
    random = np.random.default_rng(7)
    frame = frame_at_random(random, 400, frozenset(), visible=0.0)
    frame.block[: Row.VISIBLE] = np.where(frame.block[:1] > 1, 1.0, 0.5)
    frame.block[[Row.BEFORE, Row.AFTER]] = -1
    frame.block[Row.IMPORTANCE, [3, 50]] = np.nan
    question = replace(question_at_random(random), times=(), speakers=())
    found = score(frame, question, FuseOptions(), RankOptions())
    key = np.where(np.isnan(found.scores), -np.inf, found.scores)
    assert list(found.order) == sorted(range(400), key=lambda n: (-key[n], n))
    assert list(found.order[-2:]) == [3, 50] and len(set(key.round(9))) == 3


def test_score_the_best_are_compared_by_their_tokens_and_the_others_are_not() -> None:
    random, compared = np.random.default_rng(1), list[list[int]]()
    frame, question = frame_at_random(random, 30, frozenset()), question_at_random(random)
    plain = score(frame, question, FuseOptions(), RankOptions())

    def compare(best: np.ndarray) -> np.ndarray:
        compared.append(best.tolist())
        return np.linspace(0, 1, 30)

    found = score(frame, question, FuseOptions(rerank=7), RankOptions(), compare=compare)
    assert compared == [plain.order[:7].tolist()] and found.views["tokens"].max() == 1.0
    score(frame, question, FuseOptions(tokens=0.0), RankOptions(), compare=compare)
    assert len(compared) == 1


# ------------------------------------------------------------------- weights of the fields


def fused(fields: dict[str, list[float]], sessions: list[int], **options: Any) -> list[float]:
    """Return scores by fields alone, without priors and smoothing."""
    block = np.full((len(Row), len(sessions)), np.nan)
    block[Row.IMPORTANCE], block[Row.SUBSTANCE] = 0.5, 1.0
    block[[Row.AT, Row.AGENT, Row.PINNED, Row.SPEAKER]] = 0.0
    block[Row.SESSION] = sessions
    for name, values in fields.items():
        block[VIEWS[name]] = values
    question = replace(question_at_random(np.random.default_rng(0)), speakers=(), times=())
    candidates = Candidates(block=block, known=frozenset(fields))
    options = {"session": 0.0, "smoothing": 0.0, **options}
    return score(candidates, question, FuseOptions(**options), RankOptions(recency=0)).scores


def test_score_only_the_ratio_of_weights_counts_and_a_missing_field_leaves_its_weight() -> None:
    fields = {"window": [1.0, 0.5], "dense": [0.2, 1.0]}
    expected = pytest.approx([(2 + 0.2) / 3, (1 + 1.0) / 3])
    for weights in ({"window": 0.2, "dense": 0.1}, {"window": 2.0, "dense": 1.0}):
        assert fused(fields, [1, 2], **weights, tokens=0.9) == expected


def test_score_by_ranks_a_lead_counts_no_more_than_a_place() -> None:
    chosen = build({"recall": {"fusion": "rrf"}}).fuse.method
    fields = {"window": [1.0, 0.1, 0.0, 0.1], "dense": [0.9, 1.0, 0.0, np.nan]}
    found = fused(fields, [1, 2, 3, 4], method=chosen, rrf_k=1.0, window=1.0, dense=1.0)
    assert found == pytest.approx([(1 + 2 / 3) / 2, (2 / 3 + 1) / 2, 0.0, (2 / 3) / 2])


def test_score_keys_count_by_the_share_of_the_candidates_that_have_any() -> None:
    fields = {"window": [1.0, 1.0], "dense": [1.0, 1.0], "keys": [0.9, np.nan]}
    options = {"dense": 0.0, "keys": 1.0, "keys_long": 1.0, "window": 0.5, "window_with_keys": 0.5}
    assert fused(fields, [1, 2], **options) == pytest.approx([1.0, 0.5])
