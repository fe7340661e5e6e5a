"""A German day is one with its month, in summaries and facts."""

from datetime import UTC, datetime

import pytest

from slowcat_memory.core.facts.prompt import facts_by_rule
from slowcat_memory.core.language import language_of
from slowcat_memory.core.render.attribution import attributed
from slowcat_memory.core.summaries.extractive import split_turn
from slowcat_memory.records import Turn

WHOLE = [
    "Wir ziehen am 28. November nach Connewitz um.",
    "Ich fange am 1. Dezember bei Nordlicht an.",
    "Vom 3. Mai bis zum 12. Juni sind wir weg.",
    "Der 24. Dezember ist ein Donnerstag.",
]


@pytest.mark.parametrize("said", WHOLE)
def test_a_sentence_is_not_cut_behind_its_day(said: str) -> None:
    assert [line.text for line in split_turn("Jana", said, 1)] == [said]
    assert attributed(said, "Jana", language_of("german")) == said


def test_sentences_are_still_cut() -> None:
    assert [line.text for line in split_turn("Jana", "Es regnet. Ich bleibe da.", 1)] == [
        "Es regnet.", "Ich bleibe da."]  # fmt: skip


@pytest.mark.parametrize(("said", "expected"), [
    ("Ich habe am 20. November einen Termin beim Zahnarzt.", False),
    ("Wir haben am 3. Mai eine Probe.", False),
    ("Ich habe am 20. November Geburtstag.", True),
    ("Mia wird am 4. Mai sieben.", True),
])  # fmt: skip
def test_an_appointment_is_no_birthday(said: str, expected: bool) -> None:
    turn = Turn(id=1, session="s", scope="u", speaker="Jana", role="user", text=said,
                at=datetime(2026, 11, 14, 18, tzinfo=UTC))  # fmt: skip
    found = {fact.predicate for fact in facts_by_rule(turn, UTC)}
    assert ("birthday" in found) is expected
