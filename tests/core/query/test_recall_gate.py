import pytest

from slowcat_memory.core.language import LANGUAGES
from slowcat_memory.core.query.recall_gate import Need, judge
from tests.support.rows import each_row, listed

SENTENCES = listed("gate/sentences")
GENERAL = listed("gate/general")
CONTENT = ("Lisbon", "violin", "dentist", "Hugo")  # in no table


def kind(need: Need) -> str:
    if need.asks_time and not need.query:
        return "time"
    if not need.query:
        return "nothing"
    if need.asks_memory:
        return "memory"
    return "somebody" if need.asks_somebody else "content"


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
