"""Whether a statement says what its quote denies, supposes or does not have the words for."""

from datetime import UTC, datetime

from slowcat_memory.core.extraction.checks.quoted import (
    contradicts,
    supposes,
    unsupported,
    without_tag,
)
from slowcat_memory.records import Turn
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


def test_a_tag_is_no_question() -> None:
    assert without_tag("it's on the ninth, isn't it?") == "it's on the ninth"
    assert without_tag("das ist am neunten, oder?") == "das ist am neunten"
    assert without_tag("is it on the ninth?") == "is it on the ninth?"


@each_row(
    ("quote", "text", "supposed"), listed("rules/contradicted", "what_is_only_supposed_is_no_fact")
)
def test_what_is_only_supposed_is_no_fact(quote: str, text: str, supposed: str) -> None:
    assert supposes(quote, text) is (supposed == "yes")


def test_a_statement_without_the_words_of_the_record_is_unsupported() -> None:
    turn = Turn(id=1, session="s", scope="m", speaker="Mira", role="user",
                text="they came back with an offer", at=datetime(2026, 5, 12, tzinfo=UTC))  # fmt: skip
    assert unsupported("Mira plays golf every Sunday.", "Mira", [turn])
    assert not unsupported("Mira has an offer.", "Mira", [turn])


@each_row(
    ("content", "quote", "wrong"),
    listed("rules/contradicted", "a_denial_in_another_clause_denies_nothing"),
)
def test_a_denial_in_another_clause_denies_nothing(content, quote, wrong):
    assert contradicts(content, quote) is (wrong == "yes")
