"""Orders to the memory in set and in free words, and sentences that only look like one."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slowcat_memory.core.commands import grammar
from slowcat_memory.core.commands.grammar import Command, recognise
from slowcat_memory.core.language import LANGUAGES
from tests.support.rows import listed


def test_recognise_yes_and_no_only_after_a_question() -> None:
    assert recognise("yes forget them") is None and recognise("no") is None
    assert recognise("yes forget them", asked=True) == Command(kind="yes")
    assert recognise("yes please", asked=True) == Command(kind="yes")
    assert recognise("no keep them", asked=True) == Command(kind="no")
    assert recognise("ja vergiss sie", "german", asked=True) == Command(kind="yes")
    assert recognise("yes we went there", asked=True) is None


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


LOOK_ALIKES = listed("commands/look_alikes")


@pytest.mark.parametrize("name", ["english", "german"])
def test_look_alikes_are_not_carried_out(name):
    found = {one: recognise(one, name) for language, one in LOOK_ALIKES if language == name}
    assert [one for one, command in found.items() if command and command.kind != "confirm"] == []
