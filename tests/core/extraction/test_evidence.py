"""When a statement is true: by its words, and by what an extractor wrote. Said on 2 November 2026."""

from datetime import UTC, datetime

from msgspec.structs import replace

from slowcat_memory.core.extraction.evidence import Dated, dated
from slowcat_memory.core.extraction.grounding import ground
from slowcat_memory.core.facts.prompt import facts_by_rule
from slowcat_memory.records import Turn
from tests.support import said
from tests.support.rows import each_listed

AT = datetime(2026, 11, 2, 18, tzinfo=UTC)  # a Monday


def turn(text: str) -> Turn:
    return said.turn(text, scope="lena", speaker="Lena", at=AT, id=3)


def day(text: str, written: str = "", quote: str = "") -> Dated:
    one = turn(text)
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
    (fact,) = facts_by_rule(turn("I have a dentist appointment on Friday."), UTC)
    assert (fact.date, fact.since) == ("2026-11-06", AT)


def test_a_relation_begins_on_the_day_that_was_meant() -> None:
    (fact,) = facts_by_rule(turn("I moved to Porto on Friday."), UTC)
    assert fact.since.date().isoformat() == "2026-10-30"


def test_a_birthday_ahead_is_known_at_once() -> None:
    (fact,) = facts_by_rule(turn("My mum's birthday is on the 4th of December."), UTC)
    assert fact.since == AT


def test_a_visit_is_no_day_of_a_relation() -> None:
    said = turn("My sister Anke is coming to visit on Friday.")
    assert {one.predicate: one.date for one in facts_by_rule(said, UTC)}["has_sister"] == ""


NOVEMBER = datetime(2026, 11, 12, 18, tzinfo=UTC)  # a Thursday
# What was said, the quote, the extractor's date, the day, and since when ("" for when it was said).


@each_listed("rules/evidence")
def test_dated_the_year_and_the_since_are_those_that_were_meant(
    text: str, quote: str, written: str, expected: str, since: str
) -> None:
    one = replace(turn(text), at=NOVEMBER)
    found = dated(quote, one, written, ground([one], UTC), UTC)
    assert found.day == expected
    assert found.since.isoformat().startswith(since or NOVEMBER.isoformat())
