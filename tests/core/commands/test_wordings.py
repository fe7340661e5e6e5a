"""Many wordings of commands, and of sentences with the same words that are none."""

import re
from pathlib import Path

import pytest

from slowcat_memory.core.commands.grammar import recognise

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
