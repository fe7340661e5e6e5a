"""Which of several texts "that's wrong, it's …" is for: a table."""

import pytest

from slowcat_memory.core.commands.corrections import Said, find_corrected, replaced_value
from slowcat_memory.core.commands.grammar import recognise
from slowcat_memory.core.language import language_of
from slowcat_memory.core.text.normalize import Tokenizer
from tests.support.rows import each_row, listed

PLUMBER = "the plumber comes on Thursday"
SISTER = "My sister is called Hannah"
CLARA = "My sister Clara lives in Vienna"
LISBON = "I live in Lisbon"
DENTIST = "The dentist is at four"


def verdict(said: Said, texts: list[str], correction: str, name: str = "english") -> str:
    command = recognise(correction, name)
    assert command is not None and command.kind == "correct", correction
    language = language_of(name)
    found = find_corrected(command.argument, said, texts, language, Tokenizer(name))
    return texts[found] if isinstance(found, int) else found


@each_row(("question", "answer", "texts", "correction", "expected"), listed("commands/corrections"))
def test_corrections_find_corrected_only_what_was_said_from_it(
    question, answer, texts, correction, expected
):
    assert verdict(Said(question, answer), texts.split(" | "), correction) == expected


@pytest.mark.parametrize(
    ("statement", "answer", "correction", "expected"),
    [
        (SISTER, "A nice name.", "that's wrong it's Anna", SISTER),
        ("my dog is called Max", "Nice! Today is Monday.", "that's wrong it's Tuesday", "own"),
        (PLUMBER, "Noted.", "that's wrong it's Tuesday", PLUMBER),
        (SISTER, "Got it, your sister is Anna.", "that's wrong it's Hannah", "own"),
        ("I am tired", "The capital of Australia is Sydney, far away.",
         "that's wrong it's Canberra", "own"),
    ],
)  # fmt: skip
def test_corrections_find_corrected_users_own_statement(statement, answer, correction, expected):
    assert verdict(Said(statement, answer, True), [statement], correction) == expected


@each_row(
    ("question", "answer", "texts", "correction", "expected"), listed("commands/german_corrections")
)
def test_corrections_find_corrected_german(question, answer, texts, correction, expected):
    assert verdict(Said(question, answer), texts.split(" | "), correction, "german") == expected


@each_row(
    ("text", "answer", "correction", "changed", "name"),
    [
        (PLUMBER, "On Thursday.", "that's wrong, it's Tuesday", ("Thursday", "Tuesday"), "english"),
        (SISTER, "A nice name.", "that's wrong it's Anna", ("Hannah", "Anna"), "english"),
        (CLARA, "Clara comes.", "no, it is Klara with K", ("Clara", "Klara"), "english"),
        (DENTIST, "At four.", "no, not four, it's five. They moved it", ("four", "five"), "english"),
        (DENTIST, "At four.", "that's wrong it's five", ("four", "five"), "english"),
        (LISBON, "In Lisbon.", "that's wrong i live in porto", (LISBON, "i live in porto"), "english"),
        (SISTER, "Hannah.", "no it's Anna not Hannah", ("Hannah", "Anna"), "english"),
        ("Der Klempner kommt am Montag", "Am Montag.", "das ist falsch, es ist Dienstag",
         ("Montag", "Dienstag"), "german"),
        ("Meine Schwester heißt Clara", "Clara.", "nein, sie heißt Klara mit K",
         ("Clara", "Klara"), "german"),
    ],
)  # fmt: skip
def test_corrections_replaced_value_is_told_from_what_to_what(
    text, answer, correction, changed, name
):
    command = recognise(correction, name)
    assert command is not None and command.kind == "correct"
    language = language_of(name)
    assert replaced_value(command.argument, answer, text, language, Tokenizer(name)) == changed
