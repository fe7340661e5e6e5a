"""Facts without an LLM: what is taken up, and what is not."""

import pytest

from slowcat_memory.core.extraction.stated import stated
from slowcat_memory.core.language import LANGUAGES
from slowcat_memory.errors import ConfigError
from tests.support.rows import each_row, listed, listed_texts


@each_row(("predicate", "object_", "text"), listed("rules/stated", "said"))
def test_stated_what_is_said_is_taken_up(predicate: str, object_: str, text: str) -> None:
    found = stated(text, "Anna")
    assert (predicate, object_) in [(one.predicate, one.object) for one in found]
    assert all(one.quote in text for one in found), "the evidence stands in the turn"


@each_row(("predicate", "object_", "text"), listed("rules/stated", "german"))
def test_stated_in_german_too(predicate: str, object_: str, text: str) -> None:
    found = [(one.predicate, one.object) for one in stated(text, "Jonas", "german")]
    assert found == [(predicate, object_)]


@each_row("text", listed_texts("rules/stated", "stated_what_is_not_said_is_not"))
def test_stated_what_is_not_said_is_not(text: str) -> None:
    for language in LANGUAGES:
        assert stated(text, "Anna", language.name) == []


def test_stated_whose_age_it_is() -> None:
    found = {(one.subject, one.object) for one in stated("My dog Max is 3.", "Anna")}
    assert found == {("Anna", "Max"), ("Max", "3")}


def test_stated_what_is_over() -> None:
    (one,) = stated("I no longer work at Acme.", "Anna")
    assert one.over and one.content == "Anna no longer works at Acme."


def test_stated_of_an_unknown_language_or_an_odd_text() -> None:
    with pytest.raises(ConfigError, match="french"):
        stated("J'habite à Lyon.", "Anna", "french")
    for odd in ("", "I live in " * 3000, "My name is \ud800", "I am " + "9" * 500, "\0"):
        stated(odd, "Anna")
