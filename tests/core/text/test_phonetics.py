"""Words that sound alike."""

import pytest

from slowcat_memory.core.text.phonetics import sound
from slowcat_memory.core.text.rare_words import is_common
from tests.support.rows import each_row


@each_row(
    ("heard", "name"),
    [
        ("ysaura", "Isaura"),
        ("hanna", "Hannah"),
        ("caitlin", "Kaitlyn"),
        ("stephen", "Steven"),
        ("kathryn", "Catherine"),
        ("zavier", "Xavier"),
        ("tomas", "Thomas"),
    ],
)
def test_sound_of_a_misheard_name_is_the_names(heard: str, name: str) -> None:
    one, other = sound(heard), sound(name)
    assert one and other and one.rough == other.rough


@pytest.mark.parametrize("word", ["Москва", "東京", "", "42", "a"])
def test_sound_needs_latin_letters(word: str) -> None:
    assert sound(word) is None


@each_row("word", ["may", "will", "mark", "rose", "stopping", "boxes", "carried", "making", "male"])
def test_is_common_knows_all_forms(word: str) -> None:
    assert is_common(word)


@pytest.mark.parametrize("word", ["isaura", "hanna", "kaitlyn", "lisbon", "quokka"])
def test_is_common_rejects_other_words(word: str) -> None:
    assert not is_common(word)
