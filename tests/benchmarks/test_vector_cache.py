import numpy as np
import pytest

from benchmarks.vector_cache import BATCH, CachedDocuments
from slowcat_memory.testing import HashEmbedder

TEXTS = ["Max likes to swim", "a blue canoe", "", "Max likes to swim"]


class Counting(HashEmbedder):
    """Notes what it is asked for."""

    def __init__(self, name: str = "hashed-words") -> None:
        super().__init__(name=name)
        self.asked: list[str] = []
        self.closed = False

    def encode(self, texts, progress=None):
        self.asked += texts
        return super().encode(texts, progress)

    def close(self) -> None:
        self.closed = True


def cached(folder, embedder, texts):
    cache = CachedDocuments(embedder, folder)
    try:
        return cache.encode(texts)
    finally:
        cache.close()


def test_vector_cache_it_says_what_the_embedder_says(tmp_path):
    for _ in range(2):
        found = cached(tmp_path / "new", Counting(), TEXTS)
        assert found.dtype == np.float32 and np.array_equal(found, HashEmbedder().encode(TEXTS))


def test_vector_cache_nothing_is_embedded_twice(tmp_path):
    first, second = Counting(), Counting()
    cached(tmp_path, first, TEXTS)
    assert sorted(first.asked) == sorted(set(TEXTS)) and first.closed
    cached(tmp_path, second, [*reversed(TEXTS), "something new"])
    assert second.asked == ["something new"]


def test_vector_cache_vectors_of_two_models_never_meet(tmp_path):
    other = Counting(name="another")
    cached(tmp_path, Counting(), TEXTS)
    cached(tmp_path, other, TEXTS)
    assert len(other.asked) == len(set(TEXTS))


def test_vector_cache_what_was_done_before_a_failure_is_kept(tmp_path):
    many = [f"text {n}" for n in range(3 * BATCH)]

    class Failing(Counting):
        def encode(self, texts, progress=None):
            if len(self.asked) >= 2 * BATCH:
                raise RuntimeError("out of memory")
            return super().encode(texts, progress)

    with pytest.raises(RuntimeError):
        cached(tmp_path, Failing(), many)
    again = Counting()
    cached(tmp_path, again, many)
    assert again.asked == many[2 * BATCH :]


def test_vector_cache_progress_is_told(tmp_path):
    cache, told = CachedDocuments(Counting(), tmp_path), []
    cache.encode(TEXTS[:1])
    cache.encode([f"{n}" for n in range(BATCH)] + TEXTS, told.append)
    cache.close()
    assert told == [BATCH + 2, BATCH + 4]
