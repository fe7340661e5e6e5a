"""No text makes a rule of the frame path run away, whatever its words repeat.

A pattern that can divide a text in many ways takes twice as long for each further word: hours
for a few hundred characters. The watchdog is far above what any rule needs, so that only such
growth fails; it counts processor time, which other programs do not use up.
"""

import itertools
import json
import random
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import pytest

from slowcat_memory.core.commands.grammar import Heard
from slowcat_memory.core.extraction.bounded_names import introduced
from slowcat_memory.core.extraction.prompt_injection import injected
from slowcat_memory.core.query.recall_gate import judge
from slowcat_memory.core.query.understand import (
    AskOptions,
    asks_about_talk,
    asks_overview,
    of_words,
    parse_query,
)
from slowcat_memory.core.time.expressions import statement_times
from tests.support.rows import DATA, each_row

NOW = datetime(2026, 5, 12, 12, tzinfo=UTC)
SIZES = {600: 40, 4000: 20}  # texts for each rule by characters: a long utterance, one read aloud
MOST_S = 5.0  # of processor time, for one text
PARTS = json.loads((DATA / "text/repeated.json").read_text("utf-8"))
TEXTS = tuple(itertools.product(PARTS["beginnings"], PARTS["units"], PARTS["ends"]))

Rule = Callable[[str], object]
RULES: dict[str, Rule] = {
    "judge": judge,
    "judge in German": lambda text: judge(text, "german"),
    "recognise": lambda text: Heard(text).command(),
    "recognise in German": lambda text: Heard(text, "german").command(),
    "asks_change": lambda text: Heard(text).asks_change(),
    "injected": injected,
    "introduced": introduced,
    "asks_overview": asks_overview,
    "asks_about_talk": lambda text: asks_about_talk(text, "english"),
    "substance": lambda text: of_words(text, False, "english"),
    "substance in German": lambda text: of_words(text, False, "german"),
    "statement_times": lambda text: statement_times(text, NOW, UTC),
    "parse_query": lambda text: parse_query(text, NOW, UTC, options=AskOptions()),
}


class RanAwayError(Exception):
    """A rule used more processor time than any text needs."""


@contextmanager
def watchdog(seconds: float) -> Iterator[None]:
    def bark(number: int, frame: object) -> None:
        raise RanAwayError

    before = signal.signal(signal.SIGVTALRM, bark)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def texts(size: int, count: int, seed: str) -> list[str]:
    """Return texts of about a size, each of one repeated unit between a beginning and an end."""
    chosen = random.Random(seed).sample(TEXTS, count)
    return [begin + unit * (size // len(unit)) + end for begin, unit, end in chosen]


def run_away(rule: Rule, many: list[str], most_s: float = MOST_S) -> list[str]:
    """Return the beginnings of the texts for which a rule does not end in time."""
    found = []
    for text in many:
        try:
            with watchdog(most_s):
                rule(text)
        except RanAwayError:
            found.append(text[:40])
    return found


@each_row("size", SIZES)
@each_row("name", RULES)
def test_adversarial_text_ends_every_rule_of_the_frame_path(name: str, size: int) -> None:
    assert run_away(RULES[name], texts(size, SIZES[size], f"{name} {size}")) == []


def test_adversarial_text_of_thousands_of_characters_is_no_command() -> None:
    assert Heard("remember that the code is " + "1" * 200).command() is not None
    assert Heard("remember that the code is " + "1" * 4000).command() is None
    assert not Heard("forget " + "1" * 4000).asks_change()


@pytest.mark.slow
@pytest.mark.parametrize("name", RULES)
def test_adversarial_text_of_every_kind_ends_every_rule(name: str) -> None:
    assert run_away(RULES[name], texts(600, len(TEXTS), name)) == []


def test_adversarial_text_control_a_pattern_that_divides_in_many_ways_is_found() -> None:
    bad = re.compile(r"(?:\d+ ?)+x")
    assert run_away(bad.fullmatch, ["1" * 60 + "!"], most_s=0.2) == ["1" * 40]
