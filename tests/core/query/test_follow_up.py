import time
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowcat_memory.core.query.follow_up import (
    QueryOptions,
    Said,
    Subquery,
    leans,
    subqueries,
    with_context,
)
from slowcat_memory.core.text.word_lists import content_words

NOW = datetime(2026, 5, 13, 10, tzinfo=UTC)


def turn(text: str, age: float = 30) -> Said:
    at = NOW - timedelta(seconds=age)
    return Said(text, at)


DIALOGUE = (
    turn("I had dinner with Moritz at the harbour"),
    turn("How was it with Moritz? He had wanted to sell his boat."),
)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (
            "Where did Anna move and what does she do now?",
            ["Where did Anna move", "what does Anna do now"],
        ),
        (
            "where did anna move and what is her job",
            ["where did anna move", "what is anna's job"],
        ),
        (
            "What do both Anna and Ben like to eat?",
            ["What do Anna like to eat?", "What do Ben like to eat?"],
        ),
        (
            "did I like both the red car and the blue car",
            ["did I like the red car", "did I like the blue car"],
        ),
        (
            "What do Anna and Ben have in common?",
            ["What do Anna have in common?", "What do Ben have in common?"],
        ),
        (
            "Which of Anna, Ben and Caro sings?",
            ["Which of Anna sings?", "Which of Ben sings?", "Which of Caro sings?"],
        ),
        ("did I order coffee or tea", ["did I order coffee", "did I order tea"]),
        (
            "Does Anna earn more than Ben?",
            ["Does Anna earn more", "Ben earn"],
        ),
        (
            "What does the friend who moved to Berlin eat?",
            ["friend moved to Berlin eat"],
        ),
        (
            "What was the café called? Who works in the bakery?",
            ["What was the café called?", "Who works in the bakery?"],
        ),
    ],
)
def test_a_query_of_several_parts(text: str, parts: list[str]) -> None:
    whole, *rest = subqueries(text, ["anna", "ben"])
    assert whole == Subquery(text, 1.0)
    assert [part.text for part in rest][: len(parts)] == parts
    assert all(part.weight == 0.5 for part in rest)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "?!",
        "what is my dog called",
        "Where does my sister live?",
        "tell me about bread and butter",
        "more or less",
        "I was in town today. The café was closed. What is the next step?",
        "Around which holiday did Maria crash her car?",
        "Where was John between August 11 and August 15?",
        "when did I go hiking and have an accident",
        "yes and no",
        "und was ist mit ihm?",
        "你去了哪里",
        "😀",
    ],
)
def test_most_queries_are_one(text: str) -> None:
    assert subqueries(text) == (Subquery(text, 1.0),)


@given(st.text(max_size=200), st.lists(st.text(max_size=8), max_size=3), st.integers(0, 5))
def test_never_more_than_asked_for_and_the_whole_comes_first(text, names, parts) -> None:
    made = subqueries(text, names, QueryOptions(parts=parts))
    assert made[0] == Subquery(text, 1.0) and len(made) <= parts + 1
    assert len({part.text for part in made}) == len(made)
    assert all(part.text.strip() for part in made[1:])


@pytest.mark.parametrize(
    "text",
    [
        "and what about him?",
        "What about her?",
        "what did she say then?",
        "how about the boat",
        "why?",
        "and then?",
        "what did he do",
        "tell me more",
        "When was that?",
        "who is he",
        "and his sister?",
        "where was it",
        "how old is she",
    ],
)
def test_a_follow_up_leans(text: str) -> None:
    assert leans(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "thanks!",
        "okay",
        "yes please",
        "how are you",
        "But I am a gay musician",
        "what is my dog called",
        "Where does Ruth live?",
        "What did I do yesterday?",
        "and where did my brother buy the red Volvo last year?",
        "Where did Anna move and what does she do now?",
        "what was it that my doctor said about walnuts",
        "who bakes bread with me on Sundays",
        "I was thinking about the trip to Lisbon and how it rained every day",
        "und er?",
    ],
)
def test_what_stands_on_its_own_does_not_lean(text: str) -> None:
    assert not leans(text)
    assert with_context(text, DIALOGUE, NOW) == (Subquery(text, 1.0),)


def test_a_follow_up_takes_names_and_nouns_with_it() -> None:
    whole, bare = with_context("and what about him?", DIALOGUE, NOW)
    assert whole.text.startswith("and what about him? ")
    assert {"Moritz", "harbour", "boat", "dinner"} <= set(whole.text.split())
    assert (whole.weight, bare) == (1.0, Subquery("and what about him?", 0.5))


def test_names_come_before_rare_words_and_rare_before_common() -> None:
    rare = {"harbour": 9.0}
    options = QueryOptions(context_words=2)
    whole, _ = with_context("what about it?", DIALOGUE, NOW, options, lambda w: rare.get(w, 1.0))
    assert whole.text == "what about it? Moritz harbour"


def test_old_turns_and_none_at_all_are_no_context() -> None:
    for turns in ((), (turn("dinner with Moritz", age=3600),), (turn("hm, okay"),)):
        assert with_context("and him?", turns, NOW) == (Subquery("and him?", 1.0),)


def test_words_of_the_question_are_not_repeated() -> None:
    whole, *_ = with_context("and the boat?", DIALOGUE, NOW)
    assert whole.text.lower().split().count("boat") == 0
    assert "boat?" in whole.text


def test_content_words() -> None:
    assert content_words("What did she say about the dog's new bed?") == ["dog's", "new", "bed"]


def test_they_are_cheap() -> None:
    text, laps = "Where did Anna move, and what does she do now that she has left Lisbon?", []
    for _ in range(30):
        began = time.perf_counter()
        subqueries(text)
        with_context(text, DIALOGUE, NOW)
        laps.append(time.perf_counter() - began)
    assert min(laps) < 500e-6
