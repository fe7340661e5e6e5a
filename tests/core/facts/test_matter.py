"""What two facts share, and whether the later one can have taken the earlier one's place."""

from datetime import UTC, datetime, timedelta

from slowcat_memory.core.facts.matter import days_in, may_replace, numbers
from slowcat_memory.core.facts.merging import Pair, compare, decide_by_words, outcome_of_verdict
from slowcat_memory.core.text.normalize import Tokenizer
from slowcat_memory.records import Memory
from tests.support import said
from tests.support.rows import cases, each_listed

AT = datetime(2026, 11, 2, 18, tzinfo=UTC)
TOKENIZE = Tokenizer("english")


def fact(text: str, type: str = "plan", day: int = 0, subject: str = "Nell", **more: str) -> Memory:
    given = {"id": f"fact/{day}", "valid_from": AT + timedelta(days=day), "sources": (day + 1,)}
    return said.fact(text, type, subject=subject, **given, **more)


@each_listed("rules/matter")
def test_a_clear_change_is_asked_about_and_a_yes_is_believed(
    type: str, older: str, day: str, other_type: str, newer: str, other_day: str
) -> None:
    subject = "Tom" if older.startswith("Tom") else "The bakery" if "offered" in older else "Nell"
    one = fact(older, type, 0, subject, date=day)
    other = fact(newer, other_type, 9, subject, date=other_day)
    pair = Pair(one, other)
    assert compare(pair, 0.75, TOKENIZE) in ("ask", "update")
    assert outcome_of_verdict(pair, "", TOKENIZE) == "update"


@each_listed("rules/matter")
def test_a_yes_for_two_matters_is_not_believed(one: str, other: str) -> None:
    """A small model says of all pairs that they are the same."""
    pair = Pair(fact(one, "person"), fact(other, "person", 9))
    assert outcome_of_verdict(pair, "", TOKENIZE) is None
    assert compare(pair, 0.97, TOKENIZE) not in ("same", "update")
    assert decide_by_words(pair, TOKENIZE) is None


def test_another_day_is_a_change_by_rule_only_where_the_words_say_so() -> None:
    first = fact("Nell sees the dentist on 3 May 2027.", "event", date="2027-05-03")
    second = fact("Nell sees the dentist on 9 June 2027.", "event", 5, date="2027-06-09")
    moved = fact(second.text, "event", 5, date="2027-06-09", quote="it's the ninth of June now")
    assert compare(Pair(first, second), 0.99, TOKENIZE) == "ask"
    assert decide_by_words(Pair(first, second), TOKENIZE) is None, "two appointments"
    assert decide_by_words(Pair(first, moved), TOKENIZE) == "update"


def test_a_trip_that_is_over_by_its_day_may_be_replaced_by_how_it_was() -> None:
    trip = fact("Nell flies to Oslo on 5 November 2026.", "event", date="2026-11-05")
    before, after = (fact("Oslo was grey, says Nell.", "event", day) for day in (1, 6))
    assert may_replace(after, trip, TOKENIZE) and not may_replace(before, trip, TOKENIZE)


@cases("rules/matter.jsonl")
def test_days_are_read_in_both_languages_and_are_no_numbers(text: str, days: set) -> None:
    assert days_in(text) == set(map(tuple, days))
    assert not days or not numbers(text)
