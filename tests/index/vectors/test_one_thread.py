"""A search by FAISS uses one thread, and the application's own searches use what they did before."""

from pathlib import Path

import faiss
import numpy as np
import pytest

from slowcat_memory.index.vectors import SealedVectors, VectorView, one_thread, write


@pytest.fixture(autouse=True)
def two_threads():
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(2)
    yield
    faiss.omp_set_num_threads(before)


def test_one_thread_during_the_call_and_not_after_it() -> None:
    assert one_thread(faiss.omp_get_max_threads)() == 1
    assert faiss.omp_get_max_threads() == 2


def test_one_thread_an_error_restores_the_setting_too() -> None:
    with pytest.raises(ZeroDivisionError):
        one_thread(lambda: 1 / 0)()
    assert faiss.omp_get_max_threads() == 2


def test_one_thread_sealed_vectors_leave_the_callers_setting(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    rows = random.standard_normal((300, 8)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    write(np.arange(300), rows, tmp_path)
    faiss.omp_set_num_threads(2)
    view = VectorView(8, SealedVectors(tmp_path))
    assert 7 in view.nearest(rows[7], 3)
    assert faiss.omp_get_max_threads() == 2
