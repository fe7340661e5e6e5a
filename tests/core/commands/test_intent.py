"""Commands that no rule reads, and how sure the model must be of them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slowcat_memory.core.commands.grammar import Heard, recognise
from slowcat_memory.core.commands.intent import Utterance, find_intended, words_of
from slowcat_memory.core.commands.intent_model import NONE, Intent, read_model
from slowcat_memory.core.language import LANGUAGES, language_of
from tests.support.rows import each_row, listed


class FixedModel:
    """Judges every utterance alike."""

    def __init__(self, kind: str, asks: float, share: float) -> None:
        self._intent = Intent(kind, asks, share)

    def judge(self, words, table) -> Intent:
        return self._intent


def kinds(text: str, model: FixedModel, language: str = "english") -> list[tuple[str, bool]]:
    found = find_intended(Utterance(text, language_of(language).commands.intents), model)
    return [(found.kind, found.sure)] if found else []


@each_row(("language", "kind", "said"), listed("commands/unread"))
def test_intent_a_wording_that_no_rule_reads_is_understood(language, kind, said):
    found = recognise(said, language)
    assert found is not None
    assert (found.meant or found).kind == kind


def test_intent_a_doubtful_change_is_asked_about_and_no_question_is():
    said = "could you leave what i said just now somewhere else"
    assert kinds(said, FixedModel("forget_that", 0.5, 0.5)) == [("forget_that", False)]
    assert kinds(said, FixedModel("undo", 0.4, 0.4)) == [("undo", False)]
    assert kinds(said, FixedModel("why", 0.4, 0.4)) == []
    assert kinds(said, FixedModel("forget_that", 0.1, 0.1)) == []


@pytest.mark.parametrize(
    "said",
    [
        "Anna, forget what I told you",
        '"Forget everything," she said',
        "please delete the photos from my phone",
    ],
)
def test_intent_no_share_makes_a_command_of_what_is_for_somebody_else(said):
    assert kinds(said, FixedModel("forget_that", 1.0, 1.0)) == []


def test_intent_a_forgetting_without_its_topic_is_asked_about():
    found = kinds("i want you to have less", FixedModel("forget_span", 0.99, 0.99))
    assert found == [("forget_that", False)]


@pytest.mark.parametrize("language", [one.name for one in LANGUAGES])
def test_intent_model_knows_conversation_and_every_kind_it_returns(language):
    model = read_model(language)
    assert model is not None and NONE in model.kinds
    table = language_of(language).commands.intents
    intent = model.judge(words_of("the fence is green"), table)
    assert intent.kind != NONE and 0 <= intent.share <= intent.asks <= 1.0001


def test_intent_what_is_to_be_remembered_is_never_asked_to_be_forgotten():
    said = "please remember the thing with the fence"
    assert kinds(said, FixedModel("forget_about", 0.99, 0.99)) == []


def test_intent_the_agents_name_is_no_feature():
    assert words_of("Jarvis, forget that", ("Jarvis",)) == ["forget", "that"]
    assert words_of("robot cat, forget that", ("robot cat",)) == ["forget", "that"]


@pytest.mark.parametrize("words", [1, 2, 26, 40])
def test_intent_the_model_judges_neither_set_phrases_nor_long_turns(words):
    sure = FixedModel("forget_that", 1.0, 1.0)
    assert kinds(" ".join(["forget"] * words), sure) == []
    assert kinds(" ".join(["forget"] * 8), sure) != []


@each_row(("language", "said"), listed("commands/talk"))
def test_intent_talk_is_no_command(language, said):
    for heard in (said, said.lower(), f"{said}?"):
        assert recognise(heard, language) is None


WORDS = st.sampled_from(
    "forget that please : . , dass merk dir lösch über wann today gestern my Lisa remember".split()
)


@settings(max_examples=300, deadline=None)
@given(st.lists(WORDS, max_size=70), st.sampled_from([one.name for one in LANGUAGES]))
def test_intent_any_words_give_an_argument_of_the_text_or_none(words, language):
    text = " ".join(words)
    found = recognise(text, language)
    assert found is None or found.argument in text


@pytest.mark.parametrize("kind", ["remember", "local", "off_record", "forget_about"])
def test_intent_the_model_alone_carries_out_only_what_is_short(kind):
    sure = FixedModel(kind, 1.0, 1.0)
    long = "we drove up to the cabin and the lake was frozen and nothing else happened to anybody there"
    assert kinds(f"{long} until it grew dark late on Sunday evening", sure) == []


def test_intent_what_is_nearly_a_command_is_told_to_the_llm():
    assert Heard("i need you to put that in your records somehow").asks_change()
    assert not Heard("the fence is green and new").asks_change()
