"""Which turns say something that a later question can be answered with."""

from slowcat_memory.core.query.understand import asks_about_talk, of_words, substance
from tests.support.recall_without_store import memory
from tests.support.rows import each_row, listed


@each_row(("text", "language"), listed("rules/substance", "nothing"))
def test_fillers_and_questions_about_oneself_say_nothing(text: str, language: str) -> None:
    assert of_words(text, False, language).share == 0


@each_row(("text", "language"), listed("rules/substance", "by_the_agent"))
def test_reactions_and_not_knowing_of_the_agent_say_nothing(text: str, language: str) -> None:
    assert of_words(text, True, language).share == 0


@each_row(("text", "language"), listed("rules/substance", "something"))
def test_statements_say_something(text: str, language: str) -> None:
    assert of_words(text, False, language).share >= 0.3


def test_a_question_beside_a_statement_takes_only_its_share() -> None:
    both = of_words("My dog is called Max. What is yours called?", False, "english")
    assert 0.3 < both.share < 1 and not both.asks
    assert of_words("What is my dog called?", False, "english").asks
    assert not of_words("okay thanks", False, "english").asks


@each_row(
    ("text", "language", "about"),
    listed("rules/substance", "who_asks_to_be_told_does_not_ask_about_themselves_for_that"),
)
def test_who_asks_to_be_told_does_not_ask_about_themselves_for_that(
    text: str, language: str, about: str
) -> None:
    assert of_words(text, False, language).asks == (about == "yes")


def test_only_the_words_of_turns_are_weighed() -> None:
    assert substance(memory("chunk/1", "okay thanks"), "english").share == 0
    assert substance(memory("note/1", "okay thanks", kind="note"), "english").share == 1
    assert substance(memory("chunk/1", "okay thanks", pinned=True), "english").share == 1


@each_row(
    ("query", "language", "about"),
    listed("rules/substance", "a_query_for_earlier_questions_is_told_from_others"),
)
def test_a_query_for_earlier_questions_is_told_from_others(
    query: str, language: str, about: str
) -> None:
    assert asks_about_talk(query, language) == (about == "yes")
