"""Patterns over classes of words: how rules of a language are written as data.

A table has classes of words and groups of classes. A pattern has the names of classes and groups
between spaces; ``a|b`` is either, ``a?`` may be missing, ``a*`` may be repeated, ``!a`` must not
follow, ``<!a`` must not precede. ``^`` is the beginning of a clause, ``$`` its end, ``..`` up to
three and ``...`` up to eight words between two commas, ``....`` up to twelve of a sentence; ``{x}`` captures one to eight words of a
sentence, as few as possible. The alternatives of a group are separated by slashes, and may have
several words.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cached_property

from msgspec import Struct

OTHER, NAME, STOP = "x", "N", "."  # codes of other words, of names, of the end of a sentence
_FIRST = 0xE000  # codes of classes: private use
_NEAR, _FAR, _SENTENCE = 3, 8, 12  # words of a gap


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
    """

    classes: Mapping[str, str]
    groups: Mapping[str, str]

    @cached_property
    def codes(self) -> Mapping[str, str]:
        """The code of each word."""
        found = _Codes({".": STOP, "!": STOP})
        for name, words in self.classes.items():
            for word in words.split():
                found.setdefault(word, self.code_of[name])
        return found

    @cached_property
    def bits(self) -> Mapping[str, int]:
        """A bit for each code."""
        codes = (OTHER, STOP, *self.code_of.values())
        return {code: 1 << place for place, code in enumerate(codes)}

    def bits_in(self, codes: str) -> int:
        """Return the bits of all codes in a text."""
        there = 0
        for code in set(codes):
            there |= self.bits[code]
        return there

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
    def name_of(self) -> Mapping[str, str]:
        """The class of each code."""
        return {code: name for name, code in self.code_of.items()}

    @cached_property
    def pauses(self) -> str:
        """The codes between clauses."""
        return STOP + self.code_of["comma"] + self.code_of["colon"]

    def compile(self, text: str) -> re.Pattern[str]:
        """Compile a pattern for a text of codes.

        Raises:
            KeyError: It has an unknown class.
        """
        return re.compile("".join(self._parts(text)))

    def needs(self, text: str) -> tuple[int, ...]:
        """Return bits of classes: a match has at least one of each number.

        Comparing them costs a tenth of a search.
        """
        return tuple(self._needs(text))

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
            elif part == "{x}":
                yield f"(?P<x>[^{self.pauses}]{{1,{_FAR}}}?)"
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
            if not _is_optional(part) and (firsts := self._firsts(part)):
                yield sum(self.bits[code] for code in firsts)

    def _firsts(self, text: str) -> set[str]:
        """Return codes of which a match of ``a|b`` has one; none if it may match no word."""
        found = set[str]()
        for name in text.split("|"):
            if name in self.groups:
                for option in self.groups[name].split("/"):
                    fixed = next((p for p in option.split() if not _is_optional(p)), "")
                    if not fixed:
                        return set()
                    found |= self._firsts(fixed)
            elif name == "other":
                found |= {OTHER, NAME}
            else:
                found.add(self.code_of[name])
        return found


def _is_optional(part: str) -> bool:
    return part in ("..", "...", "....", "^", "$", "{x}") or part[0] in "!<" or part[-1] in "?*"
