"""A search by FAISS uses one thread, and the application's own searches use what they did before."""

import faiss
import pytest

from slowcat_memory.index.vectors.one_thread import one_thread


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
