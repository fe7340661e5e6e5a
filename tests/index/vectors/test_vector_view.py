import tempfile
from pathlib import Path

import faiss
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slowcat_memory.index.vectors import FORMS, SealedVectors, VectorView, form, one_thread, write

DIM = 8
HALF = 2e-3  # what fp16 may cost a cosine


def unit(seed: int, dim: int = DIM) -> np.ndarray:
    row = np.random.default_rng(seed).normal(size=dim).astype(np.float32)
    return row / np.linalg.norm(row)


def sealed(folder: Path, vectors: dict[int, np.ndarray], dim: int = DIM) -> VectorView:
    folder.mkdir(exist_ok=True)
    return VectorView(dim, opened(folder, vectors, dim))


def opened(folder: Path, vectors: dict[int, np.ndarray], dim: int) -> SealedVectors:
    matrix = np.zeros((max(vectors, default=-1) + 1, dim), np.float16)
    for number, vector in vectors.items():
        matrix[number] = vector
    write(np.array(sorted(vectors), np.int32), matrix, folder)
    return SealedVectors(folder)


def check_equal(view: VectorView, vectors: dict[int, np.ndarray], query: np.ndarray) -> None:
    """The view answers as the vectors themselves would."""
    assert len(view) == len(vectors)
    asked = np.arange(max(vectors, default=0) + 3)
    exact = {number: float(vector @ query) for number, vector in vectors.items()}
    cosines = view.cosines(query, asked)
    for number in asked.tolist():
        assert (number in view) == (number in vectors)
        assert np.isnan(cosines[number]) == (number not in vectors)
    assert np.allclose([cosines[number] for number in exact], list(exact.values()), atol=HALF)
    for k in (1, 3, len(vectors) + 5):
        numbers = view.nearest(query, k)
        best = sorted(exact.values(), reverse=True)[:k]
        assert len(set(numbers.tolist())) == len(numbers)
        scores = sorted((exact[number] for number in numbers.tolist()), reverse=True)
        assert np.allclose(scores[:k], best, atol=HALF)


steps = st.lists(
    st.tuples(st.sampled_from(["put", "put", "remove"]), st.integers(0, 40), st.integers(0, 999)),
    max_size=40,
)


@settings(max_examples=150, deadline=None)
@given(st.sets(st.integers(0, 20), max_size=12), steps, st.integers(0, 99))
def test_vector_view_sealed_and_tail_answer_like_the_vectors_themselves(first, history, seed):
    with tempfile.TemporaryDirectory() as folder:
        vectors = {number: unit(number) for number in first}
        view = sealed(Path(folder), vectors)
        for what, number, chance in history:
            if what == "put":
                vectors[number] = unit(chance + 1000)
                view.put(number, vectors[number])
            else:
                gone, held = view.remove(number), vectors.pop(number, None)
                assert (gone is None) == (held is None)
                assert held is None or np.allclose(gone, held, atol=HALF)
        check_equal(view, vectors, unit(seed))


def test_vector_view_an_empty_view_answers_with_nothing(tmp_path):
    for view in (VectorView(DIM), sealed(tmp_path, {})):
        assert len(view.nearest(unit(1), 5)) == len(view) == 0
        assert np.isnan(view.cosines(unit(1), np.array([0, 9]))).all()
        assert view.remove(0) is None


# ------------------------------------------------------------------- many vectors


def many(count: int, seed: int) -> np.ndarray:
    """Unit vectors around some centres, as those of texts are."""
    chance = np.random.default_rng(seed)
    centres = np.random.default_rng(0).normal(size=(40, 64))
    rows = centres[chance.integers(0, 40, count)] + 0.7 * chance.normal(size=(count, 64))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


@pytest.mark.parametrize("place", range(len(FORMS) + 1))
def test_vector_view_every_form_finds_what_exact_search_finds(place, tmp_path, monkeypatch):
    chosen = [(0, name) for _, name in FORMS][place:]
    monkeypatch.setattr("slowcat_memory.index.vectors.FORMS", chosen)
    rows, queries = many(3000, 1), many(30, 2)
    write(np.arange(len(rows)), rows, tmp_path)
    view = VectorView(64, SealedVectors(tmp_path))
    dead = np.random.default_rng(3).choice(3000, 300, replace=False)
    for number in dead.tolist():
        gone = view.remove(number)
        assert gone is not None and np.allclose(gone, rows[number], atol=0.01)
    recall = []
    for query in queries:
        exact = rows @ query
        exact[dead] = -1
        numbers = view.nearest(query, 50)
        assert not set(numbers.tolist()) & set(dead.tolist())
        assert len(set(numbers.tolist())) == len(numbers) == 50
        best = np.argsort(-exact)[:10]
        recall.append(len(set(best.tolist()) & set(numbers.tolist())) / 10)
        assert np.allclose(view.cosines(query, best), exact[best], atol=5e-3)
    assert np.mean(recall) >= 0.97
    assert np.isnan(view.cosines(queries[0], dead)).all()


def test_vector_view_the_form_follows_the_number_of_vectors():
    assert [form(count, 384) for count in (0, 5_000, 5_001, 200_000, 1_000_000)] == [
        *["Flat"] * 2,
        *["PQ96x4fs,Refine(SQ8)"] * 2,
        "IVF1000,PQ96x4fs,Refine(SQ8)",
    ]
    assert form(1_000_000, 7) == "Flat"  # codes are of four dimensions each


@pytest.mark.parametrize("count", [1, 255, 256, 257, 600])
def test_vector_view_the_tail_grows(count):
    view, vectors = VectorView(DIM), {number * 3: unit(number) for number in range(count)}
    for number, vector in vectors.items():
        view.put(number, vector)
    check_equal(view, vectors, unit(4))


# ------------------------------------------------------------------- one thread


@pytest.fixture(autouse=True)
def two_threads():
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(2)
    yield
    faiss.omp_set_num_threads(before)


def test_one_thread_during_the_call_and_not_after_it_nor_after_an_error():
    assert one_thread()(faiss.omp_get_max_threads)() == 1
    assert faiss.omp_get_max_threads() == 2
    with pytest.raises(ZeroDivisionError):
        one_thread()(lambda: 1 / 0)()
    assert faiss.omp_get_max_threads() == 2


def test_one_thread_sealed_vectors_leave_the_callers_setting(tmp_path):
    rows = many(300, 1)
    write(np.arange(300), rows, tmp_path)
    assert 7 in VectorView(64, SealedVectors(tmp_path)).nearest(rows[7], 3)
    assert faiss.omp_get_max_threads() == 2
