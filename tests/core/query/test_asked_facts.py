"""What a question asks for, what a later statement changes, and which sentences need a memory."""

import pytest

from slowcat_memory.core.language import LANGUAGES
from slowcat_memory.core.query import recall_gate
from slowcat_memory.core.query.recall_gate import (
    Need,
    Wording,
    asked_fact,
    judge,
    lacks_value,
    named_thing,
)
from tests.support.rows import cases, each_listed, each_row, listed


@each_listed("asked_facts", "")
def test_asked_fact_a_question_about_oneself_asks_for_predicates(query, language, predicate, thing):
    asked = asked_fact(query, language)
    assert asked and predicate in asked.predicates and asked.thing == thing


@cases("rules/asked_names")
def test_asked_fact_other_questions_and_statements_ask_for_none(query: str) -> None:
    assert asked_fact(query, "english") is None


@each_listed("rules/asked_names")
def test_what_is_asked_the_name_of(query: str, language: str, thing: str) -> None:
    assert (named_thing(query, language) or [""])[0] == thing


def revises(newer: str, older: str, query: str, language: str) -> bool:
    read = (Wording(text, language) for text in (newer, older, query))
    return recall_gate.revises(*read)


PAIRS = listed("revisions")


def test_there_are_at_least_sixty_pairs() -> None:
    assert len(PAIRS) >= 60


@each_row("lower", [False, True])
@each_row(("older", "newer", "query", "language"), PAIRS)
def test_a_later_statement_changes_the_earlier_one(older, newer, query, language, lower):
    if lower:
        older, newer, query = older.lower(), newer.lower(), query.lower()
    assert revises(newer, older, query, language)
    assert not revises(newer, older, "who painted the piano and the pump", language)


@each_listed("rules/revisions")
def test_other_matters_and_the_same_value_change_nothing(older, newer, query, language):
    assert not revises(newer, older, query, language)


@each_listed("rules/revisions", "a question for a value")
def test_a_question_for_a_value_is_not_answered_without_one(query, text, language, missing):
    assert lacks_value(query, [text], language) == float(missing)


# ------------------------------------------------------------------- which sentences need a memory

SENTENCES = listed("gate/sentences")
GENERAL = listed("gate/general")
CONTENT = ("Lisbon", "violin", "dentist", "Hugo")  # in no table


def kind(need: Need) -> str:
    if need.asks_time and not need.query:
        return "time"
    if not need.query:
        return "nothing"
    return "memory" if need.asks_memory else "content"


def test_recall_gate_there_are_enough_sentences_of_each_language() -> None:
    assert len(SENTENCES) >= 150 and {one[0] for one in SENTENCES} == {
        one.name for one in LANGUAGES
    }
    assert len({tuple(one) for one in SENTENCES}) == len(SENTENCES)


@each_row(("language", "expected", "sentence"), SENTENCES)
def test_recall_gate_what_a_sentence_needs(language: str, expected: str, sentence: str) -> None:
    assert kind(judge(sentence, language)) == expected.replace("world", "nothing")


@each_row(("language", "expected", "sentence"), SENTENCES)
@each_row("place", ["before", "after"])
def test_recall_gate_one_word_of_content_is_enough_to_look_it_up(
    place: str, language: str, expected: str, sentence: str
) -> None:
    for word in CONTENT if expected != "world" else ():
        text = f"{word} {sentence}" if place == "before" else f"{sentence} {word}"
        assert word in judge(text, language).query


@pytest.mark.parametrize("said", [str, str.lower, lambda text: text.replace("'", "’")])
def test_recall_gate_what_a_memory_cannot_help_with_is_mostly_skipped(said: object) -> None:
    world = [one for one in GENERAL if one[1] == "world"]
    assert len(world) >= 140
    missed = [text for language, _, text in world if judge(said(text), language).query]  # type: ignore[operator]
    assert len(missed) <= 0.06 * len(world), missed
