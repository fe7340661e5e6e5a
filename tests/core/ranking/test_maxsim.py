import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowcat_memory.core.ranking import token_codes
from slowcat_memory.core.ranking.maxsim import maxsim, quantise
from slowcat_memory.kernels import library
from tests.support.kernel_levels import COMPILED, each_level

lengths = st.lists(st.one_of(st.none(), st.integers(0, 7)), max_size=12)
dims = st.sampled_from([1, 3, 8, 33, 96])


def units(random: np.random.Generator, count: int, dim: int) -> np.ndarray:
    rows = random.normal(size=(count, dim)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def documents_of(
    random: np.random.Generator, counts: list[int | None], dim: int
) -> list[np.ndarray | None]:
    return [None if n is None else token_codes.encode(units(random, n, dim)) for n in counts]


def slowly(query: np.ndarray, document: np.ndarray | None) -> float:
    """What MaxSim is, one token after the other."""
    if document is None or not len(document) or not len(query):
        return float("nan")
    dim = query.shape[1]
    rows = token_codes.decode(document, dim) @ token_codes.rotation(dim).T
    best = [max(float(word @ token) for token in rows) for word in query]
    return min(1.0, float(np.mean(best)) * token_codes.SHRINKAGE)


@each_level
@given(lengths, st.integers(0, 20), dims, st.integers(0, 9))
def test_maxsim_it_is_the_mean_of_the_best_cosines(
    level: str, counts: list[int | None], words: int, dim: int, seed: int
) -> None:
    random = np.random.default_rng(seed)
    query, documents = units(random, words, dim), documents_of(random, counts, dim)
    with library.using(level):
        scores = maxsim(query, documents)
    assert scores.shape == (len(documents),) and scores.dtype == np.float32
    np.testing.assert_allclose(scores, [slowly(query, d) for d in documents], atol=1e-5)


@pytest.mark.skipif(not COMPILED, reason="no compiled library here")
def test_maxsim_wide_tokens_do_not_need_the_compiled_library() -> None:
    random = np.random.default_rng(3)
    query, documents = units(random, 3, 1030), documents_of(random, [2, 3, 4, 5], 1030)
    np.testing.assert_allclose(
        maxsim(query, documents), [slowly(query, d) for d in documents], atol=1e-5
    )


@given(st.integers(1, 9), st.integers(0, 9))
def test_maxsim_a_text_meets_itself_in_any_order(count: int, seed: int) -> None:
    tokens = units(np.random.default_rng(seed), count, 96)
    (score,) = maxsim(tokens, [token_codes.encode(tokens[::-1])])
    assert abs(score - 1) < 0.05


def test_maxsim_small_numbers_cost_little() -> None:
    tokens = units(np.random.default_rng(1), 200, 8)
    kept = quantise(tokens)
    assert kept.dtype == np.int8 and np.abs(kept / 127 - tokens).max() <= 0.5 / 127 + 1e-6
