"""A turn is read once for everything that is asked about commands in it."""

from pathlib import Path

import pytest

from slowcat_memory.core.commands import grammar, utterance
from slowcat_memory.core.commands.grammar import Heard

DATA = Path(__file__).parents[2] / "data" / "commands"
NAMES = ("Slowcat",)


def sentences(language: str) -> list[str]:
    commands = (DATA / f"{language}.tsv").read_text().splitlines()
    said = [line.split("\t")[1] for line in commands]
    said += [f"okay {one} please?" for one in said[::5]] + [f"Slowcat, {one}" for one in said[::7]]
    return said + (DATA / f"{language}-conversation.txt").read_text().splitlines()


@pytest.mark.parametrize("language", ["english", "german"])
@pytest.mark.parametrize("asked", [False, True])
def test_no_command_is_missed_by_the_search_that_spares_the_rules(language, asked):
    said = [*sentences(language), "yes", "no", "yes please", "ja", "nein danke"]
    either = grammar._any_rule(language, NAMES, asked)
    rules = grammar._rules(language, NAMES, asked)
    lines = [grammar._line(one) for one in said]
    matched = [line for line in lines if any(rule.pattern.fullmatch(line) for rule in rules)]
    assert len(matched) > 3
    assert [line for line in matched if not either.fullmatch(line)] == []
    tried = [line for line in lines if either.fullmatch(line)]
    assert len(tried) <= 1.1 * len(matched) + 5


def test_a_turn_is_split_into_words_once_for_command_and_request(monkeypatch):
    split = list[str]()

    class Counting:
        def finditer(self, text: str) -> object:
            split.append(text)
            return before.finditer(text)

    before = utterance._TOKEN
    monkeypatch.setattr(utterance, "_TOKEN", Counting())
    said = "i need you to put that in your records somehow"
    heard = Heard(said, names=NAMES)
    assert heard.command() is None and heard.asks_change()
    assert heard.command(asked=True) is None
    assert split == [said]
