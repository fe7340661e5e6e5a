import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowcat_memory.core.ranking.offering import BEST, FULL, WORDS, best_of_top, probability

NAN = float("nan")
share = st.floats(0, 1)
near = st.floats(-1, 1)
rounded = st.floats(-2, 2)  # a little beyond what they may be


def told(coverage: float, cosine: float | None = None) -> float:
    found = probability(np.array([coverage]), None if cosine is None else np.array([cosine]))
    return float(found[0])


@given(rounded, rounded | st.just(NAN) | st.none())
def test_probability_takes_measures_beyond_their_range(
    coverage: float, cosine: float | None
) -> None:
    assert 0 < told(coverage, cosine) < 1


@given(share, share, near, near)
def test_probability_rises_with_each_measure(a: float, b: float, c: float, d: float) -> None:
    (low, high), (far, close) = sorted((a, b)), sorted((c, d))
    assert told(low, far) <= told(high, far) <= told(high, close)
    assert told(low) <= told(high)


def test_probability_of_nothing_and_of_everything_in_common() -> None:
    assert told(0.0, 0.0) < 0.05 and told(0.0) < 0.1
    assert told(1.0, 1.0) > 0.95 and told(1.0) > 0.95


@given(share)
def test_probability_without_a_vector_is_by_words(coverage: float) -> None:
    assert told(coverage, NAN) == told(coverage) == pytest.approx(
        1 / (1 + np.exp(-WORDS.bias - WORDS.coverage * coverage))
    )  # fmt: skip


def test_probability_of_each_memory_by_what_it_has() -> None:
    mixed = probability(np.array([0.4, 0.4, 0.1]), np.array([0.3, NAN, 0.3]))
    assert mixed.tolist() == pytest.approx([told(0.4, 0.3), told(0.4), told(0.1, 0.3)])
    expected = 1 / (1 + np.exp(-FULL.bias - FULL.coverage * 0.4 - FULL.cosine * 0.3))
    assert mixed[0] == pytest.approx(expected)


def test_best_of_top_is_the_likeliest_of_the_first() -> None:
    behind = np.array([*[0.1] * (BEST - 1), 0.3, 0.9])
    assert best_of_top(behind) == 0.3
    assert best_of_top(np.zeros(0)) == 0.0
