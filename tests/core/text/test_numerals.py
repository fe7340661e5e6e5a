"""Numbers as people say and write them."""

from fractions import Fraction

import pytest

from slowcat_memory.core.language import LANGUAGES
from slowcat_memory.core.text.numeral_words import meaning
from slowcat_memory.core.text.numerals import HALF_DAY, numbers, values
from tests.support.rows import each_row, listed


@each_row(("text", "digits"), listed("numerals"))
def test_values_a_number_is_read_in_every_way_it_can_be_meant(text: str, digits: str) -> None:
    assert {Fraction(one) for one in digits.split()} <= values(text)


@each_row(
    ("text", "digits"),
    [
        ("forty-eight five", "4850 4.85 45 8 40 13"),
        ("eight seventy-five", "8075 8750 83 87.5"),
        ("a thousand and ten", "1100 1000 10 1001"),
        ("twelve hundred", "1300 12000 100 12"),
        ("one point six", "16 6 1"),
        ("two and a half", "2 250"),
        ("achtundvierzigfünf", "84 4850 8"),
        ("zweieinhalb", "2 1"),
        ("tausendzweihundert", "1002 2000 1000 200"),
        ("£48.5k", "48.5 485"),
        ("somebody ate alone in the undergrowth", "1 8"),
        ("das achtet niemand, sie ist einsam", "8 1"),
    ],
)
def test_values_a_number_that_no_reading_gives_is_none(text: str, digits: str) -> None:
    assert not {Fraction(one) for one in digits.split()} & values(text)


@each_row(
    ("text", "clock"),
    [
        ("at half five", "5:30"),
        ("at half past five", "5:30"),
        ("quarter past six", "6:15"),
        ("a quarter to nine", "8:45"),
        ("twenty to nine", "8:40"),
        ("five past ten", "10:05"),
        ("nine fifty", "9:50"),
        ("three oh five", "3:05"),
        ("at 17:30", "5:30"),
        ("um 17.30 Uhr", "5:30"),
        ("um halb fünf", "4:30"),
        ("Viertel nach acht", "8:15"),
        ("viertel vor neun", "8:45"),
        ("drei viertel acht", "7:45"),
        ("fünf vor halb acht", "7:25"),
        ("zwanzig nach zehn", "10:20"),
        ("neun Uhr zehn", "9:10"),
    ],
)
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


def test_values_work_grows_with_the_text_alone() -> None:
    """A long row of numbers is not read in all its parts."""
    long, longer = ("one " * n for n in (200, 400))
    counts = [sum(1 for _ in numbers(text)) for text in (long, longer)]
    assert counts[1] < 2.1 * counts[0]
