import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from slowcat_memory.core.ranking.abstention import Signs, names_in, probability

NAN = float("nan")
GOOD = Signs(coverage=0.7, near=0.8, strange=0.0, memories=500)
BAD = Signs(coverage=0.1, near=0.45, strange=1.0, memories=500)
share = st.floats(0, 1)
signs = st.builds(
    Signs, coverage=share, near=share | st.just(NAN), strange=share, memories=st.integers(0, 10**6)
)


@given(signs)
def test_it_is_a_probability(some: Signs) -> None:
    assert 0.0 <= probability(some) <= 1.0


def test_what_is_near_is_known_and_what_is_strange_is_not() -> None:
    assert probability(GOOD) > 0.8 > 0.2 > probability(BAD)
    by_words = [replace(some, near=NAN) for some in (GOOD, BAD)]
    assert probability(by_words[0]) > 0.7 > 0.3 > probability(by_words[1])


@given(signs, share)
def test_a_stranger_is_never_likelier(some: Signs, more: float) -> None:
    low, high = sorted((some.strange, more))
    assert probability(replace(some, strange=high)) <= probability(replace(some, strange=low))


def test_an_empty_memory_knows_nothing() -> None:
    assert probability(replace(GOOD, memories=0)) == 0.0


@given(signs, share)
def test_what_is_nearer_is_never_less_likely(some: Signs, more: float) -> None:
    low, high = sorted((some.coverage, more))
    nearer = replace(some, coverage=high, near=max(some.near, high))
    assert probability(replace(some, coverage=low)) <= probability(nearer)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("When did Caroline move to Lisbon?", ["Caroline", "Lisbon"]),
        ("Caroline's dog", ["Caroline"]),
        ("What is Tom's job?", ["Tom"]),
        ("Where do I live? Remember?", []),
        ("what does ada like", []),
        ("WHERE DOES ADA LIVE", []),
        ("I'm fine. Thanks", []),
        ("was Mary-Jane there", ["Mary-Jane"]),
        ("wo wohnt Österreicher", ["Österreicher"]),
        ("", []),
    ],
)
def test_names_are_words_that_are_written_so(text: str, names: list[str]) -> None:
    assert names_in(text) == names


@given(st.text(max_size=300))
def test_names_can_be_looked_for_in_anything(text: str) -> None:
    assert all(name in text for name in names_in(text))
