import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from slowcat_memory.kernels import library
from slowcat_memory.kernels.dense import cosines
from tests.support.kernel_levels import each_level


@each_level
@given(
    seed=st.integers(0, 2**32 - 1),
    count=st.integers(0, 40),
    dim=st.sampled_from([1, 3, 16, 33, 384]),
    halves=st.booleans(),
)
def test_cosines_are_those_of_the_definition(
    level: str, seed: int, count: int, dim: int, halves: bool
) -> None:
    random = np.random.default_rng(seed)
    vectors = random.standard_normal((25, dim)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    rows = random.integers(-1, 25, count)
    query = vectors[0]
    scales = None if halves else (np.abs(vectors).max(axis=1) / 127).astype(np.float32)
    matrix = vectors.astype(np.float16)
    if scales is not None:
        matrix = np.rint(vectors / scales[:, None]).astype(np.int8)
    with library.using(level):
        found = cosines(matrix, scales, rows, query)
    stored = matrix.astype(np.float64) if scales is None else matrix * scales[:, None].astype(float)
    expected = np.where(rows >= 0, stored[rows] @ query.astype(np.float64), np.nan)
    np.testing.assert_allclose(found, expected, atol=1e-5)
