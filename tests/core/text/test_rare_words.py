"""Which words of a text a recogniser may not know."""

from hypothesis import given
from hypothesis import strategies as st

from slowcat_memory.core.text.rare_words import rare_words


@given(st.text())
def test_rare_words_takes_any_text(text: str) -> None:
    for word in rare_words(text):
        assert word.form in text
