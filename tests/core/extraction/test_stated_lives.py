"""What people say of their lives, in many wordings, and the fact that is read from each."""

from pathlib import Path

import pytest

from slowcat_memory.core.extraction.stated import stated_by
from tests.support.rows import each_row
from tests.support.said import said_by_anna

LISTS = Path(__file__).parents[2] / "data" / "stated"
# A fact | what Anna says
HOLDS = (LISTS / "holds.txt").read_text("utf-8")
# What is over, as a fact | what Anna says
OVER = (LISTS / "over.txt").read_text("utf-8")
# No fact of Anna's life.
NOTHING = (LISTS / "nothing.txt").read_text("utf-8")


def rows(text: str) -> list[list[str]]:
    return [line.split("|") for line in text.strip().splitlines()]


@each_row(("fact", "said"), rows(HOLDS))
def test_stated_facts_are_sentences_as_people_would_say_them(fact: str, said: str) -> None:
    found = [one for one in stated_by(said_by_anna(said)) if one.content == fact]
    assert found and not found[0].over and found[0].quote in said


@each_row(("fact", "said"), rows(OVER))
def test_stated_what_is_over_is_said_and_ends_what_was_so(fact: str, said: str) -> None:
    found = [one for one in stated_by(said_by_anna(said)) if one.content == fact]
    assert found and found[0].over and found[0].ends


@each_row("said", NOTHING.strip().splitlines())
def test_stated_nothing_from_what_is_no_fact(said: str) -> None:
    assert [one.content for one in stated_by(said_by_anna(said))] == []


@each_row(("fact", "said"), [row for row in rows(HOLDS) if "'" in row[1]])
def test_stated_a_typographic_apostrophe_changes_nothing(fact: str, said: str) -> None:
    straight = stated_by(said_by_anna(said))
    curly = stated_by(said_by_anna(said.replace("'", "’")))
    assert [one.content for one in curly] == [one.content for one in straight]
    assert all(one.quote in said.replace("'", "’") for one in curly)


@pytest.mark.parametrize(
    ("said", "objects"),
    [
        ("I'm allergic to nuts and fish.", ["nuts", "fish"]),
        ("I love sci-fi and fantasy books.", ["sci-fi and fantasy books"]),
        ("I don't like bowling itself, to be honest", ["bowling itself"]),
        ("I bought a red, eagle-shaped kite at the market.", []),
        ("I bought some new shelves and refurbished my desk.", ["some new shelves"]),
    ],
)
def test_stated_objects_end_where_they_end(said: str, objects: list[str]) -> None:
    assert [one.object for one in stated_by(said_by_anna(said))] == objects
