"""Heads, blocks and the profile show what holds now, surely, and once."""

from datetime import UTC, datetime, timedelta
from typing import Any

from slowcat_memory.core.blocks.lasting import human, profile_line, profile_of
from slowcat_memory.records import Memory, Statement

NOW = datetime(2026, 5, 12, 12, tzinfo=UTC)
DAY = timedelta(days=1)
OWN = {"subject", "confidence", "over"}


def stated(text: str, predicate: str = "", object_: str = "", **more: Any) -> Memory:
    own = {"subject": "Anna", **{name: more.pop(name) for name in OWN & more.keys()}}
    said = Statement(predicate=predicate, object=object_, **own)
    given = {"kind": "fact/person", "valid_from": NOW - DAY, "sources": (1,), **more}
    return Memory(
        id=f"fact/{text}", scope="anna", speaker="Anna", text=text, statement=said, **given
    )


def shown(*memories: Memory) -> list[str]:
    return [one.text for one in human(memories, NOW)]


def test_an_uncertain_fact_describes_nobody() -> None:
    joke = stated("Anna is a millionaire.", confidence="low")
    assert shown(joke) == [] and profile_of([joke], "Anna", NOW) == {}


def test_who_left_has_no_employer_in_the_profile() -> None:
    left = stated("Anna no longer works at Siemens.", "works_at", "Siemens", over=True)
    assert profile_line(profile_of([left], "Anna", NOW)) == ""


def test_a_new_employer_counts_from_its_day_on() -> None:
    first_day = NOW + 20 * DAY
    old = stated("Anna works at Leeds.", "works_at", "Leeds", valid_to=first_day)
    new = stated("Anna works at Southmead.", "works_at", "Southmead", valid_from=first_day)
    assert profile_line(profile_of([old, new], "Anna", NOW)) == "works at Leeds"
    assert profile_line(profile_of([old, new], "Anna", first_day)) == "works at Southmead"
    assert shown(old, new) == ["Anna works at Leeds."]


def test_what_ended_long_ago_is_left_out() -> None:
    left = stated("Anna left Siemens.", "works_at", "Siemens", over=True)
    long_ago = stated("Anna left Bosch.", "works_at", "Bosch", over=True,
                      valid_from=NOW - 400 * DAY)  # fmt: skip
    assert shown(left, long_ago) == ["Anna left Siemens."]
