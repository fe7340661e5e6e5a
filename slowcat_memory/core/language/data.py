"""Reads the data files of a language's folder, and holds words and patterns made of them."""

import pkgutil
import re
from collections.abc import Callable, Mapping
from functools import cache, cached_property
from typing import Any, cast

import msgspec

Words = Mapping[str, Mapping[str, str]]
"""Lists of words by section and name."""


@cache
def read_words(package: str) -> Words:
    """Return the lists in a language package's ``words.toml``.

    Raises:
        msgspec.ValidationError: A value is not a string.
    """
    return msgspec.toml.decode(read_data(package, "words.toml"), type=dict[str, dict[str, str]])


class LazyPattern:
    """Any of some regular expressions, compiled when it is first used.

    Compiling the large ones of all languages would take longer than the rest of an import.
    """

    def __init__(self, *expressions: str) -> None:
        self.pattern = "|".join(f"(?:{expression})" for expression in expressions)

    def compile(self) -> None:
        """Compile it now, so that the first use is as fast as later ones."""
        _ = self._compiled

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self.pattern)

    @cached_property
    def search(self) -> Callable[[str], re.Match[str] | None]:
        return self._compiled.search

    @cached_property
    def match(self) -> Callable[[str], re.Match[str] | None]:
        return self._compiled.match

    @cached_property
    def sub(self) -> Callable[[str, str], str]:
        return self._compiled.sub


_METHODS = ("search", "match", "fullmatch", "findall", "finditer", "sub", "subn", "split")
_made: list["_Uncompiled"] = []


class _Uncompiled:
    """Stands for a ``re.Pattern`` that nobody has used yet."""

    def __init__(self, expression: str = "", flags: int = 0) -> None:
        self.pattern, self.flags = expression, flags
        _made.append(self)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        compiled = re.compile(self.pattern, self.flags)
        for method in _METHODS:  # later uses are as fast as those of any pattern
            setattr(self, method, getattr(compiled, method))
        return getattr(compiled, name)


def lazy_pattern(expression: str, flags: int = 0) -> re.Pattern[str]:
    """Return what ``re.compile`` returns, but compiled when it is first used.

    Import of all modules took a quarter of its time for such patterns, most of which a command or a
    child process never uses. A conversation compiles all of them ahead: ``compile_lazy_patterns``.
    """
    return cast("re.Pattern[str]", _Uncompiled(expression, flags))


def compile_lazy_patterns() -> None:
    """Compile the patterns of all modules that are imported. Takes 0.1 s the first time."""
    for one in tuple(_made):
        _ = one.search


@cache
def compiled(expression: str, flags: int = 0) -> re.Pattern[str]:
    """Return a pattern of a language's table, compiled once.

    The cache of ``re`` holds 512 patterns; a conversation has more, and would compile some anew at
    each turn.
    """
    return re.compile(expression, flags)


def word_set(text: str) -> frozenset[str]:
    return frozenset(text.casefold().split())


def phrase_list(text: str) -> tuple[str, ...]:
    """Return the phrases of a text, separated by "/", in lower case without line breaks."""
    parts = (" ".join(phrase.split()) for phrase in text.casefold().split("/"))
    return tuple(phrase for phrase in parts if phrase)


def read_data(package: str, name: str) -> bytes:
    """Return a data file of a package, from a folder or an archive."""
    return pkgutil.get_data(package, name) or b""
