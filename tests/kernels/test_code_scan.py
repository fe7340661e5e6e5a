import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from slowcat_memory.kernels import library
from slowcat_memory.kernels.code_scan import WORDS, CodedRows, blocks_of
from slowcat_memory.kernels.dense import VectorArrays
from tests.support.kernel_levels import each_level


@each_level
@settings(deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    rows=st.sampled_from([1, 63, 64, 65, 700]),
    parts=st.sampled_from([1, 2, 3, 16, 25, 96]),
    k=st.sampled_from([1, 5, 50]),
    rescore=st.sampled_from([1, 20, 5000]),
)
def test_code_scan_compares_the_rows_exactly_that_are_nearest_by_code(
    level: str, seed: int, rows: int, parts: int, k: int, rescore: int
) -> None:
    chance = np.random.default_rng(seed)
    centroids = chance.standard_normal((parts + parts % 2, WORDS, 4)).astype(np.float32)
    centroids[parts:] = 0
    words = chance.integers(0, WORDS, (rows, len(centroids)))
    words[:, parts:] = 0
    query = chance.standard_normal(4 * parts).astype(np.float32)
    # The vectors lie near what their codes say: the order by code is nearly that by product.
    vectors = centroids[np.arange(parts), words[:, :parts]].reshape(rows, -1)
    alive = chance.random(rows) < 0.7
    arrays = VectorArrays(4 * parts)
    matrix = vectors.astype(np.float16)
    arrays.seal(None, np.packbits(alive, bitorder="little"), matrix, None)
    coded = CodedRows(
        blocks_of((words[:, ::2] | words[:, 1::2] << 4).astype(np.uint8)), centroids, rescore
    )
    with library.using(level):
        documents, cosines = coded.nearest(arrays, query, k)
    products = matrix.astype(np.float64) @ query
    living = np.flatnonzero(alive)
    assert len(set(documents.tolist())) == len(documents) == min(k, len(living))
    assert set(documents.tolist()) <= set(living.tolist())
    np.testing.assert_allclose(cosines, products[documents], rtol=1e-4, atol=1e-3)
    if len(documents):
        # A code's sum is rounded by half a step a part at most, on both sides of the comparison.
        spread = (centroids[:parts] @ query.reshape(parts, 4, 1)).squeeze(-1)
        step = float(np.ptp(spread, axis=1).max()) / 62
        best = np.sort(products[living])[::-1][: len(documents)]
        assert cosines.min() >= best[-1] - (parts + 1) * step - 0.01 * np.abs(best[-1])
    if rescore >= rows:
        np.testing.assert_allclose(
            np.sort(cosines)[::-1], best if len(documents) else [], rtol=1e-4, atol=1e-3
        )


@each_level
def test_code_scan_finds_rows_that_a_query_cannot_tell_apart(level: str) -> None:
    arrays = VectorArrays(8)
    arrays.seal(None, np.full(9, 255, np.uint8), np.zeros((70, 8), np.float16), None)
    coded = CodedRows(
        blocks_of(np.zeros((70, 1), np.uint8)), np.zeros((2, WORDS, 4), np.float32), 5
    )
    with library.using(level):
        documents, _ = coded.nearest(arrays, np.ones(8, np.float32), 5)
    assert len(set(documents.tolist())) == 5
