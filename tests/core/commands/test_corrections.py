"""Which of several texts "that's wrong, it's …" is for: a table."""

import pytest

from slowcat_memory.core.commands.corrections import Said, find_corrected, replaced_value
from slowcat_memory.core.commands.grammar import recognise
from slowcat_memory.core.language import language_of
from slowcat_memory.core.text.normalize import Tokenizer
from tests.support.rows import each_row

DOG = "Your dog is called Max"
PLUMBER = "the plumber comes on Thursday"
SISTER = "My sister is called Hannah"
CLARA = "My sister Clara lives in Vienna"
LISBON = "I live in Lisbon"
DENTIST = "The dentist is at four"
CATS = "We have three cats"

# Question, answer, what was offered, the correction, and what is corrected or why nothing is.
TABLE = [
    # Both of the report.
    ("What is my dog called?", "Your dog is called Max. Today is Monday, by the way.", [DOG],
     "That's wrong, it's Tuesday.", "own"),
    ("no, it is Klara with K", "Sorry, how is it spelt?", [PLUMBER],
     "that's wrong, it's Klara", "own"),
    # A weekday for a weekday, a word for a word, a number for a number.
    ("when does the plumber come", "He comes on Thursday.", [PLUMBER],
     "that's wrong, it's Tuesday", PLUMBER),
    ("what is my sister called", "Your sister is called Hannah.", [SISTER],
     "that's wrong it's Annika", SISTER),
    ("what is my sister called", "Hannah, and your dog is Max.", [SISTER, DOG],
     "that's wrong it's Annika", "unclear"),
    ("what is my sister called", "Your sister is called Hannah.", [SISTER, CLARA],
     "that's wrong it's Annika", SISTER),
    ("when is the dentist", "The dentist is at four.", [DENTIST], "that's wrong it's five", DENTIST),
    ("when is the dentist", "At four. It has rained for 9 days.", [DOG],
     "that's wrong it's five", "own"),
    ("when does June see the doctor", "On Friday.", ["It's not Friday anymore, it's Tuesday"],
     "no it's Tuesday not Friday", "own"),
    # The wrong value is named.
    ("what's my name", "You are Katrin.", [SISTER, "My friend is called Katrin"],
     "no it's Karin not Catrin", "My friend is called Katrin"),
    ("what day is it", "It is Monday.", [DOG], "no it's Tuesday not Monday", "own"),
    # Whole statements.
    ("where do I live", "You live in Lisbon.", [LISBON, DOG],
     "no that's not true i live in porto", LISBON),
    ("how many pets", "You have three cats.", [CATS, DOG], "that's wrong we have two cats", CATS),
    ("and the plumber", "I don't know.", [DOG, PLUMBER],
     "that's wrong, the plumber comes on Tuesday", PLUMBER),
    ("how are you", "Fine.", [DOG, PLUMBER], "that's wrong, my son is six", "new"),
    ("who is Paul", "I don't know Paul.", [DOG], "that's wrong he is my brother", "unclear"),
    # What it says already is not what is wrong.
    ("what is my sister called", "Your sister is called Anna.", [SISTER],
     "that's wrong it's Hannah", "own"),
    ("when does the plumber come", "On Monday.", [PLUMBER], "that's wrong it's Thursday", "own"),
    # Of several statements of one answer: the one with a name that sounds like it, or with a place.
    ("who comes", "Your sister Clara comes, and your dog is Max.", [CLARA, DOG],
     "no, it is Klara with K", CLARA),
    ("and them", "Your sister lives in Vienna, and your dog is called Max.", [CLARA, DOG],
     "that's wrong, it's in Salzburg", CLARA),
    ("what is on", "The plumber comes on Thursday. Your dog is Max. The dentist is at four.",
     [DOG, PLUMBER, DENTIST], "that's wrong it's Friday", PLUMBER),
    # Nothing was offered.
    ("what is the capital", "It is Sydney.", [], "that's wrong it's Canberra", "own"),
]  # fmt: skip


def verdict(said: Said, texts: list[str], correction: str, name: str = "english") -> str:
    command = recognise(correction, name)
    assert command is not None and command.kind == "correct", correction
    language = language_of(name)
    found = find_corrected(command.argument, said, texts, language, Tokenizer(name))
    return texts[found] if isinstance(found, int) else found


@each_row(("question", "answer", "texts", "correction", "expected"), TABLE)
def test_corrections_find_corrected_only_what_was_said_from_it(
    question, answer, texts, correction, expected
):
    assert verdict(Said(question, answer), texts, correction) == expected


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


@pytest.mark.parametrize(
    ("question", "answer", "texts", "correction", "expected"),
    [
        ("wann kommt der Klempner", "Er kommt am Donnerstag.",
         ["Mein Hund heißt Max", "Der Klempner kommt am Donnerstag"],
         "das stimmt nicht, es ist Dienstag", "Der Klempner kommt am Donnerstag"),
        ("wie heißt mein Hund", "Max. Heute ist Montag.", ["Mein Hund heißt Max"],
         "das stimmt nicht, es ist Dienstag", "own"),
        ("wie heißt meine Schwester", "Sie heißt Hanna.", ["Meine Schwester heißt Hanna"],
         "nein, sie heißt nicht Hanna sondern Anna", "Meine Schwester heißt Hanna"),
    ],
)  # fmt: skip
def test_corrections_find_corrected_german(question, answer, texts, correction, expected):
    assert verdict(Said(question, answer), texts, correction, "german") == expected


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
