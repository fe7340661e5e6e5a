import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slowcat_memory.kernels import library
from slowcat_memory.kernels.dense import VectorArrays
from tests.support.kernel_levels import each_level

levels = st.sampled_from(library.levels())


class Made:
    """Vectors in arrays, and the same by document."""

    def __init__(self, chance: np.random.Generator, rows: int, tail: int, dim: int, form: str):
        vectors = chance.standard_normal((rows + tail, dim)).astype(np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        self.query = chance.standard_normal(dim).astype(np.float32)
        documents = np.sort(chance.permutation(2 * rows + 1)[:rows]).astype(np.int32)
        sparse = form != "all"
        numbers = documents.tolist() if sparse else list(range(rows))
        self.living = chance.random(rows) < 0.8
        alive = np.packbits(self.living, bitorder="little")
        scales = None
        matrix = stored = vectors[:rows].astype(np.float16)
        if form == "bytes":
            scales = np.maximum(np.abs(vectors[:rows]).max(axis=1), 1e-9).astype(np.float32) / 127
            matrix = np.rint(vectors[:rows] / scales[:, None]).astype(np.int8)
            stored = matrix * scales[:, None]
        self.arrays = VectorArrays(dim)
        self.arrays.seal(documents if sparse else None, alive, matrix, scales)
        exact = stored.astype(np.float64) @ self.query
        self.sealed = {
            n: score for n, score, lives in zip(numbers, exact, self.living, strict=True) if lives
        }
        owners, slots = np.full(tail, -1), np.zeros(3 * rows + tail + 9, np.int32)
        free = [n for n in range(2 * rows + tail + 5) if n not in self.sealed]
        self.tail = {}
        for row, owner in enumerate(chance.permutation(free)[:tail].tolist()):
            if chance.random() < 0.8:
                owners[row], slots[owner] = owner, row + 1
                self.tail[owner] = float(vectors[rows + row] @ self.query.astype(np.float64))
        self.arrays.set_tail(vectors[rows:], owners, slots)


made = st.builds(
    Made,
    st.integers(0, 2**32 - 1).map(np.random.default_rng),
    rows=st.sampled_from([0, 1, 7, 40]),
    tail=st.sampled_from([0, 1, 30]),
    dim=st.sampled_from([1, 3, 16, 33, 384]),
    form=st.sampled_from(["all", "halves", "bytes"]),
)


@each_level
@settings(deadline=None)
@given(made=made)
def test_dense_cosines_are_those_of_the_definition(level: str, made: Made) -> None:
    known = made.sealed | made.tail
    documents = np.arange(len(made.arrays.slots) + 5)
    with library.using(level):
        found = made.arrays.cosines(made.query, documents)
    wanted = [known.get(n, np.nan) for n in documents.tolist()]
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-4)


@each_level
@settings(deadline=None)
@given(made=made, k=st.sampled_from([1, 2, 10, 1000]), sealed=st.booleans())
def test_dense_nearest_are_the_best_of_each_generation(
    level: str, made: Made, k: int, sealed: bool
) -> None:
    with library.using(level):
        documents, cosines = made.arrays.nearest(made.query, k, sealed=sealed)
    found = dict(zip(documents.tolist(), cosines.tolist(), strict=True))
    assert len(found) == len(documents)
    for part in (made.sealed if sealed else {}, made.tail):
        mine = {n: score for n, score in found.items() if n in part}
        best = sorted(part.values(), reverse=True)[:k]
        assert sorted(mine.values(), reverse=True) == pytest.approx(best, rel=1e-5, abs=1e-4)
        assert all(mine[n] == pytest.approx(part[n], rel=1e-5, abs=1e-4) for n in mine)
    assert found.keys() <= (made.sealed | made.tail).keys()


@each_level
def test_dense_cosines_of_rows_are_compared_at_every_level(level: str) -> None:
    made = Made(np.random.default_rng(3), 40, 0, 33, "bytes")
    rows = np.array([5, 0, 39, 5])
    with library.using(level):
        found = made.arrays.row_cosines(made.query, rows)
    with library.using(library.NUMPY):
        np.testing.assert_allclose(found, made.arrays.row_cosines(made.query, rows), atol=1e-5)
