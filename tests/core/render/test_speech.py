from hypothesis import given
from hypothesis import strategies as st

from slowcat_memory.core.render import speech
from slowcat_memory.core.render.speech import (
    speakable,
)
from tests.support.rows import each_row


@each_row(
    ("text", "spoken"),
    [
        ("My dog is called Max.", "My dog is called Max."),
        ("**Note**: it is _really_ late", "Note: it is really late"),
        ("# Plans\n- milk\n* eggs\n> so", "Plans\nmilk\neggs\nso"),
        ("2 * 3 is 6, snake_case, ~5 km, ~~no~~", "2 * 3 is 6, snake_case, ~5 km, no"),
        ("see [the page](https://example.org/x) now", "see the page now"),
        ("https://www.example.org/a/b?c=1 is it", "example.org is it"),
        ("fun \U0001f600\U0001f44d\U0001f3fd!", "fun !"),
        ("on 2023-05-12 and 2023-05-12T10:30:00Z", "on 12 May 2023 and 12 May 2023, 10:30"),
        ("version 2023-13-45, 555-2023-05-12", "version 2023-13-45, 555-2023-05-12"),
        ("call 004917012345678", "call 004917012345678"),
        ("20 °C and 5 € — naïve", "20 °C and 5 € — naïve"),
        ("\U0001f600", "\U0001f600"),
    ],
)
def test_speakable_puts_in_words(text: str, spoken: str) -> None:
    assert speakable(text) == spoken


@given(st.text(st.characters(exclude_categories=("Cs",)), max_size=300))
def test_speakable_takes_any_text(text: str) -> None:
    assert bool(speakable(text).strip()) == bool(text.strip()) or not text.strip()


SPELT = st.text("aA b.-*_~#>`[]():/w1490\t\n•é🙂T", max_size=40)


@given(SPELT)
def test_a_text_without_marks_is_what_all_replacements_leave(text):
    """The one search that spares the others finds whatever they would replace."""
    if speech._MARKED.search(text) is None:
        patterns = (speech._NAMED_LINK, speech._LINK, speech._ISO, speech._EMOJI)
        patterns += (speech._EMPHASIS, speech._LINE_MARK, speech._SPACES)
        assert not any(pattern.search(text) for pattern in patterns) and "`" not in text
        assert speakable(text) == (text.strip() or text)
