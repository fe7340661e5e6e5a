"""Whether a statement says what its quote denies, supposes or does not have the words for."""

from datetime import UTC, datetime

import pytest

from slowcat_memory.core.extraction.checks.quoted import (
    contradicts,
    denies,
    supposes,
    unsupported,
    without_tag,
)
from slowcat_memory.records import Turn
from tests.support.rows import each_row

# quote | statement that follows from it | statement that it denies
DENIED = """
I'm not vegetarian any more|Mira is no longer vegetarian.|Mira is vegetarian.
I can't stand olives|Mira hates olives.|Mira loves to stand with olives.
I've never been to Ghent|Mira has never been to Ghent.|Mira has been to Ghent.
she's over the flu|Lotte no longer has the flu.|Lotte is not over the flu.
Tom texted me this morning|Tom texted Mira.|Tom did not text Mira.
you won't believe who rang, Jonas|Jonas rang Mira.|Jonas never rang.
I'm vegetarian nearly six years|Mira has been vegetarian for six years.|Mira has never been vegetarian.
the trip to Ghent is off|Mira's trip to Ghent is cancelled.|Mira was in Ghent.
it's on the ninth, isn't it|Mira's exam is on the ninth.|Mira's exam is not on the ninth.
I don't eat pork|Mira does not eat pork.|Mira eats pork.
Ines isn't coming to the wedding|Ines is not coming to the wedding.|Ines is coming to the wedding.
the concert was cancelled|The concert did not take place.|Mira heard the concert.
ich bin nicht mehr Vegetarierin|Mira ist keine Vegetarierin mehr.|Mira ist Vegetarierin.
ich war noch nie in Gent|Mira war noch nie in Gent.|Mira war in Gent.
ich esse kein Schweinefleisch|Mira isst kein Schweinefleisch.|Mira isst Schweinefleisch.
du glaubst nicht, wer angerufen hat, der Jonas|Jonas hat angerufen.|Jonas hat nicht angerufen.
der Ausflug nach Gent fällt aus|Der Ausflug nach Gent fällt aus.|Mira macht den Ausflug nach Gent.
Ines kommt nicht zur Hochzeit|Ines kommt nicht zur Hochzeit.|Ines kommt zur Hochzeit.
ich wohne seit sechs Jahren in Gera|Mira wohnt seit sechs Jahren in Gera.|Mira wohnt nicht in Gera.
am neunten ist die Prüfung, nicht wahr|Miras Prüfung ist am neunten.|Miras Prüfung ist nicht am neunten.
"""

PLAIN = """
I never miss choir|Mira goes to choir.
it's not only Tom who plays chess, Ines does as well|Ines plays chess.
no, it's the twelfth, the exam|Mira's exam is on the twelfth.
I don't mind the rain, I walk every day|Mira walks every day.
nobody else has the key, only Petra|Petra has the key.
physics now, not chemistry|Ines studies physics now, not chemistry.
so fish yes, meat no|Mira eats fish, but no meat.
I can't wait for Rome in June|Mira goes to Rome in June.
Ines can't come, she's in Ghent till Sunday|Ines cannot come because she is in Ghent till Sunday.
nein, am zwölften ist die Prüfung|Miras Prüfung ist am zwölften.
nicht nur Tom spielt Schach, Ines auch|Ines spielt Schach.
ich verpasse nie den Chor|Mira geht in den Chor.
"""


@each_row("row", DENIED.strip().splitlines())
def test_the_contrary_of_a_quote_is_refused(row: str) -> None:
    quote, right, wrong = row.split("|")
    for said in (quote, quote.lower()):
        assert not contradicts(right, said)
        assert contradicts(wrong, said)


@each_row("row", PLAIN.strip().splitlines())
def test_a_negation_of_something_else_denies_nothing(row: str) -> None:
    quote, content = row.split("|")
    assert not contradicts(content, quote)


@pytest.mark.parametrize(
    "text",
    ["you will not believe who rang", "you'll never guess who I met", "it's on Friday, isn't it?",
     "not only that", "I can't wait", "du glaubst nicht, wer da war", "am Freitag, nicht wahr?"],
)  # fmt: skip
def test_idioms_and_tags_deny_nothing(text: str) -> None:
    assert not denies(text)


@pytest.mark.parametrize(
    "text", ["I don't smoke", "she isn't here", "ich rauche nicht", "kein Bier"]
)
def test_a_negation_is_found(text: str) -> None:
    assert denies(text)


def test_a_tag_is_no_question() -> None:
    assert without_tag("it's on the ninth, isn't it?") == "it's on the ninth"
    assert without_tag("das ist am neunten, oder?") == "das ist am neunten"
    assert without_tag("is it on the ninth?") == "is it on the ninth?"


@pytest.mark.parametrize(
    ("quote", "text", "supposed"),
    [
        ("I'd buy a boat", "if I won the pools I'd buy a boat", True),
        ("I'm going to buy a goat", "if it breaks again I'm going to buy a goat", True),
        ("my last day is Friday", "my last day is Friday, if Otto lets me go", False),
        ("I'm going to Ghent", "I'm going to Ghent on Friday", False),
        ("kaufe ich mir ein Boot", "wenn ich im Lotto gewinne kaufe ich mir ein Boot", True),
        ("ich fahre nach Gent", "ich fahre nach Gent", False),
    ],
)
def test_what_is_only_supposed_is_no_fact(quote: str, text: str, supposed: bool) -> None:
    assert supposes(quote, text) is supposed


def test_a_statement_without_the_words_of_the_record_is_unsupported() -> None:
    turn = Turn(id=1, session="s", scope="m", speaker="Mira", role="user",
                text="they came back with an offer", at=datetime(2026, 5, 12, tzinfo=UTC))  # fmt: skip
    assert unsupported("Mira plays golf every Sunday.", "Mira", [turn])
    assert not unsupported("Mira has an offer.", "Mira", [turn])


@each_row(
    ("content", "quote", "wrong"),
    [
        ("Tom lives in Bath.", "I don't live in Brighton any more, I moved to Bath", False),
        ("Tom lives in Brighton.", "I don't live in Brighton any more, I moved to Bath", True),
        ("Tom works at Intel.", "I don't work at Aldi now, it's Intel", False),
        ("Tom works at Aldi.", "I don't work at Aldi now, it's Intel", True),
        ("Mira wohnt in Bremen.", "ich wohne nicht mehr in Kiel, sondern in Bremen", False),
        ("Mira wohnt in Kiel.", "ich wohne nicht mehr in Kiel, sondern in Bremen", True),
        ("Tom likes running.", "I don't like running in the rain, honestly", True),
        ("Tom drinks coffee.", "I don't drink coffee, but tea, that's fine", True),
        ("Tom drinks tea.", "I don't drink coffee but tea", False),
    ],
)
def test_a_denial_in_another_clause_denies_nothing(content, quote, wrong):
    assert contradicts(content, quote) is wrong
