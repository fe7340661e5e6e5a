"""Days and changes of people's lives: what is read of appointments, outings, moves and endings."""

from datetime import UTC
from pathlib import Path

import pytest

from slowcat_memory.core.extraction.stated import stated_by
from slowcat_memory.core.time.expressions import statement_times
from tests.support.rows import each_row
from tests.support.said import said_by_anna

# A fact | what Anna says
DAYS = (Path(__file__).parents[2] / "data" / "stated" / "days.txt").read_text("utf-8")


@each_row(("fact", "said"), [line.split("|") for line in DAYS.strip().splitlines()])
def test_stated_what_happens_on_a_day_is_read(fact: str, said: str) -> None:
    found = [one for one in stated_by(said_by_anna(said)) if one.content == fact]
    assert found and not found[0].over and found[0].quote in said


@pytest.mark.parametrize(
    ("said", "day"),
    [
        ("My exam has been moved to the 10th.", 10),
        ("Die Prüfung wurde auf den 12. verschoben.", 12),
        ("Am 13. Gehe ich zum Impfen.", 13),
    ],
)
def test_a_day_without_its_month_is_the_next_one(said: str, day: int) -> None:
    turn = said_by_anna(said)
    assert [one.start.day for one in statement_times(said, turn.at, UTC)] == [day]
