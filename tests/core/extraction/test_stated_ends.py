"""What people say in passing that something is over, or has taken the place of another."""

from datetime import UTC, datetime

from slowcat_memory.core.extraction.evidence import dated
from slowcat_memory.core.extraction.grounding import ground
from slowcat_memory.records import Turn
from tests.support.rows import each_row, listed

SUNDAY = datetime(2026, 4, 19, 10, tzinfo=UTC)


def turn(text: str) -> Turn:
    return Turn(
        id=1, session="s", scope="ida", speaker="Ida", role="user", text=text, at=SUNDAY
    )  # fmt: skip


@each_row(("text", "day", "last"), listed("rules/stated_ends", "a_counted_week_names_its_day"))
def test_a_counted_week_names_its_day(text, day, last):
    when = dated(text, turn(text), "", ground((turn(text),), UTC), UTC)
    assert (when.day, when.last) == (day, last)
