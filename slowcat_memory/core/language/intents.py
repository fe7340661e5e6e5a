"""Words and patterns by which free wordings of voice commands are judged.

A table is data, ``intents.toml`` in a language's folder: classes of words, which are features of
the linear model, groups of classes, and slots. A slot is a list of patterns of
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
from slowcat_memory.core.language.word_classes import OTHER, STOP, WordClasses


class IntentWords(WordClasses, frozen=True, kw_only=True, dict=True):
    """The words of commands of a language.

    Attributes:
        slots: Patterns by slot.
        content: Classes without which a sentence is no command.
        tail: Classes of words at the end of an argument that are not part of it.
        head: Classes of words before an argument that are not part of it.
        phrase: Classes of words inside a topic; any other ends it.
        edges: Those of them that neither begin nor end a topic.
        times: Classes of words inside a time ("the last two days").
        marks: Classes of words before a statement, if one of ``verbs`` precedes.
        lone_marks: Those of them before which none need precede.
        verbs: Classes of words that make a clause an order.
        orders: Classes of words that belong to the order before a statement.
        tail_pair: Two classes that are no part of it together ("will you").
        compounds: Last parts of compound words that have the class of the part ("Flurlicht").
        enclitics: Endings of words that are words of their own, the longest first.
    """

    slots: Mapping[str, Annotated[list[str], Meta(min_length=1)]]
    content: str
    tail: str
    head: str
    phrase: str = ""
    edges: str = ""
    times: str = ""
    marks: str = ""
    lone_marks: str = ""
    verbs: str = ""
    orders: str = ""
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
    def needed(self) -> frozenset[str]:
        """The codes of which a sentence must have one."""
        return self._codes_of(self.content)

    @cached_property
    def tail_codes(self) -> frozenset[str]:
        return self._codes_of(self.tail) | {STOP}

    @cached_property
    def phrase_codes(self) -> frozenset[str]:
        return self._codes_of(self.phrase) | {OTHER}

    @cached_property
    def edge_codes(self) -> frozenset[str]:
        return self._codes_of(self.edges)

    @cached_property
    def mark_codes(self) -> frozenset[str]:
        return self._codes_of(self.marks)

    @cached_property
    def order_codes(self) -> frozenset[str]:
        return self.verb_codes | self._codes_of(self.orders)

    @cached_property
    def verb_codes(self) -> frozenset[str]:
        return self._codes_of(self.verbs)

    @cached_property
    def lone_mark_codes(self) -> frozenset[str]:
        return self._codes_of(self.lone_marks)

    @cached_property
    def time_codes(self) -> frozenset[str]:
        return self._codes_of(self.times)

    @cached_property
    def head_codes(self) -> frozenset[str]:
        return self._codes_of(self.head)

    @cached_property
    def tail_pair_codes(self) -> str:
        return "".join(self.code_of[name] for name in self.tail_pair.split())

    def _codes_of(self, classes: str) -> frozenset[str]:
        return frozenset(self.code_of[name] for name in classes.split())


def read_intent_words(package: str) -> IntentWords:
    """Return the words in a language package's ``intents.toml``.

    Raises:
        msgspec.ValidationError: A value has the wrong type.
    """
    return msgspec.toml.decode(read_data(package, "intents.toml"), type=IntentWords)
