import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowcat_memory.core.ranking.calibration import BEST, FULL, WORDS, among, probability

NAN = float("nan")
share = st.floats(0, 1)
near = st.floats(-1, 1)
rounded = st.floats(-2, 2)  # a little beyond what they may be


def told(coverage: float, cosine: float | None = None) -> float:
    found = probability(np.array([coverage]), None if cosine is None else np.array([cosine]))
    return float(found[0])


@given(share, near | st.just(NAN) | st.none())
def test_it_is_a_probability(coverage: float, cosine: float | None) -> None:
    assert 0 < told(coverage, cosine) < 1


@given(rounded, rounded | st.just(NAN) | st.none())
def test_no_measure_takes_it_out_of_its_range(coverage: float, cosine: float | None) -> None:
    assert 0 < told(coverage, cosine) < 1


@given(share, share, near, near)
def test_more_of_either_measure_is_never_less_likely(
    a: float, b: float, c: float, d: float
) -> None:
    (low, high), (far, close) = sorted((a, b)), sorted((c, d))
    assert told(low, far) <= told(high, far) <= told(high, close)
    assert told(low) <= told(high)


def test_both_measures_count() -> None:
    assert told(0.0, 0.5) < told(0.5, 0.5) < told(0.5, 0.9)
    assert told(0.0) < told(0.5)


def test_nothing_in_common_is_unlikely_and_everything_is_likely() -> None:
    assert told(0.0, 0.0) < 0.05 and told(0.0) < 0.1
    assert told(1.0, 1.0) > 0.95 and told(1.0) > 0.95


@given(share)
def test_without_a_vector_words_decide(coverage: float) -> None:
    assert told(coverage, NAN) == told(coverage) == pytest.approx(
        1 / (1 + np.exp(-WORDS.bias - WORDS.coverage * coverage))
    )  # fmt: skip


def test_each_memory_is_judged_by_what_it_has() -> None:
    mixed = probability(np.array([0.4, 0.4, 0.1]), np.array([0.3, NAN, 0.3]))
    assert mixed.tolist() == pytest.approx([told(0.4, 0.3), told(0.4), told(0.1, 0.3)])
    expected = 1 / (1 + np.exp(-FULL.bias - FULL.coverage * 0.4 - FULL.cosine * 0.3))
    assert mixed[0] == pytest.approx(expected)


def test_nobody_to_judge() -> None:
    assert probability(np.zeros(0)).shape == probability(np.zeros(0), np.zeros(0)).shape == (0,)


def test_the_likeliest_of_the_best_decides() -> None:
    behind = np.array([*[0.1] * (BEST - 1), 0.3, 0.9])
    assert among(behind) == 0.3
    assert among(np.zeros(0)) == 0.0
