"""Patterns over classes of words: how orders and voice commands are recognised by data.

A table has classes of words and groups of classes. A pattern has the names of classes and groups
between spaces; ``a|b`` is either, ``a?`` may be missing, ``a*`` may be repeated, ``!a`` must not
follow, ``<!a`` must not precede. ``^`` is the beginning of a clause, ``$`` its end, ``..`` up to
three and ``...`` up to eight words between two commas, ``....`` up to twelve of a sentence. The
alternatives of a group are separated by slashes, and may have several words.

``orders.toml`` in a language's folder has the grammar of orders: signals are patterns with points
for or against an order, which add up::

    2 = ["you fast* duty"]      # "you always have to"
    -2 = ["first fast* duty"]   # "I always have to": about a life

``intents.toml`` has the words of free wordings of voice commands: classes, which are features of
the linear models, and patterns of what speaks against a command.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Annotated

from msgspec import Meta, Struct

OTHER, NAME, STOP = "x", "N", "."  # codes of other words, of names, of the end of a sentence
_FIRST = 0xE000  # codes of classes: private use
_NEAR, _FAR, _SENTENCE = 3, 8, 12  # words of a gap


Patterns = Mapping[str, Annotated[list[str], Meta(min_length=1)]]


class _Codes(dict[str, str]):
    """Codes by word; that of any other word is ``OTHER``."""

    def __missing__(self, word: str) -> str:
        return OTHER


class WordClasses(Struct, frozen=True, kw_only=True, dict=True):
    """Classes of words, and groups of them.

    Attributes:
        classes: Words by class; a word has one class, the first that lists it. ``comma``,
            ``colon`` and ``joins`` separate clauses.
        groups: Patterns over classes by name.
        content: Classes without which a sentence is no order, or hardly a command.
    """

    classes: Mapping[str, str]
    groups: Mapping[str, str]
    content: str

    @cached_property
    def codes(self) -> Mapping[str, str]:
        """The code of each word."""
        codes = _Codes({".": STOP, "!": STOP})
        for name, words in self.classes.items():
            for word in words.split():
                codes.setdefault(word, self.code_of[name])
        return codes

    def class_of(self, word: str) -> str:
        """Return the class of a word in lower case; "" for none."""
        return self.name_of.get(self.codes[word], "")

    @cached_property
    def code_of(self) -> Mapping[str, str]:
        """The code of each class."""
        own = {name: chr(_FIRST + place) for place, name in enumerate(self.classes)}
        return {"name": NAME, **own}

    @cached_property
    def name_of(self) -> Mapping[str, str]:
        """The class of each code."""
        return {code: name for name, code in self.code_of.items()}

    @cached_property
    def pauses(self) -> str:
        """The codes between clauses."""
        return STOP + self.code_of["comma"] + self.code_of["colon"]

    @cached_property
    def needed(self) -> frozenset[str]:
        """The codes of which a sentence must have one."""
        return frozenset(self.code_of[name] for name in self.content.split())

    def compile(self, text: str) -> re.Pattern[str]:
        """Compile a pattern for a text of codes.

        Raises:
            KeyError: It has an unknown class.
        """
        return re.compile("".join(self._parts(text)))

    def _parts(self, text: str) -> Iterator[str]:
        for part in text.split():
            if part in ("..", "..."):
                yield f"[^{self.pauses}]{{0,{_NEAR if part == '..' else _FAR}}}"
            elif part == "....":
                yield f"[^{STOP}]{{0,{_SENTENCE}}}"
            elif part == "^":
                yield rf"(?:^|(?<=[{self.pauses}{self.code_of['joins']}]))"
            elif part == "$":
                yield f"(?=[{self.pauses}]|$)"
            elif part.startswith("<!"):
                yield f"(?<!{self._either(part[2:])})"
            elif part.startswith("!"):
                yield f"(?!{self._either(part[1:])})"
            elif part[-1] in "?*":
                yield f"{self._either(part[:-1])}{part[-1]}"
            else:
                yield self._either(part)

    def _either(self, text: str) -> str:
        options = list(self._options(text))
        letters = "".join(option for option in options if len(option) == 1)
        longer = [option for option in options if len(option) > 1]
        return f"(?:{'|'.join(filter(None, (*longer, letters and f'[{letters}]')))})"

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


class OrderWords(WordClasses, frozen=True, kw_only=True, dict=True):
    """The grammar of orders of a language.

    Attributes:
        signals: Patterns by points.
        determiners: Classes before a noun, where a capital letter is no sign of a name; "" for a
            language that writes nouns in lower case.
    """

    signals: Patterns
    determiners: str = ""

    @cached_property
    def compiled(self) -> tuple[tuple[int, re.Pattern[str]], ...]:
        """The signals: points, and a pattern over codes.

        Raises:
            KeyError: A pattern has an unknown class.
        """
        return tuple(
            (int(points), self.compile(pattern))
            for points, patterns in self.signals.items()
            for pattern in patterns
        )

    @cached_property
    def nouns_after(self) -> frozenset[str]:
        """The codes after which a capital letter is no sign of a name."""
        return frozenset(self.code_of[name] for name in self.determiners.split())


class IntentWords(WordClasses, frozen=True, kw_only=True, dict=True):
    """The words of commands of a language.

    Attributes:
        against: Patterns of what speaks against a command: what somebody else says or does, a
            condition, a denial.
        compounds: Last parts of compound words that have the class of the part ("Flurlicht").
        enclitics: Endings of words that are words of their own, the longest first.
    """

    against: tuple[str, ...]
    compounds: str = ""
    enclitics: str = ""

    def code(self, word: str) -> str:
        """Return the code of a word in lower case, also with an ending such as in "merk's"."""
        code = self.codes[word]
        if code != OTHER or not (self.enclitics or self.compounds):
            return code
        ending = next((part for part in self.enclitics.split() if word.endswith(part)), "")
        code = self.codes[word[: -len(ending)]] if ending else code
        if code == OTHER and word.endswith(self._last_parts):
            return self.codes[next(part for part in self._last_parts if word.endswith(part))]
        return code

    @cached_property
    def _last_parts(self) -> tuple[str, ...]:
        return tuple(sorted(self.compounds.split(), key=len, reverse=True))

    @cached_property
    def compiled(self) -> Sequence[re.Pattern[str]]:
        """The patterns of ``against``.

        Raises:
            KeyError: A pattern has an unknown class.
        """
        return [self.compile(text) for text in self.against]
