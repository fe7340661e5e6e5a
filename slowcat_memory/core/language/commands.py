"""The shape of a language's table. To add a language, fill one in and name it in ``LANGUAGES``.

A pattern is a regular expression over words in lower case that are parted by single spaces, without
punctuation. ``{x}`` is the argument; ``{name}`` puts in one of the table's ``parts``. A rule holds
when its pattern is the whole utterance, but for words in front and behind that say nothing.
"""

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

Kind = Literal[
    "remember",
    "forget_that",
    "forget_about",
    "correct",
    "what_known",
    "why",
    "off_record",
    "on_record",
    "who_sees",
    "undo",
    "local",
    "yes",
    "no",
]


class Rule(Struct, frozen=True, kw_only=True):
    """One way to say a command.

    Attributes:
        kind: Which command.
        says: The pattern.
        needs: What the argument must begin with, a pattern; "" for anything.
        never: What the argument must not begin with, a pattern; "" for nothing.
        ends: What the argument must not end with, a pattern; "" for nothing.
        most: Words that the argument may have.
        asks: Whether it may be written as a question.
    """

    kind: Kind
    says: str
    needs: str = ""
    never: str = ""
    ends: str = ""
    most: int = 60
    asks: bool = True


class Phrases(Struct, frozen=True, kw_only=True):
    """A language's table.

    Attributes:
        before: Words in front of a command that say nothing.
        after: Words behind a command that say nothing.
        after_plain: More of them, where the command has no argument.
        parts: Patterns by the name under which others put them in.
        rules: In order; the first that holds counts.
        answers: Ways to answer a question of the memory's own; looked at only when it asked one.
        requests: Those of ``before`` that make a question an order: "could you remember that…?"
        own: Words by which people speak of themselves, a pattern.
        everything: Words for all memories, as in "forget everything about me".
        months: What months are called.
        says: What the memory says, by name; ``{…}`` are filled in.
    """

    before: tuple[str, ...]
    after: tuple[str, ...]
    after_plain: tuple[str, ...]
    parts: Mapping[str, str]
    rules: tuple[Rule, ...]
    answers: tuple[Rule, ...]
    requests: tuple[str, ...]
    own: str
    everything: frozenset[str]
    months: tuple[str, ...]
    says: Mapping[str, str]
