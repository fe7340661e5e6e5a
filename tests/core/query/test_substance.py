"""Which turns say something that a later question can be answered with."""

from slowcat_memory.core.query.understand import of_words, substance
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


def test_only_the_words_of_turns_are_weighed() -> None:
    assert substance(memory("chunk/1", "okay thanks"), "english").share == 0
    assert substance(memory("note/1", "okay thanks", kind="note"), "english").share == 1
    assert substance(memory("chunk/1", "okay thanks", pinned=True), "english").share == 1
