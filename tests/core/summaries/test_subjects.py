"""Topics by rule are names of people, places and things, or there are none."""

import pytest

from slowcat_memory.core.language import language_of
from slowcat_memory.core.summaries.by_rule import subjects
from slowcat_memory.core.summaries.extractive import Line
from slowcat_memory.core.text.normalize import Tokenizer

TOKENIZE = Tokenizer("english")


def found(*said: str, language: str = "english", facts: tuple[str, ...] = ()) -> tuple[str, ...]:
    lines = [Line("Anna", text, n) for n, text in enumerate(said, 1)]
    return subjects(lines, facts, language_of(language), TOKENIZE, 6)


def test_subjects_names_are_kept_whole() -> None:
    assert found("I work at the Royal Infirmary with Clara.") == ("Clara", "Royal Infirmary")


def test_subjects_things_that_were_named_twice() -> None:
    said = ("My driving test is on Monday.", "I'm afraid of the driving test.", "A lamp is broken.")
    assert found(*said) == ("driving test",)


@pytest.mark.parametrize(
    "said",
    [
        ("I was there before noon, and three cups were left.", "Three cups, before noon."),
        ("I know, it feels hard.", "It sounds funny, and I'm listening.", "I feel hard."),
        ("It was actually awful.", "We argued back and forth, actually.", "How awful."),
        ("My day was great.", "What a day.", "The time, the day, the week."),
    ],
)
def test_subjects_verbs_adjectives_and_everyday_words_are_none(said: tuple[str, ...]) -> None:
    assert found(*said) == ()


def test_subjects_what_facts_are_about_also_without_capitals() -> None:
    assert found("i have a dog called biscuit", facts=("biscuit",)) == ("biscuit",)


def test_subjects_german_nouns_are_not_names() -> None:
    said = ("Die Wohnung in Linz ist schön.", "Ich nehme die Wohnung.", "Die Lampe ist kaputt.")
    assert set(found(*said, language="german")) == {"Wohnung", "Linz"}
