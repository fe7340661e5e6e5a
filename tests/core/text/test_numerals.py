"""Numbers as people say and write them."""

from fractions import Fraction

import pytest

from slowcat_memory.core.language import LANGUAGES
from slowcat_memory.core.text.numerals import HALF_DAY, meaning, numbers, values
from tests.support.rows import each_row, listed


@each_row(("text", "digits"), listed("numerals"))
def test_values_a_number_is_read_in_every_way_it_can_be_meant(text: str, digits: str) -> None:
    assert {Fraction(one) for one in digits.split()} <= values(text)


@each_row(("text", "digits"), listed("text/no_numerals"))
def test_values_a_number_that_no_reading_gives_is_none(text: str, digits: str) -> None:
    assert not {Fraction(one) for one in digits.split()} & values(text)


@each_row(("text", "clock"), listed("text/clock_times"))
def test_numbers_times_of_day(text: str, clock: str) -> None:
    hour, minute = map(int, clock.split(":"))
    assert (60 * hour + minute) % HALF_DAY in {m for one in numbers(text) for m in one.minutes}


def test_numbers_know_where_they_stand() -> None:
    text = "It was thirty-six two, or 48,500."
    single = [one for one in numbers(text) if not one.joined]
    assert [text[one.start : one.end] for one in single] == ["thirty-six", "two", "48,500"]
    assert [one.in_digits for one in single] == [False, False, True]


@pytest.mark.parametrize("language", [one.name for one in LANGUAGES])
def test_meaning_every_language_has_number_words(language: str) -> None:
    word = {"english": "seventeen", "german": "siebzehn"}[language]
    assert [value for _, value in meaning(word)] == [17]
