"""Words that sound alike, and names as a recogniser writes them that does not know their language."""

from hypothesis import given
from hypothesis import strategies as st

from slowcat_memory.core.text.pronunciations import (
    consonants,
    heard_as,
    pronunciations,
    sound_code,
    sound_likeness,
)
from tests.support.rows import each_row, listed


def likeness(name: str, heard: str) -> float:
    return max(
        sound_likeness(sound_code(one), sound_code(other))
        for one in pronunciations(name)
        for other in heard_as(heard)
    )


@each_row(("name", "heard"), listed("text/foreign_names"))
def test_a_name_of_another_language_sounds_like_its_english_spelling(name: str, heard: str) -> None:
    assert likeness(name, heard) >= 0.8


@given(st.text(max_size=20), st.text(max_size=20))
def test_likeness_is_a_share_for_any_text(one: str, other: str) -> None:
    assert 0.0 <= sound_likeness(sound_code(one.lower()), sound_code(other.lower())) <= 1.0


@each_row(("heard", "name"), listed("text/misheard_names"))
def test_sound_of_a_misheard_name_is_the_names(heard: str, name: str) -> None:
    one, other = (sound_code(heard_as(word)[0]) for word in (heard, name))
    assert consonants(one) == consonants(other) != ""
