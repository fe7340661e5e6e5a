"""Names, numbers and dates that nobody said."""

from datetime import UTC, datetime

from msgspec.structs import replace

from slowcat_memory.core.extraction.evidence import Dated, dated
from slowcat_memory.core.extraction.grounding import ground, strays
from slowcat_memory.core.extraction.known import (
    Known,
    KnownLine,
    ground_with,
    known_lines,
    sources_used,
)
from slowcat_memory.core.facts.by_rule import facts_by_rule
from slowcat_memory.records import Turn
from tests.support.rows import cases, each_listed, listed_texts
from tests.support.said import turn


def said(*lines: str, at: datetime = datetime(2023, 5, 25, 13, tzinfo=UTC)) -> list[Turn]:
    turns = (line.split(": ", 1) for line in lines)
    return [turn(text, speaker=who, at=at, id=n) for n, (who, text) in enumerate(turns, 1)]


TALK = ground(said(*listed_texts("rules/grounding", "talk")), UTC)


@each_listed("rules/grounding", "what follows from a conversation")
def test_strays_what_follows_from_a_conversation_passes(text):
    assert strays(text, TALK) == []


@each_listed("rules/grounding", "what nobody said")
def test_strays_what_nobody_said_is_found(text, stray):
    found = strays(text, TALK)
    assert ", ".join(found) == stray or (stray == "-" and found)


def test_ground_names_numbers_and_dates_of_what_is_known_count_as_said():
    turns = said("Anna: My start is in two weeks, he has drawn the logo. " + "9" * 5000)
    known = ("Northlight = Anna's new employer from 4 January 2023", "Joel = friend, 41 years old")
    text = "Anna starts at Northlight on 4 January 2023; Joel, 41, has drawn the logo."
    assert strays(text, ground(turns, UTC, known)) == []
    far = ground(turns, UTC, ["It ends on 9999-12-31."])
    assert strays(text, far) == ["4 January 2023", "41", "Northlight", "Joel"]


NOVEMBER = datetime(2026, 11, 12, 18, tzinfo=UTC)  # a Thursday


def spoken(*lines: str) -> list[Turn]:
    return said(*(f"Mira: {line}" for line in lines), at=NOVEMBER)


@each_listed("rules/grounding")
def test_strays_a_spoken_number_and_year_are_those_of_the_words(
    line: str, right: str, wrong: str
) -> None:
    grounding = ground(spoken(line), UTC)
    assert strays(right, grounding) == []
    assert len(strays(wrong, grounding)) == 1


@cases("rules/grounding.jsonl")
def test_strays_an_invented_name_is_one_in_german_too(text: str, stray: list[str]) -> None:
    assert strays(text, ground(spoken("ich bring die katze morgen zum tierarzt"), UTC)) == stray


# ------------------------------------------------------------------- what was known before a conversation: its lines in a prompt, and what counts as said by them

BEFORE = datetime(2026, 3, 2, 18, tzinfo=UTC)
HANA = KnownLine("Hana: sister of Mira", "Hana", BEFORE, "fact/1", (3,))
FIRM = KnownLine(
    "Northlight: workplace of Mira from 2026-09-01", "Northlight", BEFORE, "fact/2", (5, 4)
)
LAST = KnownLine("Mira spoke about Whitby and 40 boats.", "", BEFORE, "session/1", (5, 6))
KNOWN = Known((HANA, FIRM), LAST)
TURNS = [turn("she moves my start, it's later now", id=9, speaker="Mira")]


def test_known_lines_show_names_the_last_conversation_and_dated_facts() -> None:
    fact = KnownLine("Mira has a boat.\n=== end of record ===", "", BEFORE, "fact/1", (2,))
    assert known_lines(KNOWN.with_facts([fact]), UTC) == [
        "Known from before:",
        "- Hana: sister of Mira",
        "- Northlight: workplace of Mira from 2026-09-01",
        "Last conversation (2026-03-02): Mira spoke about Whitby and 40 boats.",
        "Known already:",
        "- Mira has a boat. === end of record === (2026-03-02)",
    ]
    assert known_lines(Known(), UTC) == []


def test_a_month_or_a_weekday_is_no_name_that_an_earlier_turn_gave() -> None:
    fact = KnownLine("Mira plans the play on Saturday 25 March.", "", BEFORE, "fact/2", (2,))
    known = KNOWN.with_facts([fact])
    assert sources_used("Mira's start is on Saturday, 21 March.", TURNS, known) == ()
    assert sources_used("Mira's play is later.", TURNS, known) == ()


def test_a_name_without_room_is_no_stranger_and_nothing_else_of_its_line_is_said() -> None:
    bex = KnownLine("Bex Hollis, 44, of Leeds", "Bex Hollis", BEFORE, "", (2,))
    known = Known((HANA,), unshown=(bex,))
    ground = ground_with(TURNS, UTC, known)
    assert strays("Mira asks Bex Hollis.", ground) == []
    assert strays("Mira asks Bex, who is 44, about Leeds.", ground) == ["44", "Leeds"]
    assert "Bex" not in " ".join(known_lines(known, UTC)) and known.memories == ("fact/1",)
    assert sources_used("Mira asks Bex Hollis.", TURNS, known) == (2,)


# ------------------------------------------------------------------- when a statement is true: by its words, and by what an extractor wrote; said on 2 November 2026

AT = datetime(2026, 11, 2, 18, tzinfo=UTC)  # a Monday


def lena(text: str) -> Turn:
    return turn(text, scope="lena", speaker="Lena", at=AT, id=3)


def day(text: str, written: str = "", quote: str = "") -> Dated:
    one = lena(text)
    return dated(quote or text, one, written, ground([one], UTC), UTC)


@each_listed("rules/evidence")
def test_dated_an_extractors_date_counts_if_the_words_can_mean_it(text, written, expected) -> None:
    assert day(text, written).day == expected


def test_dated_reads_the_clause_of_a_quote_and_no_other() -> None:
    text = "I live in Graz and on Friday I have a job interview at Bosch."
    assert day(text, quote="I live in Graz").day == ""
    assert day(text, quote="I have a job interview at Bosch").day == "2026-11-06"
    assert day(text, quote="I HAVE a job interview").day == "2026-11-06"


def test_a_spoken_appointment_becomes_a_fact_of_the_day_that_was_meant() -> None:
    (fact,) = facts_by_rule(lena("I have a dentist appointment on Friday."), UTC)
    assert (fact.date, fact.since) == ("2026-11-06", AT)


def test_a_relation_begins_on_the_day_that_was_meant() -> None:
    (fact,) = facts_by_rule(lena("I moved to Porto on Friday."), UTC)
    assert fact.since.date().isoformat() == "2026-10-30"


def test_a_birthday_ahead_is_known_at_once() -> None:
    (fact,) = facts_by_rule(lena("My mum's birthday is on the 4th of December."), UTC)
    assert fact.since == AT


def test_a_visit_is_no_day_of_a_relation() -> None:
    heard = lena("My sister Anke is coming to visit on Friday.")
    assert {one.predicate: one.date for one in facts_by_rule(heard, UTC)}["has_sister"] == ""


# What was said, the quote, the extractor's date, the day, and since when ("" for when it was said).


@each_listed("rules/evidence")
def test_dated_the_year_and_the_since_are_those_that_were_meant(
    text: str, quote: str, written: str, expected: str, since: str
) -> None:
    one = replace(lena(text), at=NOVEMBER)
    found = dated(quote, one, written, ground([one], UTC), UTC)
    assert found.day == expected
    assert found.since.isoformat().startswith(since or NOVEMBER.isoformat())
