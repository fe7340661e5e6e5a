import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from slowcat_memory.core.ranking.maxsim import maxsim, quantise

DIM = 8
lengths = st.lists(st.one_of(st.none(), st.integers(0, 7)), max_size=12)


def units(random: np.random.Generator, count: int) -> np.ndarray:
    rows = random.normal(size=(count, DIM)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def slowly(query: np.ndarray, document: np.ndarray | None) -> float:
    """What MaxSim is, one token after the other."""
    if document is None or not len(document) or not len(query):
        return float("nan")
    return float(np.mean([max(float(word @ token) for token in document) for word in query])) / 127


@given(lengths, st.integers(0, 5), st.integers(0, 9))
def test_maxsim_it_is_the_mean_of_the_best_cosines(
    counts: list[int | None], words: int, seed: int
) -> None:
    random = np.random.default_rng(seed)
    query = units(random, words)
    documents = [None if n is None else quantise(units(random, n)) for n in counts]
    scores = maxsim(query, documents)
    assert scores.shape == (len(documents),) and scores.dtype == np.float32
    np.testing.assert_allclose(scores, [slowly(query, d) for d in documents], atol=1e-5)


@given(st.integers(1, 9), st.integers(0, 9))
def test_maxsim_a_text_meets_itself_in_any_order(count: int, seed: int) -> None:
    tokens = units(np.random.default_rng(seed), count)
    (score,) = maxsim(tokens, [quantise(tokens[::-1])])
    assert abs(score - 1) < 0.02


def test_maxsim_small_numbers_cost_little() -> None:
    tokens = units(np.random.default_rng(1), 200)
    kept = quantise(tokens)
    assert kept.dtype == np.int8 and np.abs(kept / 127 - tokens).max() <= 0.5 / 127 + 1e-6
