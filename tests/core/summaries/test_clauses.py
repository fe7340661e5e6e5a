"""Sentences are cut where a clause ends, and fillers are dropped."""

from slowcat_memory.core.language import language_of
from slowcat_memory.core.summaries.extractive import as_sentence, clauses
from tests.support.rows import each_row, listed


@each_row(("language", "sentence", "expected"), listed("rules/clauses", "clauses"))
def test_clauses_of_a_sentence_without_its_fillers(language, sentence, expected) -> None:
    assert " | ".join(clauses(sentence, language_of(language))) == expected


def test_as_sentence_has_a_capital_and_an_end() -> None:
    assert as_sentence("i sold the car,") == "I sold the car."
    assert as_sentence("Did it work?") == "Did it work?"
