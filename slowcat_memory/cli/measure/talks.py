"""Reads the made-up conversations on which a model is measured."""

import tomllib
from datetime import datetime, timedelta
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec
from msgspec import Struct

from slowcat_memory.records import Memory, Turn

FILE = "talks.toml"
SCOPE, SESSION, AGENT = "measured", "talk", "Assistant"
STEP = timedelta(seconds=20)  # between two turns
BEFORE = timedelta(days=9)  # the older statement of a pair, and what was found


class Talk(Struct, frozen=True):
    """A conversation, and what a good answer has of it, as words in small letters."""

    language: str
    at: datetime
    user: str
    turns: list[tuple[str, str]]  # role and text
    facts: list[list[str]]
    names: list[str]
    gist: list[str]

    def said(self) -> list[Turn]:
        """Return its turns, numbered from 1."""
        return [
            _turn(number, self.user if role == "user" else AGENT, role, text, self.at)
            for number, (role, text) in enumerate(self.turns, 1)
        ]


class Statements(Struct, frozen=True):
    """Two statements, and whether both say the same."""

    older: str
    newer: str
    same: bool


class Found(Struct, frozen=True):
    """A question, lines that were found for it, and the numbers of those that answer it."""

    user: str
    said: str
    lines: list[str]
    answers: list[int]


class Sample(Struct, frozen=True):
    """Everything that a model is measured on."""

    talk: list[Talk]
    pair: list[Statements]
    found: list[Found]


@cache
def sample() -> Sample:
    text = files(__package__).joinpath(FILE).read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(text), Sample)


def statement(id: str, text: str, at: datetime) -> Memory:
    """Return a fact with a text."""
    return Memory(
        id=f"fact/{id}", kind="fact/person", scope=SCOPE, speaker="", text=text, valid_from=at
    )


def question(found: Found, at: datetime) -> Turn:
    return _turn(1, found.user, "user", found.said, at)


def _turn(number: int, speaker: str, role: Any, text: str, at: datetime) -> Turn:
    return Turn(
        id=number,
        session=SESSION,
        scope=SCOPE,
        speaker=speaker,
        role=role,
        text=text,
        at=at + number * STEP,
    )
