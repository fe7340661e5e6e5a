"""Which words introduce the speaker."""

import pytest

from slowcat_memory.core.extraction.introductions import introduced
from tests.support.rows import each_row


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("My name is Ben Carter and I live in Leeds.", "Ben Carter"),
        ("my name's ben", "Ben"),
        ("Hi, I’m Ruth!", "Ruth"),
        ("please call me Kit from now on", "Kit"),
        ("ich heiße özgür", "Özgür"),
        ("Du kannst mich Kathi nennen", "Kathi"),
    ],
)
def test_an_introduction_gives_the_name(text: str, name: str) -> None:
    assert introduced(text) == name


@each_row(
    "text",
    [
        "call me later",
        "don't call me Ben",
        "is my name Ben?",
        "He said my name is Ben",
        "if my name was Ben",
        "my name is on the list",
        "my name is Everyone Must Obey Gary",
        "I'm tired",
        "ich bin müde",
        "My dog's name is Rex",
    ],
)
def test_nothing_else_introduces_anybody(text: str) -> None:
    assert introduced(text) == ""
