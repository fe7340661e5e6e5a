import pytest
from hypothesis import given
from hypothesis import strategies as st

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
@each_row("said", [str.lower, str.upper, lambda text: text.rstrip("?!.")])
def test_recall_gate_recognisers_leave_marks_and_capitals_out(
    said: object, language: str, expected: str, sentence: str
) -> None:
    need = judge(said(sentence), language)  # type: ignore[operator]
    if expected in ("nothing", "time", "world"):
        assert kind(need) == expected.replace("world", "nothing")
    else:
        assert need.query
    if expected == "memory":
        assert need.asks_memory


@each_row(("language", "expected", "sentence"), SENTENCES)
@each_row("place", ["before", "after"])
def test_recall_gate_one_word_of_content_is_enough_to_look_it_up(
    place: str, language: str, expected: str, sentence: str
) -> None:
    for word in CONTENT if expected != "world" else ():
        text = f"{word} {sentence}" if place == "before" else f"{sentence} {word}"
        assert word in judge(text, language).query


@each_row(
    ("said", "query"),
    listed("rules/recall_gate", "recall_gate_what_follows_a_greeting_is_looked_up"),
)
def test_recall_gate_what_follows_a_greeting_is_looked_up(said: str, query: str) -> None:
    assert judge(said).query == query


def test_recall_gate_only_silence_and_signs_need_nothing() -> None:
    assert judge("").query == judge("?!").query == judge("👍").query == ""


@each_row(
    ("said", "asks"),
    listed("rules/recall_gate", "recall_gate_questions_that_need_the_time_are_told_apart"),
)
def test_recall_gate_questions_that_need_the_time_are_told_apart(said: str, asks: str) -> None:
    assert judge(said).asks_time is (asks == "yes")


@given(st.text(max_size=500), st.sampled_from([one.name for one in LANGUAGES]))
def test_recall_gate_anything_can_be_said(text: str, language: str) -> None:
    need = judge(text, language)
    assert need.query == "" or text.endswith(need.query)


def test_recall_gate_only_the_beginning_and_the_end_of_a_long_text_are_read() -> None:
    long = "okay " * 50_000
    assert judge(long).query == long  # whatever so long says
    assert judge(f"hello, {long} what's my sister's name?").query.startswith("okay")
    assert judge(f"hello, {long}. What's my sister's name?").asks_memory


@pytest.mark.parametrize("said", [str, str.lower, lambda text: text.replace("'", "’")])
def test_recall_gate_what_a_memory_cannot_help_with_is_mostly_skipped(said: object) -> None:
    world = [one for one in GENERAL if one[1] == "world"]
    assert len(world) >= 140
    missed = [text for language, _, text in world if judge(said(text), language).query]  # type: ignore[operator]
    assert len(missed) <= 0.06 * len(world), missed


@pytest.mark.parametrize("said", [str, str.lower, str.upper, lambda text: text.rstrip("?!.")])
def test_recall_gate_nothing_that_needs_a_memory_is_skipped(said: object) -> None:
    needed = [one for one in GENERAL if one[1] == "needed"]
    assert len(needed) >= 60
    assert [text for language, _, text in needed if not judge(said(text), language).query] == []  # type: ignore[operator]


@pytest.mark.parametrize("language", [one.name for one in LANGUAGES])
def test_recall_gate_many_digits_take_no_time_to_divide(language: str) -> None:
    assert judge("what is " + "1" * 400 + "?", language)  # took for ever


@each_row(
    ("said", "language", "asks"),
    listed("rules/recall_gate", "recall_gate_a_preposition_may_begin_a_question"),
)
def test_recall_gate_a_preposition_may_begin_a_question(
    said: str, language: str, asks: str
) -> None:
    need = judge(said, language)
    assert (need is not None and need.asks) is (asks == "yes")


def test_recall_gate_a_greeting_of_several_words_is_left_out_of_a_long_query() -> None:
    words = "where did we put the spare key of the boat " * 9
    assert judge(f"hey there, {words}").query == words
