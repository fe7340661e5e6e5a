"""Whether a statement says what its quote denies, supposes or does not have the words for."""

from slowcat_memory.core.extraction.quoted import (
    contradicts,
)
from tests.support.rows import each_row, listed


@each_row(
    ("quote", "right", "wrong"), listed("rules/contradicted", "the_contrary_of_a_quote_is_refused")
)
def test_the_contrary_of_a_quote_is_refused(quote: str, right: str, wrong: str) -> None:
    for said in (quote, quote.lower()):
        assert not contradicts(right, said)
        assert contradicts(wrong, said)


@each_row(
    ("quote", "content"),
    listed("rules/contradicted", "a_negation_of_something_else_denies_nothing"),
)
def test_a_negation_of_something_else_denies_nothing(quote: str, content: str) -> None:
    assert not contradicts(content, quote)


@each_row(
    ("content", "quote", "wrong"),
    listed("rules/contradicted", "a_denial_in_another_clause_denies_nothing"),
)
def test_a_denial_in_another_clause_denies_nothing(content, quote, wrong):
    assert contradicts(content, quote) is (wrong == "yes")
