"""The grammar of orders: classes of words, and signals over them that add up.

A table is data, ``orders.toml`` in a language's folder: classes of words, groups of classes, and
signals. A signal is a pattern over classes with points for or against an order::

    2 = ["you fast* duty"]      # "you always have to"
    -2 = ["first fast* duty"]   # "I always have to": about a life

A pattern has the names of classes and groups between spaces; ``a|b`` is either, ``a?`` may be
missing, ``a*`` may be repeated, ``!a`` must not follow. ``^`` is the beginning of a clause, ``$``
its end, ``..`` up to three and ``...`` up to eight words between two commas. The alternatives of a
group are separated by slashes, and may have several words.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Annotated, NamedTuple

import msgspec
from msgspec import Meta, Struct

from slowcat_memory.core.language.data import read_data

OTHER, NAME, STOP = "x", "N", "."  # codes of other words, of names, of the end of a sentence
_FIRST = 0xE000  # codes of classes: private use
_NEAR, _FAR = 3, 8  # words of a gap


class Signal(NamedTuple):
    """Points for an order if a pattern over codes matches.

    Attributes:
        needs: Bits of classes, of which a match has at least one of each number; see
            ``OrderWords.bits``. Comparing them costs a tenth of a search.
    """

    points: int
    pattern: re.Pattern[str]
    needs: tuple[int, ...]


class _Codes(dict[str, str]):
    """Codes by word; that of any other word is ``OTHER``."""

    def __missing__(self, word: str) -> str:
        return OTHER


class OrderWords(Struct, frozen=True, kw_only=True, dict=True):
    """The grammar of orders of a language.

    Attributes:
        classes: Words by class; a word has one class, the first that lists it.
        groups: Patterns over classes by name.
        signals: Patterns by points.
        content: Classes without which a sentence is no order.
        determiners: Classes before a noun, where a capital letter is no sign of a name; "" for a
            language that writes nouns in lower case.
    """

    classes: Mapping[str, str]
    groups: Mapping[str, str]
    signals: Mapping[str, Annotated[list[str], Meta(min_length=1)]]
    content: str
    determiners: str = ""

    @cached_property
    def codes(self) -> Mapping[str, str]:
        """The code of each word."""
        found = _Codes({".": STOP, "!": STOP})
        for name, words in self.classes.items():
            for word in words.split():
                found.setdefault(word, self.code_of[name])
        return found

    @cached_property
    def compiled(self) -> tuple[Signal, ...]:
        """The signals, those against an order first.

        Raises:
            ValueError: A pattern has an unknown class.
        """
        return tuple(
            Signal(int(points), re.compile("".join(self._parts(one))), tuple(self._needs(one)))
            for points, patterns in sorted(self.signals.items(), key=lambda one: int(one[0]))
            for one in patterns
        )

    @cached_property
    def bits(self) -> Mapping[str, int]:
        """A bit for each code."""
        codes = (OTHER, STOP, *self.code_of.values())
        return {code: 1 << place for place, code in enumerate(codes)}

    @cached_property
    def needed(self) -> frozenset[str]:
        """The codes of which a sentence must have one."""
        return frozenset(self.code_of[name] for name in self.content.split())

    @cached_property
    def nouns_after(self) -> frozenset[str]:
        """The codes after which a capital letter is no sign of a name."""
        return frozenset(self.code_of[name] for name in self.determiners.split())

    def class_of(self, word: str) -> str:
        """Return the class of a word in lower case; "" for none."""
        code = self.codes.get(word, OTHER)
        return list(self.classes)[ord(code) - _FIRST] if ord(code) >= _FIRST else ""

    @cached_property
    def code_of(self) -> Mapping[str, str]:
        """The code of each class."""
        own = {name: chr(_FIRST + place) for place, name in enumerate(self.classes)}
        return {"name": NAME, **own}

    @cached_property
    def pauses(self) -> str:
        """The codes between clauses."""
        return STOP + self.code_of["comma"] + self.code_of["colon"]

    def _parts(self, text: str) -> Iterator[str]:
        for part in text.split():
            if part in ("..", "..."):
                yield f"[^{self.pauses}]{{0,{_NEAR if part == '..' else _FAR}}}"
            elif part == "^":
                yield rf"(?:^|(?<=[{self.pauses}{self.code_of['joins']}]))"
            elif part == "$":
                yield f"(?=[{self.pauses}]|$)"
            elif part.startswith("!"):
                yield f"(?!{self._either(part[1:])})"
            elif part[-1] in "?*":
                yield f"{self._either(part[:-1])}{part[-1]}"
            else:
                yield self._either(part)

    def _either(self, text: str) -> str:
        options = list(self._options(text))
        one = "".join(option for option in options if len(option) == 1)
        longer = [option for option in options if len(option) > 1]
        return f"(?:{'|'.join(filter(None, (*longer, one and f'[{one}]')))})"

    def _options(self, text: str) -> Iterator[str]:
        """Yield the patterns of ``a|b``: single codes, and sequences."""
        for name in text.split("|"):
            if name == "other":
                yield from (OTHER, NAME)
            elif name in self.groups:
                for option in self.groups[name].split("/"):
                    words = option.split()
                    yield from (
                        self._options(words[0])
                        if len(words) == 1
                        else ["".join(self._parts(option))]
                    )
            else:
                yield self.code_of[name]

    def _needs(self, text: str) -> Iterator[int]:
        for part in text.split():
            if part not in ("..", "...", "^", "$") and part[0] != "!" and part[-1] not in "?*":
                yield sum(self.bits[code] for code in set(self._firsts(part)))

    def _firsts(self, text: str) -> Iterator[str]:
        """Yield the codes with which a match of ``a|b`` can begin."""
        for name in text.split("|"):
            if name in self.groups:
                for option in self.groups[name].split("/"):
                    yield from self._firsts(option.split()[0].rstrip("?*"))
            elif name == "other":
                yield from (OTHER, NAME)
            else:
                yield self.code_of[name]


def read_orders(package: str) -> OrderWords:
    """Return the grammar in a language package's ``orders.toml``.

    Raises:
        msgspec.ValidationError: A value has the wrong type.
    """
    return msgspec.toml.decode(read_data(package, "orders.toml"), type=OrderWords)
