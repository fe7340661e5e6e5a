"""Facts without an LLM: what is taken up, and what is not."""

import pytest

from slowcat_memory.core.extraction.stated import stated
from slowcat_memory.core.language import LANGUAGES
from slowcat_memory.errors import ConfigError
from tests.support.rows import each_row

SAID = """
name|Anna Weber|My name is Anna Weber.
name|Jo|Call me Jo.
lives_in|Lisbon|I live in Lisbon now.
lives_in|New York|I'm living in New York, actually.
lives_in|Oslo|We recently moved to Oslo!
address|123 Main St|my new address is 123 Main St.
address|456 Oak Ave|I moved to 456 Oak Ave last week.
born_in|Brazil|I'm originally from Brazil.
works_at|Acme|I work at Acme as a nurse.
works_as|a nurse|I work at Acme as a nurse.
works_at|Google|I just started at Google.
works_as|a software engineer|I'm a software engineer.
studies|biology|I study biology at the university.
age|34|I'm 34 years old.
age|35|I just turned 35 last week.
birthday|3 May|My birthday is on 3 May.
email|anna@example.org|My email is anna@example.org.
has_wife|Joana|My wife is called Joana.
has_sister|Clara|My sister Clara is visiting.
has_pet|Max|My dog's name is Max.
has_pet|Luna|We adopted a little cat named Luna.
age|3|My dog Max is 3.
age|four|Max is four years old.
allergic_to|peanuts|I'm allergic to peanuts, so be careful.
diet|vegan|I'm vegan.
favourite colour|green|My favourite colour is green.
likes|hiking|I love hiking and long walks.
dislikes|mushrooms|I can't stand mushrooms.
prefers|tea|I prefer tea.
appointment|an interview at Google on Friday|I have an interview at Google on Friday.
decided|to quit smoking|I've decided to quit smoking.
finished|the report|I finally finished the report!
has_to|call the dentist|I still need to call the dentist.
wants_reminder|water the plants|Remind me to water the plants.
"""
GERMAN = """
name|Jonas|Ich heiße Jonas.
lives_in|Köln|ich wohne jetzt in Köln
works_at|Siemens|Ich arbeite bei Siemens.
age|40|Ich bin 40 Jahre alt.
has_wife|Petra|Meine Frau heißt Petra.
has_pet|Rex|Mein Hund heißt Rex.
likes|Tee|Ich mag Tee.
allergic_to|Nüsse|Ich bin allergisch gegen Nüsse.
"""
NOT_SAID = """
Do I live in Rome?
If I lived in Paris I would be happy.
I used to live in Rome.
He said I live in Rome.
Imagine my name is Zorro.
I might work at Google.
I wish I lived in Oslo.
I never work at night.
I live in the mountains.
I like it a lot.
I love you.
I'm from here.
She has a dog called Rex.
You live in Lisbon, don't you?
I was 20 minutes late.
I'm 5 minutes away.
I dreamt I live in Rome.
My mother told me I'm allergic to cats.
Is my name Anna?
I'm a bit tired.
I am an idiot.
I work too much.
I moved to the sofa.
I decided.
I would love a coffee.
Wohne ich in Köln?
Ich wohne vielleicht bald in Bonn.
"""


def table(text: str) -> list[list[str]]:
    return [line.split("|") for line in text.strip().splitlines()]


@each_row(("predicate", "object_", "text"), table(SAID))
def test_stated_what_is_said_is_taken_up(predicate: str, object_: str, text: str) -> None:
    found = stated(text, "Anna")
    assert (predicate, object_) in [(one.predicate, one.object) for one in found]
    assert all(one.quote in text for one in found), "the evidence stands in the turn"


@each_row(("predicate", "object_", "text"), table(GERMAN))
def test_stated_in_german_too(predicate: str, object_: str, text: str) -> None:
    found = [(one.predicate, one.object) for one in stated(text, "Jonas", "german")]
    assert found == [(predicate, object_)]


@each_row("text", NOT_SAID.strip().splitlines())
def test_stated_what_is_not_said_is_not(text: str) -> None:
    for language in LANGUAGES:
        assert stated(text, "Anna", language.name) == []


def test_stated_whose_age_it_is() -> None:
    found = {(one.subject, one.object) for one in stated("My dog Max is 3.", "Anna")}
    assert found == {("Anna", "Max"), ("Max", "3")}


def test_stated_what_is_over() -> None:
    (one,) = stated("I no longer work at Acme.", "Anna")
    assert one.over and one.content == "Anna no longer works at Acme."


def test_stated_of_an_unknown_language_or_an_odd_text() -> None:
    with pytest.raises(ConfigError, match="french"):
        stated("J'habite à Lyon.", "Anna", "french")
    for odd in ("", "I live in " * 3000, "My name is \ud800", "I am " + "9" * 500, "\0"):
        stated(odd, "Anna")
