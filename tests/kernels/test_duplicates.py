import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from slowcat_memory.core.ranking.fusion import distinct
from slowcat_memory.core.text.normalize import fingerprint
from slowcat_memory.kernels import library
from tests.support.kernel_levels import each_level

WORDS = ("max", "MAX", "dog", "tea", "a's", "rock'n'roll", "'tis", "x'", "2", "été", "お茶", "\0")
said = st.one_of(
    st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join),
    st.text(alphabet="aB1'’_ é.-\t\n\0茶", max_size=14),
)


def definition(texts: list[str], threshold: float, limit: int | None) -> list[int]:
    kept: list[int] = []
    sets = [frozenset(fingerprint(text).split()) for text in texts]
    for n, words in enumerate(sets):
        others = [sets[k] for k in kept]
        if len(kept) != limit and not any(
            len(words & one) >= threshold * len(words | one) for one in others
        ):
            kept.append(n)
    return kept


@each_level
@settings(deadline=None)
@given(
    texts=st.lists(said, max_size=12),
    threshold=st.sampled_from([0.0, 0.5, 0.75, 0.8, 1.0]),
    limit=st.sampled_from([None, 0, 1, 4]),
)
@example(texts=["", "!", "a"], threshold=0.8, limit=None)
def test_distinct_keeps_the_first_of_each_group_of_near_equal_texts(
    level: str, texts: list[str], threshold: float, limit: int | None
) -> None:
    with library.using(level):
        assert distinct(texts, threshold, limit) == definition(texts, threshold, limit)


@each_level
def test_distinct_a_threshold_above_1_keeps_all(level: str) -> None:
    with library.using(level):
        assert distinct(["same", "same", ""] * 2, 1.1) == [*range(6)]


@pytest.mark.parametrize("words", [300, 30_000])
@each_level
def test_distinct_long_texts_that_differ_in_a_few_words_are_near_equal(
    level: str, words: int
) -> None:
    random = np.random.default_rng(words)
    drawn = [f"word{n}" for n in random.integers(0, words, words)]
    changed = [*drawn[: -words // 20], *(f"new{n}" for n in range(words // 100))]
    with library.using(level):
        assert distinct([" ".join(drawn), " ".join(changed), "word1 new1"], 0.8) == [0, 2]
