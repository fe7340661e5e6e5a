import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from slowcat_memory.core.ranking.offering import probability

NAN = float("nan")
rounded = st.floats(-2, 2)  # a little beyond what they may be


def told(coverage: float, cosine: float | None = None) -> float:
    found = probability(np.array([coverage]), None if cosine is None else np.array([cosine]))
    return float(found[0])


@given(rounded, rounded | st.just(NAN) | st.none())
def test_probability_takes_measures_beyond_their_range(
    coverage: float, cosine: float | None
) -> None:
    assert 0 < told(coverage, cosine) < 1
