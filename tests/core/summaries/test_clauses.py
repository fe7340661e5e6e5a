"""Sentences are cut where a clause ends, and fillers are dropped."""

import pytest

from slowcat_memory.core.language import language_of
from slowcat_memory.core.summaries.extractive import as_sentence, clauses


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("Well, I think I really love the bakery.", ["I love the bakery."]),
        ("I sold the car, and we bought two bikes.", ["I sold the car", "we bought two bikes."]),
        ("i sold the car and i bought two bikes", ["i sold the car", "i bought two bikes"]),
        ("I’m so tired because the train was late", ["I’m tired", "the train was late"]),
        (
            "Bread, milk and eggs are on the list, you know.",
            ["Bread, milk and eggs are on the list"],
        ),
        ("That is enough, really.", ["enough, really."]),
        ("Well, um, yeah.", []),
    ],
)
def test_clauses_of_english(sentence: str, expected: list[str]) -> None:
    assert clauses(sentence) == expected


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("Also, ich habe das Auto wirklich verkauft.", ["ich habe das Auto verkauft."]),
        ("Wir haben entschieden, sie zu nehmen.", ["Wir haben entschieden, sie zu nehmen."]),
        ("Das ist das Haus, das wir kaufen.", ["das Haus, das wir kaufen."]),
        ("ich bin müde weil der zug zu spät war", ["ich bin müde", "der zug zu spät war"]),
    ],
)
def test_clauses_of_german(sentence: str, expected: list[str]) -> None:
    assert clauses(sentence, language_of("german")) == expected


def test_as_sentence_has_a_capital_and_an_end() -> None:
    assert as_sentence("i sold the car,") == "I sold the car."
    assert as_sentence("Did it work?") == "Did it work?"
