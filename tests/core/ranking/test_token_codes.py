"""Codes of tokens and of vectors keep what is compared."""

import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowcat_memory.core.ranking import token_codes
from slowcat_memory.core.ranking.token_codes import as_kept, maxsim

# ------------------------------------------------------------------- token codes


def units(seed: int, count: int, dim: int = 96) -> np.ndarray:
    rows = np.random.default_rng(seed).normal(size=(count, dim)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.mark.parametrize("dim", [1, 2, 3, 7, 32, 96, 128])
def test_token_codes_the_rotation_keeps_cosines_and_spreads_every_coordinate(dim: int) -> None:
    rotation = token_codes.rotation(dim)
    np.testing.assert_allclose(rotation @ rotation.T, np.eye(dim), atol=1e-5)
    if dim >= 32:
        assert np.abs(rotation).max() < 0.75, "no coordinate stays alone"


def test_token_codes_the_rotation_is_the_same_for_ever() -> None:
    """Stored codes cannot be read with another one."""
    signs = (token_codes.rotation(96) > 0).tobytes()
    assert hashlib.sha256(signs).hexdigest()[:16] == "59bf7d862b95d4fd"


def slowly(query: np.ndarray, document: np.ndarray | None) -> float:
    """Return the MaxSim of a document, one token after the other."""
    if document is None or not len(document) or not len(query):
        return float("nan")
    dim = query.shape[1]
    rows = token_codes.decode(document, dim) @ token_codes.rotation(dim).T
    best = [max(float(word @ token) for token in rows) for word in query]
    return min(1.0, float(np.mean(best)) * token_codes.SHRINKAGE)


@given(
    st.lists(st.one_of(st.none(), st.integers(0, 7)), max_size=12),
    st.integers(0, 20),
    st.sampled_from([1, 3, 8, 33, 96]),
    st.integers(0, 9),
)
def test_maxsim_it_is_the_mean_of_the_best_cosines(counts, words, dim, seed):
    query = units(seed, words, dim)
    documents = [
        None if n is None else token_codes.encode(units(seed + 10 * place, n, dim))
        for place, n in enumerate(counts)
    ]
    scores = maxsim(query, documents)
    assert scores.shape == (len(documents),) and scores.dtype == np.float32
    np.testing.assert_allclose(scores, [slowly(query, d) for d in documents], atol=1e-5)


@given(st.integers(1, 9), st.integers(0, 9))
def test_maxsim_a_text_meets_itself_in_any_order(count: int, seed: int) -> None:
    tokens = units(seed, count)
    (score,) = maxsim(tokens, [token_codes.encode(tokens[::-1])])
    assert abs(score - 1) < 0.05


# ------------------------------------------------------------------- A vector in bytes


@pytest.mark.parametrize("dim", [3, 384])
def test_what_is_kept_is_near_as_long_and_does_not_change_when_it_is_kept_again(dim: int) -> None:
    random = np.random.default_rng(1)
    for _ in range(50):
        values = random.standard_normal(dim).astype(np.float32)
        values /= np.linalg.norm(values)
        kept = as_kept(values)
        assert np.linalg.norm(kept) == pytest.approx(1, abs=1e-5)
        assert kept @ values > 1 - 0.005
        assert np.allclose(as_kept(kept), kept, rtol=1e-5, atol=0)
    assert not as_kept(np.zeros(dim)).any()
