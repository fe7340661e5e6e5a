import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowcat_memory.core.ranking import token_codes
from slowcat_memory.core.ranking.token_codes import maxsim, quantise


def units(seed: int, count: int, dim: int = 96) -> np.ndarray:
    rows = np.random.default_rng(seed).normal(size=(count, dim)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def decoded(codes: np.ndarray, dim: int = 96) -> np.ndarray:
    return token_codes.decode(codes, dim) @ token_codes.rotation(dim).T


def test_token_codes_take_a_quarter_of_a_byte_a_coordinate_and_keep_the_direction() -> None:
    tokens = units(1, 500)
    codes = np.concatenate([token_codes.encode(quantise(tokens[i : i + 1])) for i in range(500)])
    assert codes.shape == (500, 24) and codes.dtype == np.uint8
    cosines = (decoded(codes) * tokens).sum(axis=1)
    assert cosines.mean() > 0.93 and cosines.min() > 0.88


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


def test_token_codes_near_equal_tokens_become_one_and_distinct_ones_stay() -> None:
    distinct = np.eye(96, dtype=np.float32)[:5]
    near = distinct + 0.02 * units(2, 5)
    both = np.concatenate([distinct, near, distinct[:1]])
    merged = token_codes.merge(both / np.linalg.norm(both, axis=1, keepdims=True))
    assert len(merged) == 5
    assert (merged @ distinct.T).max(axis=1).min() > 0.99
    cosines = merged @ merged.T - np.eye(5)
    assert cosines.max() < token_codes.MERGE_FROM


@given(st.integers(0, 20), st.integers(0, 9))
def test_token_codes_merged_tokens_are_distinct_unit_vectors_and_none_is_lost(
    count: int, seed: int
) -> None:
    tokens = units(seed, count, 3)
    merged = token_codes.merge(tokens)
    assert len(merged) <= count and bool(len(merged)) == bool(count)
    np.testing.assert_allclose(np.linalg.norm(merged, axis=1), 1, atol=1e-5)
    if len(merged) > 1:
        assert (merged @ merged.T - 2 * np.eye(len(merged))).max() < token_codes.MERGE_FROM + 1e-5
    if count:
        assert (tokens @ merged.T).max(axis=1).min() > 0, "each has one in its direction"


def test_token_codes_a_long_text_takes_steps_in_proportion_to_its_length(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lengths: list[int] = []

    def counted(tokens: np.ndarray) -> np.ndarray:
        lengths.append(len(tokens))
        return merge(tokens)

    merge = token_codes.merge
    monkeypatch.setattr(token_codes, "merge", counted)
    codes = token_codes.encode(quantise(units(4, 700, 32)))
    assert sum(lengths) == 700 and max(lengths) == token_codes.TOGETHER
    assert codes.shape[1] == 8 and 0 < len(codes) <= 700


def test_token_codes_a_text_without_words_has_none() -> None:
    assert token_codes.encode(np.zeros((0, 96), np.int8)).shape == (0, 24)
    assert token_codes.encode(np.zeros((2, 96), np.int8)).shape == (0, 24)


def slowly(query: np.ndarray, document: np.ndarray | None) -> float:
    """Return the MaxSim of a document, one token after the other."""
    if document is None or not len(document) or not len(query):
        return float("nan")
    rows = decoded(document, query.shape[1])
    best = [max(float(word @ token) for token in rows) for word in query]
    return min(1.0, float(np.mean(best)) * token_codes.SHRINKAGE)


@given(
    st.lists(st.one_of(st.none(), st.integers(0, 7)), max_size=12),
    st.integers(0, 20),
    st.sampled_from([1, 3, 8, 33, 96]),
    st.integers(0, 9),
)
def test_maxsim_it_is_the_mean_of_the_best_cosines(
    counts: list[int | None], words: int, dim: int, seed: int
) -> None:
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
