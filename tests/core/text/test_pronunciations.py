"""Words that sound alike, and names as a recogniser writes them that does not know their language."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowcat_memory.core.language.ordinary import is_ordinary
from slowcat_memory.core.text.pronunciations import (
    consonants,
    heard_as,
    pronunciations,
    sound_code,
    sound_likeness,
)
from slowcat_memory.core.text.rare_words import is_common
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


@each_row(
    "word", ["core", "decline", "fried", "kneel", "alle", "kläre", "hochzeitstag", "eingeschlafen"]
)
def test_everyday_words_of_both_languages_are_ordinary(word: str) -> None:
    assert is_ordinary(word)


@pytest.mark.parametrize("word", ["isaura", "saoirse", "kowalczyk", "emma", "wojciech"])
def test_names_are_not_ordinary(word: str) -> None:
    assert not is_ordinary(word)


@each_row(("heard", "name"), listed("text/misheard_names"))
def test_sound_of_a_misheard_name_is_the_names(heard: str, name: str) -> None:
    one, other = (sound_code(heard_as(word)[0]) for word in (heard, name))
    assert consonants(one) == consonants(other) != ""


@pytest.mark.parametrize("word", ["Москва", "東京", "", "42"])
def test_sound_needs_latin_letters(word: str) -> None:
    assert sound_code(heard_as(word)[0]) == ""


@each_row("word", ["may", "will", "mark", "rose", "stopping", "boxes", "carried", "making", "male"])
def test_is_common_knows_all_forms(word: str) -> None:
    assert is_common(word)


@pytest.mark.parametrize("word", ["isaura", "hanna", "kaitlyn", "lisbon", "quokka"])
def test_is_common_rejects_other_words(word: str) -> None:
    assert not is_common(word)
