"""Pairs of statements about one matter: the later changes the earlier in what is asked."""

from slowcat_memory.core.query import asked_facts
from slowcat_memory.core.query.asked_facts import Wording, lacks_value
from tests.support.rows import each_row, listed


def revises(newer: str, older: str, query: str, language: str) -> bool:
    read = (Wording(text, language) for text in (newer, older, query))
    return asked_facts.revises(*read)


PAIRS = listed("revisions")


def test_there_are_at_least_sixty_pairs() -> None:
    assert len(PAIRS) >= 60


@each_row("lower", [False, True])
@each_row(("older", "newer", "query", "language"), PAIRS)
def test_a_later_statement_changes_the_earlier_one(
    older: str, newer: str, query: str, language: str, lower: bool
) -> None:
    if lower:
        older, newer, query = older.lower(), newer.lower(), query.lower()
    assert revises(newer, older, query, language)
    assert not revises(newer, older, "who painted the piano and the pump", language)


@each_row(
    ("older", "newer", "query", "language"),
    listed("rules/revisions", "other_matters_and_the_same_value_change_nothing"),
)
def test_other_matters_and_the_same_value_change_nothing(
    older: str, newer: str, query: str, language: str
) -> None:
    assert not revises(newer, older, query, language)


@each_row(
    ("query", "text", "language", "missing"), listed("rules/revisions", "a question for a value")
)
def test_a_question_for_a_value_is_not_answered_without_one(
    query: str, text: str, language: str, missing: str
) -> None:
    assert lacks_value(query, [text], language) == float(missing)
