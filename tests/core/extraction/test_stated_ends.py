"""What people say in passing that something is over, or has taken the place of another."""

from datetime import UTC, datetime

from slowcat_memory.core.extraction.evidence import dated
from slowcat_memory.core.extraction.grounding import ground
from slowcat_memory.core.extraction.slots import ends
from slowcat_memory.core.extraction.stated import StatedFact, stated_by
from slowcat_memory.core.extraction.third_person import stated_change
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


def test_a_move_names_the_place_without_its_day():
    change = stated_change("Ida is moving to Oslo the day after tomorrow.", "Ida", "2026-04-21")
    assert change is not None and (change.predicate, change.object) == ("lives_in", "Oslo")
