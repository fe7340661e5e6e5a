"""Topics, found as memories come."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from slowcat_memory.core.summaries.options import TopicsOptions
from slowcat_memory.core.summaries.topics import grow_topics

RNG = np.random.default_rng(7)


def near(direction: int, n: int, noise: float = 0.1) -> np.ndarray:
    rows = np.eye(16)[direction] + noise * RNG.normal(size=(n, 16))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def test_grow_topics_what_belongs_together_is_found_together() -> None:
    vectors = np.concatenate([near(0, 5), near(1, 4), near(2, 3)])
    ids = [f"m{n}" for n in range(12)]
    order = RNG.permutation(12)
    topics = grow_topics([], [ids[n] for n in order], vectors[order])
    found = {frozenset(topic.members) for topic in topics}
    assert found == {frozenset(ids[:5]), frozenset(ids[5:9]), frozenset(ids[9:])}


def test_grow_topics_taken_up_in_two_goes_or_in_one() -> None:
    vectors, ids = np.concatenate([near(0, 5), near(1, 5)]), [f"m{n}" for n in range(10)]
    at_once = grow_topics([], ids, vectors)
    in_two = grow_topics(grow_topics([], ids[:4], vectors[:4]), ids[2:], vectors[2:])
    assert [topic.members for topic in in_two] == [topic.members for topic in at_once]


def test_grow_topics_two_that_have_come_close_become_one() -> None:
    apart, between = np.concatenate([near(0, 1, 0), near(1, 1, 0)]), near(0, 1, 0) + near(1, 1, 0)
    options = TopicsOptions(join_at=0.6, merge_at=0.62)
    topics = grow_topics([], ["a", "b"], apart, options)
    assert len(topics) == 2
    middle = np.repeat(between / np.linalg.norm(between), 6, axis=0)
    assert len(grow_topics(topics, [f"c{n}" for n in range(6)], middle, options)) == 1


@given(st.integers(0, 2**32 - 1), st.integers(0, 40))
def test_grow_topics_every_memory_is_in_one_topic(seed: int, n: int) -> None:
    rows = np.random.default_rng(seed).normal(size=(n, 8)).astype(np.float32)
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
    topics = grow_topics([], [str(i) for i in range(n)], rows, TopicsOptions(most=5))
    assert sorted(m for topic in topics for m in topic.members) == sorted(map(str, range(n)))
    assert len(topics) <= 5
