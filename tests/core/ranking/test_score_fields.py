from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowcat_memory.core.ranking.offering import distinct
from slowcat_memory.core.ranking.score import (
    OF_SESSION,
    UNRELATED_TOKENS,
    Row,
    by_cosine,
    by_maximum,
    by_session,
    by_tokens,
    normalise,
    smooth,
)

NAN = float("nan")
bm25 = st.lists(st.floats(0, 50, width=32), min_size=1, max_size=20)
cosine = st.floats(-1, 1, width=32) | st.just(NAN)
cosines = st.lists(cosine, min_size=1, max_size=20)
of_sessions = st.lists(st.tuples(st.floats(0, 50, width=16), st.integers(0, 5)), max_size=25)


def array(values: list[float]) -> np.ndarray:
    return np.array(values, np.float32)


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


def in_sessions(sessions: list[int]) -> np.ndarray:
    block = np.zeros((len(Row), len(sessions)))
    block[Row.SESSION] = sessions
    return block


def test_normalise_cosines_tell_a_session_twice_as_little_as_words() -> None:
    raw = {"window": array([4.0, 0.0, 0.0])}
    sessions = [1, 2, 2]
    words = normalise(raw, in_sessions(sessions))
    assert set(words) == {"window", "session"}
    assert words["session"].tolist() == [1.0, 0.0, 0.0]
    full = normalise({**raw, "dense": array([0.3, 0.6, NAN])}, in_sessions(sessions))
    assert full["dense"].tolist() == pytest.approx([0.5, 1.0, 0.0])
    assert full["session"].tolist() == pytest.approx([(2 + 0.25) / 3, 1 / 3, 1 / 3])


@given(st.lists(st.tuples(st.floats(0, 50, width=32), cosine, st.integers(0, 3)), min_size=1))
def test_normalise_whatever_comes_in_every_view_is_0_to_1(
    found: list[tuple[float, float, int]],
) -> None:
    words, near, sessions = (list(column) for column in zip(*found, strict=True))
    raw = {"window": array(words), "dense": array(near)}
    for scores in normalise(raw, in_sessions(sessions)).values():
        assert ((scores >= 0) & (scores <= 1 + 1e-6)).all()


def chained(size: int) -> np.ndarray:
    block = np.zeros((len(Row), size))
    block[Row.BEFORE], block[Row.AFTER] = np.arange(size) - 1, np.r_[1:size, -1]
    return block


def test_smooth_takes_a_share_of_each_neighbour() -> None:
    scores = array([1.0, 0.0, 0.5])
    assert np.allclose(smooth(scores, chained(3), 0.5), [0.5, 0.375, 0.25])
    assert np.allclose(smooth(scores, chained(3), 0.0), scores)


@given(bm25)
def test_smooth_never_leaves_the_range(scores: list[float]) -> None:
    smoothed = smooth(array(scores), chained(len(scores)), 0.3)
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
