"""Orders to the memory in set and in free words, and sentences that only look like one."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slowcat_memory.core.commands import grammar
from slowcat_memory.core.commands.grammar import Command, Heard, recognise
from slowcat_memory.core.commands.intent import Utterance, find_argument, find_intended
from slowcat_memory.core.commands.intent_model import Intent, read_model
from slowcat_memory.core.language import LANGUAGES, language_of
from tests.support.rows import each_listed, listed


@each_listed("commands/yes_and_no", "")
def test_recognise_yes_and_no_only_after_a_question(language: str, said: str, kind: str) -> None:
    assert recognise(said, language) is None
    found = recognise(said, language, asked=True)
    assert found == (Command(kind=kind) if kind else None)


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=200), st.sampled_from([one.name for one in LANGUAGES]), st.booleans())
def test_recognise_takes_any_text(text: str, language: str, asked: bool) -> None:
    found = recognise(text, language, asked=asked)
    assert found is None or found.argument in text.translate(grammar.QUOTES)


def kind_of(sentence: str, language: str) -> str:
    found = recognise(sentence, language, names=("Slowcat",))
    return "" if found is None else found.kind + "_shared" * found.shared


@pytest.mark.parametrize("language", ["english", "german"])
def test_wordings_of_commands_have_the_right_kind(language):
    rows = listed(f"commands/{language}")
    wrong = [sentence for kind, sentence in rows if kind_of(sentence, language) != kind]
    assert len(wrong) <= 0.07 * len(rows), wrong


@each_listed("commands/look_alikes", "")
def test_look_alikes_are_not_carried_out(language, said):
    command = recognise(said, language)
    assert command is None or command.kind == "confirm"


# ------------------------------------------------------------------- commands that no rule reads, and how sure the model must be of them


class FixedModel:
    """Judges every utterance alike, and finds no argument."""

    def __init__(self, kind: str, asks: float, share: float) -> None:
        self._intent, self.arguments = Intent(kind, asks, share), None

    def judge(self, words, table) -> Intent:
        return self._intent


def kinds(text: str, model: FixedModel, language: str = "english") -> list[tuple[str, bool]]:
    found = find_intended(Utterance(text, language_of(language).commands.intents), model)
    return [(found.kind, found.sure)] if found else []


def test_intent_a_forgetting_without_its_topic_is_asked_about():
    found = kinds("i want you to have less", FixedModel("forget_span", 0.99, 0.99))
    assert found == [("forget_that", False)]


@each_listed("commands/talk", "")
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


def test_intent_what_is_nearly_a_command_is_told_to_the_llm():
    assert Heard("i need you to put that in your records somehow").asks_change()
    assert not Heard("the fence is green and new").asks_change()


@each_listed("commands/arguments", "")
def test_arguments_are_the_words_of_the_user(language, kind, said, expected):
    utterance = Utterance(said, language_of(language).commands.intents)
    span = find_argument(kind, utterance, read_model(language)) or (0, 0)
    assert said[slice(*span)] == expected
