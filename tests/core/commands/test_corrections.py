"""Which of several texts "that's wrong, it's …" is for: a table."""

from slowcat_memory.core.commands.corrections import Said, find_corrected, mentions, replaced_value
from slowcat_memory.core.commands.grammar import recognise
from slowcat_memory.core.language import language_of
from slowcat_memory.core.text.normalize import Tokenizer
from tests.support.rows import each_listed


def verdict(said: Said, texts: list[str], correction: str, name: str = "english") -> str:
    command = recognise(correction, name)
    assert command is not None and command.kind == "correct", correction
    language = language_of(name)
    found = find_corrected(command.argument, said, texts, language, Tokenizer(name))
    return texts[found] if isinstance(found, int) else found


@each_listed("commands/corrections", "")
def test_corrections_find_corrected_only_what_was_said_from_it(
    name, question, answer, offered, correction, expected
):
    texts = [text for text in offered.split(" | ") if text]
    assert verdict(Said(question, answer), texts, correction, name) == expected


@each_listed("commands/own_corrections", "")
def test_corrections_find_corrected_users_own_statement(statement, answer, correction, expected):
    assert verdict(Said(statement, answer, True), [statement], correction) == expected


@each_listed("commands/replaced_values", "")
def test_corrections_replaced_value_is_told_from_what_to_what(
    text, answer, correction, before, after, name
):
    command = recognise(correction, name)
    assert command is not None and command.kind == "correct"
    language = language_of(name)
    found = replaced_value(command.argument, answer, text, language, Tokenizer(name))
    assert found == (before, after)


@each_listed("commands/mentions", "")
def test_mentions(about: str, text: str, expected: str) -> None:
    assert mentions(about, Tokenizer("english"))(text) is (expected == "yes")
