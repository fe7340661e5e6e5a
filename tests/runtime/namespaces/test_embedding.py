import numpy as np
import pytest

from slowcat_memory.providers import Encoded
from slowcat_memory.runtime.namespaces.embedding import GuardedEmbed
from slowcat_memory.testing import FixedClock
from tests.support.recall_without_store import EMBEDDER, Mind, query


class Moody:
    """An embedder that does what it is told: raise, be late, or work."""

    def __init__(self, clock: FixedClock) -> None:
        self.clock, self.raises, self.takes, self.asked = clock, None, 0.0, 0

    def __call__(self, text: str) -> np.ndarray:
        self.asked += 1
        self.clock.advance(self.takes)
        if self.raises:
            raise self.raises
        return EMBEDDER.encode_query(text)


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture
def moody(clock: FixedClock) -> Moody:
    return Moody(clock)


def test_guarded_embed_a_failing_embedder_costs_the_vectors_only(
    moody: Moody, clock: FixedClock
) -> None:
    problems: list[str] = []
    mind = Mind(embed=GuardedEmbed(moody, clock, problems.append))
    moody.raises = MemoryError()
    found = mind.run(query("my dog"))
    assert found.stage == "lexical" and found.hits[0].memory.id == "dog"
    moody.raises = None
    assert mind.run(query("my dog")).stage == "full"
    assert problems == ["MemoryError"]


def test_guarded_embed_three_failures_in_a_row_open_it_for_a_minute(
    moody: Moody, clock: FixedClock
) -> None:
    problems: list[str] = []
    breaker = GuardedEmbed(moody, clock, problems.append)
    moody.raises = RuntimeError("no")
    for _ in range(10):
        assert breaker("x") is None
        clock.advance(1)
    assert moody.asked == 3 and len(problems) == 3
    clock.advance(51.9)
    assert breaker("x") is None and moody.asked == 3
    clock.advance(0.1)  # 60 s after the third failure: one try, which fails and opens it again
    assert breaker("x") is None and breaker("x") is None and moody.asked == 4
    clock.advance(60)
    moody.raises = None
    assert breaker("x") is not None and moody.asked == 5
    moody.raises = RuntimeError("again")
    for _ in range(3):  # it counts anew
        assert breaker("x") is None
    assert moody.asked == 8


def test_guarded_embed_failures_that_are_not_in_a_row_do_not_open_it(
    moody: Moody, clock: FixedClock
) -> None:
    breaker = GuardedEmbed(moody, clock, lambda _: None)
    for _ in range(5):
        for moody.raises in (OSError(), OSError(), None):
            breaker("x")
    assert moody.asked == 15


def test_guarded_embed_a_late_vector_is_taken_but_counts_as_a_failure(
    moody: Moody, clock: FixedClock
) -> None:
    problems: list[str] = []
    breaker = GuardedEmbed(moody, clock, problems.append)
    moody.takes = 1.0
    assert [breaker("x") is not None for _ in range(4)] == [True, True, True, False]
    assert moody.asked == 3 and problems == ["late"] * 3


def test_guarded_embed_a_vector_and_what_is_embedded_already_come_out_alike(
    clock: FixedClock,
) -> None:
    vector = EMBEDDER.encode_query("my dog")
    for told in (vector, Encoded(vector)):
        encoded = GuardedEmbed(lambda _, told=told: told, clock, print)("my dog")
        assert encoded is not None and np.array_equal(encoded.vector, vector)
        assert encoded.tokens is None
    whole = GuardedEmbed(EMBEDDER.encode_query_tokens, clock, print)("my dog")
    assert whole is not None and whole.tokens is not None and len(whole.tokens) == 2


def test_guarded_embed_no_model_is_no_failure(clock: FixedClock) -> None:
    problems: list[str] = []
    breaker = GuardedEmbed(lambda _: None, clock, problems.append)
    assert [breaker("x") for _ in range(5)] == [None] * 5 and problems == []
