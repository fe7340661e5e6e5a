"""A German day is one with its month, in summaries and facts."""

from datetime import UTC, datetime

from slowcat_memory.core.facts.prompt import facts_by_rule
from slowcat_memory.core.language import language_of
from slowcat_memory.core.render.attribution import attributed
from slowcat_memory.core.summaries.extractive import split_turn
from slowcat_memory.records import Turn
from tests.support.rows import each_row, listed, listed_texts


@each_row("said", listed_texts("rules/ordinals", "a_sentence_is_not_cut_behind_its_day"))
def test_a_sentence_is_not_cut_behind_its_day(said: str) -> None:
    assert [line.text for line in split_turn("Jana", said, 1)] == [said]
    assert attributed(said, "Jana", language_of("german")) == said


def test_sentences_are_still_cut() -> None:
    assert [line.text for line in split_turn("Jana", "Es regnet. Ich bleibe da.", 1)] == [
        "Es regnet.", "Ich bleibe da."]  # fmt: skip


@each_row(("said", "expected"), listed("rules/ordinals", "an_appointment_is_no_birthday"))
def test_an_appointment_is_no_birthday(said: str, expected: str) -> None:
    turn = Turn(id=1, session="s", scope="u", speaker="Jana", role="user", text=said,
                at=datetime(2026, 11, 14, 18, tzinfo=UTC))  # fmt: skip
    found = {fact.predicate for fact in facts_by_rule(turn, UTC)}
    assert ("birthday" in found) is (expected == "yes")
