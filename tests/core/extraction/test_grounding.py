"""Names, numbers and dates that nobody said."""

from datetime import UTC, datetime

from slowcat_memory.core.extraction.grounding import ground, strays
from slowcat_memory.records import Turn
from tests.support.rows import cases, each_listed


def said(*lines: str, at: datetime = datetime(2023, 5, 25, 13, tzinfo=UTC)) -> list[Turn]:
    turns = (line.split(": ", 1) for line in lines)
    return [
        Turn(session="s", scope="anna", speaker=who, role="user", text=text, at=at, id=n)
        for n, (who, text) in enumerate(turns, 1)
    ]


TALK = ground(
    said(
        "Anna: I ran a charity race last Saturday with my Swedish friend Bo.",
        "Melanie Berg: Great! I have been married for five years, we met in the UK.",
        "Anna: I bought three canoes for 90 euros. We go camping next month.",
        "Anna: My birthday is on 4 July.",
    ),
    UTC,
)


@each_listed("rules/grounding", "what follows from a conversation")
def test_strays_what_follows_from_a_conversation_passes(text):
    assert strays(text, TALK) == []


@each_listed("rules/grounding", "what nobody said")
def test_strays_what_nobody_said_is_found(text, stray):
    found = strays(text, TALK)
    assert ", ".join(found) == stray or (stray == "-" and found)


def test_ground_names_numbers_and_dates_of_what_is_known_count_as_said():
    turns = said("Anna: My start is in two weeks, he has drawn the logo.")
    known = ("Northlight = Anna's new employer from 4 January 2023", "Joel = friend, 41 years old")
    text = "Anna starts at Northlight on 4 January 2023; Joel, 41, has drawn the logo."
    assert strays(text, ground(turns, UTC, known)) == []
    assert strays(text, ground(turns, UTC)) == ["4 January 2023", "41", "Northlight", "Joel"]


NOVEMBER = datetime(2026, 11, 12, 18, tzinfo=UTC)  # a Thursday


def spoken(*lines: str) -> list[Turn]:
    return said(*(f"Mira: {line}" for line in lines), at=NOVEMBER)


@each_listed("rules/grounding")
def test_strays_a_spoken_number_is_the_written_one(line: str, right: str, wrong: str) -> None:
    grounding = ground(spoken(line), UTC)
    assert strays(right, grounding) == []
    assert len(strays(wrong, grounding)) == 1


@each_listed("rules/grounding")
def test_strays_a_year_is_that_of_the_words(line: str, right: str, wrong: str) -> None:
    grounding = ground(spoken(line), UTC)
    assert strays(right, grounding) == []
    assert len(strays(wrong, grounding)) == 1


@cases("rules/grounding.jsonl")
def test_strays_an_invented_name_is_one_in_german_too(text: str, stray: list[str]) -> None:
    assert strays(text, ground(spoken("ich bring die katze morgen zum tierarzt"), UTC)) == stray
