import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowcat_memory.core import fuse
from slowcat_memory.core.fuse import FuseOptions, by_maximum, by_range, distinct, normalise, smooth

bm25 = st.lists(st.floats(0, 50, width=32), min_size=1, max_size=20)
cosines = st.lists(st.floats(-1, 1, width=32) | st.just(float("nan")), min_size=1, max_size=20)
methods = st.sampled_from(["scores", "rrf"])
OPTIONS = FuseOptions()


def array(values: list[float]) -> np.ndarray:
    return np.array(values, np.float32)


def views(scores: list[float], dense: bool = True) -> dict[str, np.ndarray]:
    lexical = by_maximum(array(scores))
    made = {"turn": lexical, "window": lexical[::-1]}
    return {**made, "dense": by_range(array(scores) / 50)} if dense else made


@given(bm25)
def test_lexical_scores_become_shares_of_the_best(scores: list[float]) -> None:
    scaled = normalise("turn", array(scores))
    assert scaled.min() >= 0 and scaled.max() in (0.0, 1.0)
    assert (scaled > 0).tolist() == [score > 0 and score / max(scores) > 1e-45 for score in scores]


@given(cosines)
def test_cosines_become_0_to_1_and_none_counts_as_worst(scores: list[float]) -> None:
    scaled = normalise("dense", array(scores))
    assert scaled.shape == (len(scores),)
    assert ((scaled >= 0) & (scaled <= 1)).all()
    assert (scaled[np.isnan(array(scores))] == 0).all()


def test_equal_and_absent_scores_say_nothing() -> None:
    nan = float("nan")
    for scores in ([], [0.5], [0.5, 0.5], [nan], [nan, 0.5, nan]):
        assert by_range(array(scores)).tolist() == [0.0] * len(scores)
    assert by_maximum(array([])).tolist() == []
    assert by_maximum(array([0.0, 0.0])).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("dense", [0.0, 0.3, 0.55, 1.0])
@pytest.mark.parametrize("window", [0.0, 0.7, 1.0])
def test_weights_sum_to_1(dense: float, window: float) -> None:
    assert sum(FuseOptions(dense=dense, window=window).weights().values()) == pytest.approx(1.0)


@given(methods, st.floats(0, 1), st.floats(0, 1), st.booleans())
def test_missing_views_give_their_weight_to_the_others(
    method: str, dense: float, window: float, has_dense: bool
) -> None:
    options = FuseOptions(method=method, dense=dense, window=window)  # type: ignore[arg-type]
    best = {name: array([1.0, 0.5, 0.0]) for name in views([1.0], has_dense)}
    fused = fuse.fuse(best, options)
    assert fused[0] == pytest.approx(1.0, abs=1e-5)
    assert fused[0] > fused[1] > fused[2] == 0


@given(bm25, methods, st.randoms(use_true_random=False))
def test_the_order_of_candidates_does_not_matter(scores: list[float], method: str, chance) -> None:
    options = FuseOptions(method=method)  # type: ignore[arg-type]
    made = views(scores)
    order = list(range(len(scores)))
    chance.shuffle(order)
    shuffled = {name: values[order] for name, values in made.items()}
    assert np.allclose(fuse.fuse(made, options)[order], fuse.fuse(shuffled, options), atol=1e-6)


def test_reciprocal_ranks_are_those_of_the_paper() -> None:
    options = FuseOptions(method="rrf", dense=0.5, window=0.0, rrf_k=60)
    made = {"turn": array([0.9, 0.1, 0.0]), "dense": array([0.2, 1.0, 0.3])}
    paper = [1 / 61 + 1 / 63, 1 / 62 + 1 / 61, 1 / 62]
    assert np.allclose(fuse.fuse(made, options), np.array(paper) * 61 / 2, atol=1e-6)


def test_smoothing_takes_a_share_of_each_neighbour() -> None:
    scores = array([1.0, 0.0, 0.5])
    before, after = np.array([-1, 0, 1]), np.array([1, 2, -1])
    assert np.allclose(smooth(scores, before, after, 0.5), [0.5, 0.375, 0.25])
    assert np.allclose(smooth(scores, before, after, 0.0), scores)


@given(bm25)
def test_smoothing_never_leaves_the_range(scores: list[float]) -> None:
    size = len(scores)
    smoothed = smooth(array(scores), np.arange(size) - 1, np.r_[1:size, -1], 0.3)
    assert smoothed.min() >= 0 and smoothed.max() <= max(scores) + 1e-4


def test_the_first_of_equal_texts_stays() -> None:
    texts = ["My dog is Max.", "my DOG is max", "Moritz is a cat", "My dog is Max!", ""]
    assert distinct(texts, 0.8) == [0, 2, 4]
    assert distinct(["...", "!?"], 0.8) == [0]
    assert distinct([], 0.8) == []


def test_near_equal_is_a_matter_of_degree() -> None:
    texts = ["one two three four", "one two three five"]  # 3 of 5 words in common
    assert distinct(texts, 0.6) == [0]
    assert distinct(texts, 0.61) == [0, 1]
