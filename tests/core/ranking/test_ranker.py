"""Both steps of ranking."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from slowcat_memory.core.ranking.frame import VIEWS, Frame, Row
from slowcat_memory.core.ranking.fusion import FuseOptions
from slowcat_memory.core.ranking.priors import RankOptions
from slowcat_memory.core.ranking.ranker import Ranker, Scores
from slowcat_memory.core.ranking.selection import PLAIN, WEIGHTS
from tests.support.frames import frame_at_random, question_at_random, without_visible

CLOSE = {"atol": 1e-9, "rtol": 1e-9}

seeds = st.integers(0, 2**32 - 1)
sizes = st.sampled_from([0, 1, 2, 5, 40, 300])
views = st.frozensets(st.sampled_from(sorted(VIEWS))).map(
    # Without vectors there are no cosines of keys or judged queries either.
    lambda names: names if "dense" in names else names & {"window", "turn"}
)


def assert_same_order(found: np.ndarray, expected: np.ndarray, scores: np.ndarray) -> None:
    """Compare orders; scores that differ in their last bits may change places."""
    assert sorted(found) == sorted(expected)
    np.testing.assert_allclose(scores[found], scores[expected], **CLOSE)


def assert_same(found: Scores, expected: Scores) -> None:
    """Compare what counts."""
    assert_same_order(found.order, expected.order, expected.scores)
    assert found.views.keys() == expected.views.keys()
    where = expected.order
    for one, other in zip(found.views.values(), expected.views.values(), strict=True):
        np.testing.assert_allclose(one[where], other[where], **CLOSE)
    for name in ("scores", "coverage", "probability", "priors"):
        one, other = getattr(found, name)[where], getattr(expected, name)[where]
        np.testing.assert_allclose(one, other, **CLOSE)


def similarity_of(random: np.random.Generator, scored: Scores, size: int) -> np.ndarray | None:
    """MaxSim of the best, some of it unknown; at times of none."""
    similarity = np.full(size, np.nan)
    best = scored.order[:20]
    similarity[best] = np.where(random.random(len(best)) < 0.2, np.nan, random.random(len(best)))
    return [similarity, similarity, np.full(size, np.nan), None][random.integers(4)]


@settings(deadline=None)
@given(seed=seeds, size=sizes, views=views)
def test_ranker_what_the_caller_has_already_changes_nothing_for_the_others(
    seed: int, size: int, views: frozenset[str]
) -> None:
    random = np.random.default_rng(seed)
    frame, question = frame_at_random(random, size, views), question_at_random(random)
    ranker = Ranker(FuseOptions(), RankOptions())
    fewer, kept = without_visible(frame)
    with np.errstate(all="ignore"):
        found, alone = ranker.score(frame, question), ranker.score(fewer, question)
        assert_same_order(found.order, kept[alone.order], found.scores)
        np.testing.assert_allclose(found.scores[kept], alone.scores, **CLOSE)
        similarity = similarity_of(random, found, size)
        rest = None if similarity is None else similarity[kept]
        found = ranker.rank(frame, question, found, similarity, WEIGHTS)
        alone = ranker.rank(fewer, question, alone, rest, WEIGHTS)
        assert_same_order(found.order, kept[alone.order], found.scores)
        every = ranker.score(frame, question, every=True)
        plain = ranker.score(unmarked(frame), question)
        assert_same(every, plain)


def unmarked(frame: Frame) -> Frame:
    block = frame.block.copy()
    block[Row.VISIBLE] = 0
    return replace(frame, block=block)


def test_ranker_equal_scores_stay_in_order_and_a_missing_one_is_last() -> None:
    random = np.random.default_rng(7)
    frame = frame_at_random(random, 400, frozenset(), visible=0.0)
    frame.block[: Row.VISIBLE] = np.where(frame.block[:1] > 1, 1.0, 0.5)
    frame.block[[Row.BEFORE, Row.AFTER]] = -1
    frame.block[Row.IMPORTANCE, [3, 50]] = np.nan
    question = replace(question_at_random(random), times=(), speakers=())
    found = Ranker(FuseOptions(), RankOptions()).score(frame, question)
    key = np.where(np.isnan(found.scores), -np.inf, found.scores)
    assert list(found.order) == sorted(range(400), key=lambda n: (-key[n], n))
    assert list(found.order[-2:]) == [3, 50] and len(set(key.round(9))) == 3


@pytest.mark.parametrize("size", [0, 1, 30])
def test_ranker_scores_stay_as_they_were_when_tokens_are_added(size: int) -> None:
    random = np.random.default_rng(size)
    frame, question = (
        frame_at_random(random, size, frozenset({"dense"})),
        question_at_random(random),
    )
    ranker = Ranker(FuseOptions(), RankOptions())
    scored = ranker.score(frame, question)
    before = scored.scores.copy(), scored.order.copy()
    first = ranker.rank(frame, question, scored, np.linspace(0, 1, size), WEIGHTS)
    kept = first.scores.copy()
    ranker.rank(frame, question, scored, np.linspace(1, 0, size), PLAIN)
    assert np.array_equal(scored.scores, before[0]) and np.array_equal(scored.order, before[1])
    assert np.array_equal(first.scores, kept)
