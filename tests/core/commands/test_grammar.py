"""Orders to the memory in set and in free words, and sentences that only look like one."""

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.commands import measure, sentences
from slowcat_memory.core.commands import grammar, intent
from slowcat_memory.core.commands.grammar import Command, Heard, recognise
from slowcat_memory.core.language import LANGUAGES
from tests.support.rows import each_row, listed


def test_recognise_the_list_and_no_look_alikes() -> None:
    every = sentences()
    result = measure(every)
    assert result["all"]["commands"] >= 200 and result["all"]["lookalikes"] >= 200
    assert sum(bool(one.kind) and one.language == "german" for one in every) >= 30
    assert result["all"]["recognised_share"] >= 0.98
    assert result["all"]["false_alarm_share"] <= 0.005


@each_row(
    ("text", "command"),
    [
        ("Remember that I’m allergic to nuts.", Command(kind="remember", argument="I'm allergic to nuts")),
        (
            "um remember for all of us that the bins go out on thursday please",
            Command(kind="remember", argument="the bins go out on thursday", shared=True),
        ),
        ("My dog is called Max, remember that!", Command(kind="remember", argument="My dog is called Max")),
        ("forget everything about Ben", Command(kind="forget_about", argument="Ben")),
        ("That's wrong, it's Anna.", Command(kind="correct", argument="it's Anna")),
        ("off the record", Command(kind="off_record")),
        (
            "Off the record, I hate my job.",
            Command(kind="off_record", rest="I hate my job"),
        ),
        ("", None),
        ("…", None),
        ("remember " + "that I like tea and " * 60, None),
    ],
)  # fmt: skip
def test_recognise_commands_with_their_arguments(text: str, command: Command | None) -> None:
    assert recognise(text) == command


def test_recognise_yes_and_no_only_after_a_question() -> None:
    assert recognise("yes forget them") is None and recognise("no") is None
    assert recognise("yes forget them", asked=True) == Command(kind="yes")
    assert recognise("yes please", asked=True) == Command(kind="yes")
    assert recognise("no keep them", asked=True) == Command(kind="no")
    assert recognise("ja vergiss sie", "german", asked=True) == Command(kind="yes")
    assert recognise("yes we went there", asked=True) is None


def test_recognise_skips_the_agents_name() -> None:
    assert recognise("robbie forget that", names=("Robbie",)) == Command(kind="forget_that")
    assert recognise("robbie forget that", names=("Bob.*",)) is None


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=200), st.sampled_from([one.name for one in LANGUAGES]), st.booleans())
def test_recognise_takes_any_text(text: str, language: str, asked: bool) -> None:
    found = recognise(text, language, asked=asked)
    assert found is None or found.argument in text.translate(grammar.QUOTES)


DATA = Path(__file__).parents[2] / "data" / "commands"


def lines(name: str) -> list[str]:
    return (DATA / name).read_text().splitlines()


def kind_of(sentence: str, language: str) -> str:
    found = recognise(sentence, language, names=("Slowcat",))
    return "" if found is None else found.kind + "_shared" * found.shared


@pytest.mark.parametrize("language", ["english", "german"])
def test_wordings_of_commands_have_the_right_kind(language):
    rows = [line.split("\t") for line in lines(f"{language}.tsv")]
    wrong = [sentence for kind, sentence in rows if kind_of(sentence, language) != kind]
    assert len(wrong) <= 0.07 * len(rows), wrong


@pytest.mark.parametrize("language", ["english", "german"])
@pytest.mark.parametrize("plain", [False, True])
def test_wordings_of_conversation_are_no_commands(language, plain):
    said = lines(f"{language}-conversation.txt")
    if plain:
        said = [re.sub(r"[.,:!?]", "", sentence).lower() for sentence in said]
    kinds = {one: kind for one in said if (kind := kind_of(one, language))}
    asked = [one for one, kind in kinds.items() if kind == "confirm"]
    assert len(asked) <= 0.03 * len(said), asked
    taken = kinds.keys() - set(asked)
    assert len(taken) <= (0.04 if plain else 0.025) * len(said), taken


LOOK_ALIKES = listed("commands/look_alikes")


@pytest.mark.parametrize("name", ["english", "german"])
def test_look_alikes_are_not_carried_out(name):
    found = {one: recognise(one, name) for language, one in LOOK_ALIKES if language == name}
    assert [one for one, command in found.items() if command and command.kind != "confirm"] == []


def test_a_turn_is_split_into_words_once_for_command_and_request(monkeypatch):
    split = list[str]()

    class Counting:
        def finditer(self, text: str) -> object:
            split.append(text)
            return before.finditer(text)

    before = intent._TOKEN
    monkeypatch.setattr(intent, "_TOKEN", Counting())
    said = "i need you to put that in your records somehow"
    heard = Heard(said, names=("Slowcat",))
    assert heard.command() is None and heard.asks_change()
    assert heard.command(asked=True) is None
    assert split == [said]
