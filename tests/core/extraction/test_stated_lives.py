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


def test_stated_what_a_sentence_says_of_several_people() -> None:
    said = "There's five of us: me, my husband Sven, and the kids, Ida, Nils and Per."
    found = {(one.predicate, one.object) for one in stated_by(said_by_anna(said))}
    children = {("has_child", name) for name in ("Ida", "Nils", "Per")}
    assert found == {("has_husband", "Sven"), *children}


def test_stated_a_pronoun_is_who_was_named_last() -> None:
    found = stated_by(said_by_anna("my fiancé is called rui and he's a baker"))
    assert {(one.subject, one.predicate) for one in found} == {
        ("Anna", "has_fiancé"),
        ("Rui", "works_as"),
    }


def test_stated_a_dead_dog_was_had() -> None:
    (one,) = stated_by(said_by_anna("My dog Biscuit died last week."))
    assert one.content == "Anna had a dog called Biscuit, who died last week."
    assert one.over and {(end.subject, end.object) for end in one.ends} == {
        ("Anna", "Biscuit"),
        ("Biscuit", ""),
    }


def test_stated_all_items_of_a_list() -> None:
    found = stated_by(said_by_anna("I'm allergic to nuts and fish."))
    assert [one.object for one in found] == ["nuts", "fish"]


def test_stated_a_dislike_ends_a_liking() -> None:
    (one,) = stated_by(said_by_anna("I can't stand coffee any more."))
    assert one.predicate == "dislikes" and not one.over
    assert one.ends[0].object == "coffee" and "likes" in one.ends[0].predicates


def test_stated_an_agent_states_nothing() -> None:
    assert stated_by(said_by_anna("I live in Leeds.", role="assistant")) == []


def test_stated_the_work_of_a_turn_grows_with_its_length_alone() -> None:
    long = "i live in leeds and i work at tesco and my dog is called rex " * 60
    assert len(stated_by(said_by_anna(long))) <= 10


def test_stated_of_a_relatives_relative_nothing_is_said_of_the_speaker() -> None:
    found = stated_by(said_by_anna("my brother's girlfriend is called amy and she's a vet"))
    assert [(one.subject, one.predicate, one.object) for one in found] == [
        ("Anna's brother", "has_girlfriend", "Amy"),
        ("Amy", "works_as", "a vet"),
    ]


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
