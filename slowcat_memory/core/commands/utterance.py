"""An utterance as classes of words, and what in it speaks against a command to the memory.

Somebody else's words, a question, another addressee, a thing that is no memory: the patterns of a
language are in its ``intents.toml``.
"""

import re
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

from slowcat_memory.core.language.intents import IntentWords
from slowcat_memory.core.language.word_classes import OTHER, STOP

_QUOTED = re.compile(r'^\W*["“„»«]|[,:]\s*["“„»«]|[.,!?]["”“«»]')  # somebody's words
_TOKEN = re.compile(r"[^\W_]+(?:['-][^\W_]+)*|[^\w\s]")


class Utterance:
    """What somebody said, read once for all questions about commands in it.

    Attributes:
        text: The words, with plain apostrophes.
        table: The classes of words of the language.
        names: The agent's names.
    """

    def __init__(self, text: str, table: IntentWords, names: tuple[str, ...] = ()) -> None:
        self.text, self.table, self.names = text, table, names

    @cached_property
    def tokens(self) -> Sequence[re.Match[str]]:
        """Its words and punctuation marks."""
        return list(_TOKEN.finditer(self.text))

    @cached_property
    def codes(self) -> str:
        """The codes of its tokens."""
        words = [token[0].lower() for token in self.tokens]
        codes = "".join(map(self.table.code, words))
        return _with_agent(codes, words, self.table, self.names)

    def find(self, slot: str) -> re.Match[str] | None:
        """Return the first match of a slot's patterns, in their order."""
        tried = (one.search(self.codes) for one in self.table.compiled[slot])
        return next(filter(None, tried), None)

    @cached_property
    def is_reported(self) -> bool:
        """Whether it holds a quotation: "Delete it", he said."""
        return _QUOTED.search(self.text) is not None

    @cached_property
    def calls_another(self) -> bool:
        """Whether somebody else is addressed: a name between two commas."""
        codes, table = self.codes, self.table
        if len(codes) < 2 or not any(pause in codes for pause in table.pauses):
            return False
        closed, kin = f"{STOP}{codes}{STOP}", table.code_of["kids"]
        return any(
            closed[at] in table.pauses
            and closed[at + 2] in table.pauses
            and (code == kin or (code == OTHER and self.tokens[at][0][0].isupper()))
            for at, code in enumerate(codes)
        )


def addresses_another(said: Utterance, *, reports: bool = False) -> bool:
    """Return whether somebody else than the agent is addressed: "Remember, kids, …".

    Args:
        reports: Whether also what somebody said or did counts: "…, he said".
    """
    return said.calls_another or (reports and said.find("against") is not None)


class Doubts(NamedTuple):
    """What speaks against a command in an utterance.

    Attributes:
        known: It has a word about the memory.
        elsewhere: It is addressed to somebody else, or holds a quotation.
        foreign: It has a thing that is no memory.
        against: A third person, a condition, a report.
        asks: It is a question.
    """

    known: bool
    elsewhere: bool
    foreign: bool
    against: bool
    asks: bool


def find_doubts(said: Utterance) -> Doubts:
    """Return what speaks against a command in an utterance."""
    table = said.table
    return Doubts(
        known=not table.needed.isdisjoint(said.codes),
        elsewhere=said.is_reported or said.calls_another or _begins_with_name(said.codes, table),
        foreign=table.code_of["foreign"] in said.codes,
        against=said.find("against") is not None,
        asks=said.find("question") is not None,
    )


def _with_agent(
    codes: str, words: Sequence[str], table: IntentWords, names: tuple[str, ...]
) -> str:
    """Mark the agent's names, which may have several words."""
    agent = table.code_of["agent"]
    for name in names:
        parts = name.lower().split()
        for at in range(len(words) - len(parts) + 1) if parts and parts[0] in words else ():
            if words[at : at + len(parts)] == parts:
                codes = codes[:at] + agent * len(parts) + codes[at + len(parts) :]
    return codes


def _begins_with_name(codes: str, table: IntentWords) -> bool:
    """Return whether an imperative follows one unknown word: "robbie forget that"."""
    orders = [table.code_of[name] for name in ("forget", "erase", "store")]
    return codes[:1] == OTHER and codes[1:2] in orders
