"""Words and patterns by which free wordings of voice commands are judged.

A table is data, ``intents.toml`` in a language's folder: classes of words, which are features of
the linear model, groups and sets of classes, and slots. A slot is a list of patterns of
``core.language.word_classes``: "topic" finds what a command is about, "against" and "question" what
speaks against one.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Annotated

import msgspec
from msgspec import Meta

from slowcat_memory.core.language.data import read_data
from slowcat_memory.core.language.word_classes import OTHER, WordClasses


class IntentWords(WordClasses, frozen=True, kw_only=True, dict=True):
    """The words of commands of a language.

    Attributes:
        slots: Patterns by slot.
        sets: Classes by set. "content": a sentence without any is hardly a command; "head" and
            "tail": no part of an argument at its beginning and end; "phrase": inside a topic, which
            any other ends, and of those "edges" neither begin nor end one; "times": inside a time
            ("the last two days"); "marks": before a statement, if one of "verbs" precedes, and of
            those "lone_marks" without one; "verbs": what makes a clause an order; "orders": what
            belongs to it before a statement.
        tail_pair: Two classes that are no part of an argument's end together ("will you").
        compounds: Last parts of compound words that have the class of the part ("Flurlicht").
        enclitics: Endings of words that are words of their own, the longest first.
    """

    slots: Mapping[str, Annotated[list[str], Meta(min_length=1)]]
    sets: Mapping[str, str]
    compounds: str = ""
    enclitics: str = ""
    tail_pair: str = ""

    def code(self, word: str) -> str:
        """Return the code of a word in lower case, also with an ending such as in "merk's"."""
        code = self.codes[word]
        if code != OTHER or not (self.enclitics or self.compounds):
            return code
        ending = next((one for one in self.enclitics.split() if word.endswith(one)), "")
        code = self.codes[word[: -len(ending)]] if ending else code
        if code == OTHER and word.endswith(self._last_parts):
            return self.codes[next(one for one in self._last_parts if word.endswith(one))]
        return code

    @cached_property
    def _last_parts(self) -> tuple[str, ...]:
        return tuple(sorted(self.compounds.split(), key=len, reverse=True))

    @cached_property
    def compiled(self) -> Mapping[str, Sequence[re.Pattern[str]]]:
        """The patterns by slot.

        Raises:
            KeyError: A pattern has an unknown class.
        """
        return {slot: [self.compile(one) for one in texts] for slot, texts in self.slots.items()}

    @cached_property
    def codes_in(self) -> Mapping[str, frozenset[str]]:
        """The codes of the classes in each set."""
        return {
            name: frozenset(self.code_of[one] for one in classes.split())
            for name, classes in self.sets.items()
        }

    @cached_property
    def tail_pair_codes(self) -> str:
        return "".join(self.code_of[name] for name in self.tail_pair.split())


def read_intent_words(package: str) -> IntentWords:
    """Return the words in a language package's ``intents.toml``.

    Raises:
        msgspec.ValidationError: A value has the wrong type.
    """
    return msgspec.toml.decode(read_data(package, "intents.toml"), type=IntentWords)
