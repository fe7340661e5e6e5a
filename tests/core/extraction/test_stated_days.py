"""Days and changes of people's lives: what is read of appointments, outings, moves and endings."""

from pathlib import Path

from slowcat_memory.core.extraction.stated import stated_by
from tests.support.rows import each_row
from tests.support.said import said_by_anna

# A fact | what Anna says
DAYS = (Path(__file__).parents[2] / "data" / "stated" / "days.txt").read_text("utf-8")


@each_row(("fact", "said"), [line.split("|") for line in DAYS.strip().splitlines()])
def test_stated_what_happens_on_a_day_is_read(fact: str, said: str) -> None:
    found = [one for one in stated_by(said_by_anna(said)) if one.content == fact]
    assert found and not found[0].over and found[0].quote in said
