from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowcat_memory.core.ranking import fusion
from slowcat_memory.core.ranking.fusion import (
    OF_SESSION,
    UNRELATED_TOKENS,
    VIEWS,
    FuseOptions,
    by_cosine,
    by_maximum,
    by_session,
    by_tokens,
    distinct,
    normalise,
    smooth,
)

NAN = float("nan")
bm25 = st.lists(st.floats(0, 50, width=32), min_size=1, max_size=20)
cosine = st.floats(-1, 1, width=32) | st.just(NAN)
cosines = st.lists(cosine, min_size=1, max_size=20)
of_sessions = st.lists(st.tuples(st.floats(0, 50, width=16), st.integers(0, 5)), max_size=25)
weight = st.floats(0, 1)


def array(values: list[float]) -> np.ndarray:
    return np.array(values, np.float32)


def views(scores: list[float], dense: bool = True) -> dict[str, np.ndarray]:
    lexical = by_maximum(array(scores))
    made = {"turn": lexical, "window": lexical[::-1]}
    return {**made, "dense": by_cosine(array(scores) / 50)} if dense else made


# ------------------------------------------------------------------- one view to 0..1


@given(bm25)
def test_by_maximum_lexical_scores_become_shares_of_the_best(scores: list[float]) -> None:
    scaled = by_maximum(array(scores))
    assert scaled.min() >= 0 and scaled.max() in (0.0, 1.0)
    assert (scaled > 0).tolist() == [
        score > 0 and float(np.float32(score / max(scores))) > 0 for score in scores
    ]


@given(cosines, st.floats(0, 0.5))
def test_by_cosine_cosines_become_0_to_1_and_none_counts_as_worst(
    scores: list[float], zero: float
) -> None:
    scaled = by_cosine(array(scores), zero)
    assert scaled.shape == (len(scores),)
    assert ((scaled >= 0) & (scaled <= 1)).all() and scaled.max() in (0.0, 1.0)
    assert (scaled[np.isnan(array(scores))] == 0).all()


def test_by_cosine_counts_from_a_fixed_point_whoever_else_is_a_candidate() -> None:
    few, more = by_cosine(array([0.8, 0.4])), by_cosine(array([0.8, 0.4, -0.3, 0.1]))
    assert few.tolist() == pytest.approx([1.0, 0.5]) == more[:2].tolist()
    assert more[2:].tolist() == pytest.approx([0.0, 0.125])
    assert by_cosine(array([0.8, 0.4, 0.2]), 0.2).tolist() == pytest.approx([1, 1 / 3, 0])


def test_by_cosine_absent_scores_say_nothing() -> None:
    for scores in ([], [-0.5], [0.0, -0.1], [NAN], [NAN, NAN]):
        assert by_cosine(array(scores)).tolist() == [0.0] * len(scores)
    assert by_cosine(array([NAN, 0.5, NAN])).tolist() == [0.0, 1.0, 0.0]
    assert by_maximum(array([])).tolist() == []
    assert by_maximum(array([0.0, 0.0])).tolist() == [0.0, 0.0]


@given(cosines)
def test_by_tokens_without_tokens_a_memory_is_as_good_as_the_worst_that_has_some(
    scores: list[float],
) -> None:
    raw = array(scores)
    scaled, known = by_tokens(raw), ~np.isnan(raw)
    assert ((scaled >= 0) & (scaled <= 1)).all()
    if known.any():
        assert np.array_equal(scaled[known], by_cosine(raw, UNRELATED_TOKENS)[known])
        assert (scaled[~known] == scaled[known].min()).all()
    else:
        assert not scaled.any()


def test_by_tokens_tokens_count_from_what_unrelated_ones_reach() -> None:
    best, half = 0.8, (0.8 + UNRELATED_TOKENS) / 2
    assert by_tokens(array([best, NAN, half])).tolist() == pytest.approx([1.0, 0.5, 0.5])
    assert by_tokens(array([best, half, 0.1, NAN])).tolist() == pytest.approx([1, 0.5, 0, 0])
    assert by_tokens(array([])).tolist() == []


# ------------------------------------------------------------------- sessions


def slow_by_session(scores: list[float], sessions: list[int]) -> list[float]:
    said = defaultdict(list)
    for score, session in zip(scores, sessions, strict=True):
        said[session].append(score)
    sums = {session: sum(sorted(all_)[-OF_SESSION:]) for session, all_ in said.items()}
    best = max(sums.values(), default=0.0)
    return [sums[session] / best if best else 0.0 for session in sessions]


@given(of_sessions)
def test_by_session_a_session_is_worth_its_three_best(candidates: list[tuple[float, int]]) -> None:
    scores, sessions = [score for score, _ in candidates], [session for _, session in candidates]
    told = by_session(array(scores), np.array(sessions, np.int32))
    assert told.tolist() == pytest.approx(slow_by_session(scores, sessions), abs=1e-5)


def test_by_session_one_that_says_it_repeatedly_is_before_one_that_says_it_once() -> None:
    scores = array([0.9, 0.5, 0.5, 0.0, 0.5, 0.5])
    told = by_session(scores, np.array([7, 4, 4, 4, 4, 4]))
    assert told.tolist() == pytest.approx([0.9 / 1.5, 1, 1, 1, 1, 1])  # the fourth counts no more


def test_normalise_cosines_tell_a_session_twice_as_little_as_words() -> None:
    raw = {"window": array([4.0, 0.0, 0.0]), "turn": array([1.0, 2.0, 0.0])}
    sessions = np.array([1, 2, 2])
    words = normalise(raw, sessions)
    assert set(words) == {"window", "turn", "session"}
    assert words["session"].tolist() == [1.0, 0.0, 0.0]
    assert words["turn"].tolist() == [0.5, 1.0, 0.0]
    full = normalise({**raw, "dense": array([0.3, 0.6, NAN])}, sessions)
    assert full["dense"].tolist() == pytest.approx([0.5, 1.0, 0.0])
    assert full["session"].tolist() == pytest.approx([(2 + 0.25) / 3, 1 / 3, 1 / 3])


def test_normalise_nothing_to_scale() -> None:
    none = normalise({"window": array([]), "turn": array([]), "dense": array([])}, np.array([]))
    assert all(len(scores) == 0 for scores in none.values())


@given(st.lists(st.tuples(st.floats(0, 50, width=32), cosine, st.integers(0, 3)), min_size=1))
def test_normalise_whatever_comes_in_every_view_is_0_to_1(
    found: list[tuple[float, float, int]],
) -> None:
    words, near, sessions = (list(column) for column in zip(*found, strict=True))
    raw = {"window": array(words), "turn": array(words), "dense": array(near)}
    for scores in normalise(raw, np.array(sessions)).values():
        assert ((scores >= 0) & (scores <= 1 + 1e-6)).all()


# ------------------------------------------------------------------- views to one score


def test_fusion_weights_are_those_of_the_views_and_of_nothing_else() -> None:
    made = dict(dense=0.1, tokens=0.2, window=0.3, turn=0.4, session=0.5, keys=0.7)
    of_keys = {"turn_with_keys": 0.4, "window_with_keys": 0.3}
    options = FuseOptions(**made, **of_keys, rerank=7, smoothing=0.9)  # type: ignore[arg-type]
    assert options.weights(1.0) == made
    assert options.weights() == made | {"keys": 0.0}
    assert tuple(made) == VIEWS
    usual = FuseOptions().weights()  # of the views that are on
    assert usual["turn"] < 0.1
    assert sum(usual.values()) - usual["turn"] == pytest.approx(1.0)


def test_fusion_keyed_share_counts_as_many_as_have_any() -> None:
    some = [fusion.keyed_share(array([0.5] * n + [NAN] * (8 - n))) for n in (0, 2, 8)]
    assert some == [0.0, 0.25, 1.0]
    assert fusion.keyed_share(None) == 0.0 == fusion.keyed_share(array([]))


@given(weight, weight, weight, st.booleans())
def test_fusion_fuse_missing_views_give_their_weight_to_the_others(
    dense: float, window: float, tokens: float, has_dense: bool
) -> None:
    options = FuseOptions(dense=dense, window=window, tokens=tokens)
    best = {name: array([1.0, 0.5, 0.0]) for name in views([1.0], has_dense)}
    fused = fusion.fuse(best, options)
    assert fused[0] == pytest.approx(1.0, abs=1e-5)
    assert fused[0] > fused[1] > fused[2] == 0


def test_fusion_fuse_only_the_ratio_of_weights_counts() -> None:
    made = {"turn": array([0.2, 1.0]), "dense": array([1.0, 0.4]), "session": array([0.5, 0.5])}
    small = FuseOptions(dense=0.1, tokens=0.9, window=0.9, turn=0.2, session=0.1)
    large = FuseOptions(dense=1.0, tokens=0.0, window=0.0, turn=2.0, session=1.0)
    expected = [(0.2 * 2 + 1.0 + 0.5) / 4, (2.0 + 0.4 + 0.5) / 4]
    for options in (small, large):
        assert fusion.fuse(made, options).tolist() == pytest.approx(expected)


def test_fusion_fuse_weight_on_nothing_but_what_is_missing_leaves_all_the_others_equal() -> None:
    options = FuseOptions(dense=0, tokens=1, window=0, turn=0, turn_by_words=0, session=0)
    made = {"turn": array([1.0, 0.0]), "window": array([0.5, 0.5])}
    assert fusion.fuse(made, options).tolist() == pytest.approx([0.75, 0.25])


def test_fusion_fuse_a_turns_own_words_count_more_where_there_are_no_vectors() -> None:
    lexical = {"turn": array([1.0, 0.0]), "window": array([0.0, 1.0])}
    options = FuseOptions(window=0.25, turn=0.05, turn_by_words=0.75, session=0, dense=0.7)
    assert fusion.fuse(lexical, options).tolist() == pytest.approx([0.75, 0.25])
    with_vectors = fusion.fuse({**lexical, "dense": array([0.0, 0.0])}, options)
    assert with_vectors.tolist() == pytest.approx([0.05, 0.25])


@given(bm25, st.randoms(use_true_random=False))
def test_fusion_fuse_the_order_of_candidates_does_not_matter(scores: list[float], chance) -> None:
    options = FuseOptions()
    made = views(scores)
    order = list(range(len(scores)))
    chance.shuffle(order)
    shuffled = {name: values[order] for name, values in made.items()}
    assert np.allclose(fusion.fuse(made, options)[order], fusion.fuse(shuffled, options), atol=1e-6)


def test_smooth_takes_a_share_of_each_neighbour() -> None:
    scores = array([1.0, 0.0, 0.5])
    before, after = np.array([-1, 0, 1]), np.array([1, 2, -1])
    assert np.allclose(smooth(scores, before, after, 0.5), [0.5, 0.375, 0.25])
    assert np.allclose(smooth(scores, before, after, 0.0), scores)


@given(bm25)
def test_smooth_never_leaves_the_range(scores: list[float]) -> None:
    size = len(scores)
    smoothed = smooth(array(scores), np.arange(size) - 1, np.r_[1:size, -1], 0.3)
    assert smoothed.min() >= 0 and smoothed.max() <= max(scores) + 1e-4


def test_distinct_the_first_of_equal_texts_stays() -> None:
    texts = ["My dog is Max.", "my DOG is max", "Moritz is a cat", "My dog is Max!", ""]
    assert distinct(texts, 0.8) == [0, 2, 4]
    assert distinct(["...", "!?"], 0.8) == [0]
    assert distinct([], 0.8) == []


def test_distinct_near_equal_is_a_matter_of_degree() -> None:
    texts = ["one two three four", "one two three five"]  # 3 of 5 words in common
    assert distinct(texts, 0.6) == [0]
    assert distinct(texts, 0.61) == [0, 1]
