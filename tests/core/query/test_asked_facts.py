import pytest

from slowcat_memory.core.query.asked_facts import asked_fact
from tests.support.rows import each_row, listed


@each_row(
    ("query", "language", "predicate", "thing"),
    listed("asked_facts"),
)
def test_asked_fact_a_question_about_oneself_asks_for_predicates(
    query: str, language: str, predicate: str, thing: str
) -> None:
    asked = asked_fact(query, language)
    assert asked and predicate in asked.predicates and asked.thing == thing


@pytest.mark.parametrize(
    "query",
    [
        "Where does Tom live?",
        "What is the capital of France?",
        "I live in Graz.",
        "my dog barks",
        "",
    ],
)
def test_asked_fact_other_questions_and_statements_ask_for_none(query: str) -> None:
    assert asked_fact(query, "english") is None
