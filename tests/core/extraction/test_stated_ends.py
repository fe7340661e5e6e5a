"""What people say in passing that something is over, or has taken the place of another."""

from datetime import UTC, datetime

import pytest

from slowcat_memory.core.extraction.evidence import dated
from slowcat_memory.core.extraction.grounding import ground
from slowcat_memory.core.extraction.slots import ends
from slowcat_memory.core.extraction.stated import StatedFact, stated_by
from slowcat_memory.core.facts.prompt import facts_by_rule
from slowcat_memory.records import Statement, Turn
from tests.support.rows import each_row, listed

SUNDAY = datetime(2026, 4, 19, 10, tzinfo=UTC)


def turn(text: str) -> Turn:
    return Turn(
        id=1, session="s", scope="ida", speaker="Ida", role="user", text=text, at=SUNDAY
    )  # fmt: skip


def read(text: str) -> list[StatedFact]:
    return stated_by(turn(text))


@each_row(("text", "predicate", "object_"), listed("rules/stated_ends", "what_is_over_ends"))
def test_what_is_over_ends(text, predicate, object_):
    old = Statement(subject="Ida", predicate=predicate, object=object_)
    assert any(ends(end, old) for one in read(text) for end in one.ends if end.subject == "Ida")


@each_row(("text", "day", "last"), listed("rules/stated_ends", "a_counted_week_names_its_day"))
def test_a_counted_week_names_its_day(text, day, last):
    when = dated(text, turn(text), "", ground((turn(text),), UTC), UTC)
    assert (when.day, when.last) == (day, last)


@pytest.mark.parametrize(
    "text", ["I'm moving to Oslo the day after tomorrow.", "Ich ziehe am Freitag nach Oslo."]
)
def test_a_move_that_lies_ahead_is_a_home_from_its_day(text: str) -> None:
    [home] = [one for one in facts_by_rule(turn(text), UTC) if one.predicate == "lives_in"]
    assert home.object == "Oslo" and home.since > turn(text).at
