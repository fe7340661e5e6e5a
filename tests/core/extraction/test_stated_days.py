"""Days and changes of people's lives: what is read of appointments, outings, moves and endings."""

from datetime import UTC
from pathlib import Path

import pytest

from slowcat_memory.core.extraction.clauses import MOST_LETTERS, clauses
from slowcat_memory.core.extraction.stated import stated_by
from slowcat_memory.core.language import language_of
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
    ("said", "moved"),
    [
        ("My driving test got moved to the 4th of June.", "driving test"),
        ("Unsere Party wurde auf den 20. verschoben.", "Party"),
    ],
)
def test_stated_a_new_day_ends_the_old_one(said: str, moved: str) -> None:
    (found,) = stated_by(said_by_anna(said))
    assert not found.over
    assert [one.object for one in found.ends] == [moved]
    assert "appointment" in found.ends[0].predicates


def test_clauses_of_a_question_about_a_moved_day_state_nothing() -> None:
    asked = "Did they reschedule my blood test, is it on Tuesday now?"
    assert clauses(asked, language_of("english")) == []


def test_clauses_with_an_endless_word_are_not_matched() -> None:
    endless = "7" * (MOST_LETTERS + 1)
    assert clauses(f"I live at {endless}", language_of("english")) == []


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
