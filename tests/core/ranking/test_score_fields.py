import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from slowcat_memory.core.ranking.offering import distinct
from slowcat_memory.core.ranking.score import (
    UNRELATED_TOKENS,
    by_cosine,
    by_tokens,
)

NAN = float("nan")
cosine = st.floats(-1, 1, width=32) | st.just(NAN)
cosines = st.lists(cosine, min_size=1, max_size=20)


def array(values: list[float]) -> np.ndarray:
    return np.array(values, np.float32)


# ------------------------------------------------------------------- one view to 0..1


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


# ------------------------------------------------------------------- sessions


def test_distinct_the_first_of_equal_texts_stays() -> None:
    texts = ["My dog is Max.", "my DOG is max", "Moritz is a cat", "My dog is Max!", ""]
    assert distinct(texts, 0.8) == [0, 2, 4]
    assert distinct(["...", "!?"], 0.8) == [0]
    assert distinct([], 0.8) == []
