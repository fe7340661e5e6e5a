"""The grammar of orders: classes of words, and signals over them that add up.

A table is data, ``orders.toml`` in a language's folder: classes of words, groups of classes, and
signals. A signal is a pattern over classes with points for or against an order::

    2 = ["you fast* duty"]      # "you always have to"
    -2 = ["first fast* duty"]   # "I always have to": about a life

The patterns are those of ``core.language.word_classes``.
"""

import re
from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, NamedTuple

import msgspec
from msgspec import Meta

from slowcat_memory.core.language.data import read_data
from slowcat_memory.core.language.word_classes import WordClasses


class Signal(NamedTuple):
    """Points for an order if a pattern over codes matches.

    Attributes:
        needs: Bits of classes, of which a match has at least one of each number; see
            ``OrderWords.bits``. Comparing them costs a tenth of a search.
    """

    points: int
    pattern: re.Pattern[str]
    needs: tuple[int, ...]


class OrderWords(WordClasses, frozen=True, kw_only=True, dict=True):
    """The grammar of orders of a language.

    Attributes:
        signals: Patterns by points.
        content: Classes without which a sentence is no order.
        determiners: Classes before a noun, where a capital letter is no sign of a name; "" for a
            language that writes nouns in lower case.
    """

    signals: Mapping[str, Annotated[list[str], Meta(min_length=1)]]
    content: str
    determiners: str = ""

    @cached_property
    def compiled(self) -> tuple[Signal, ...]:
        """The signals, those against an order first.

        Raises:
            KeyError: A pattern has an unknown class.
        """
        return tuple(
            Signal(int(points), self.compile(one), self.needs(one))
            for points, patterns in sorted(self.signals.items(), key=lambda one: int(one[0]))
            for one in patterns
        )

    @cached_property
    def needed(self) -> frozenset[str]:
        """The codes of which a sentence must have one."""
        return frozenset(self.code_of[name] for name in self.content.split())

    @cached_property
    def nouns_after(self) -> frozenset[str]:
        """The codes after which a capital letter is no sign of a name."""
        return frozenset(self.code_of[name] for name in self.determiners.split())


def read_orders(package: str) -> OrderWords:
    """Return the grammar in a language package's ``orders.toml``.

    Raises:
        msgspec.ValidationError: A value has the wrong type.
    """
    return msgspec.toml.decode(read_data(package, "orders.toml"), type=OrderWords)
