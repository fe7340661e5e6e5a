"""The data files of a language: lists of words and phrases."""

import pytest

from slowcat_memory.core.language import LANGUAGES, of_any
from slowcat_memory.core.language.data import phrase_list, read_words, word_set


def test_word_set_is_in_lower_case_and_ignores_line_breaks() -> None:
    assert word_set("\nOne two\n  THREE two") == {"one", "two", "three"}


def test_phrase_list_keeps_the_order_and_ignores_line_breaks() -> None:
    assert phrase_list("\nGood day/hello/\n  see\n you/") == ("good day", "hello", "see you")


@pytest.mark.parametrize("language", [one.name for one in LANGUAGES])
def test_read_words_finds_no_empty_list(language: str) -> None:
    sections = read_words(f"slowcat_memory.core.language.{language}")
    assert all(text.strip() for lists in sections.values() for text in lists.values())


def test_of_any_leaves_out_languages_without_a_pattern() -> None:
    assert of_any(lambda one: one.facts.possessives) == "my|our|meine?|unsere?"
    german = next(one for one in LANGUAGES if one.name == "german")
    assert of_any(lambda one: one.statements.oblique) == german.statements.oblique
