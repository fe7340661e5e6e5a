"""Reads the data files of a language's folder, and makes tables and patterns of their words."""

import pkgutil
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, TypeVar, cast

import msgspec
from msgspec.structs import fields

Table = TypeVar("Table")

Words = Mapping[str, Mapping[str, str]]
"""Lists of words by section and name."""


def read_data(package: str, name: str) -> bytes:
    """Return a data file of a package, from a folder or an archive."""
    return pkgutil.get_data(package, name) or b""


def read_toml(package: str, name: str, kind: type[Table]) -> Table:
    """Return a table of a package.

    Raises:
        msgspec.ValidationError: A value is missing or has the wrong type; the message names it.
    """
    return msgspec.toml.decode(read_data(package, name), type=kind)


@cache
def read_words(package: str) -> Words:
    """Return the lists in a language package's ``words.toml``."""
    return read_toml(package, "words.toml", dict[str, dict[str, str]])


@cache
def read_classes(package: str) -> dict[str, tuple[str, ...]]:
    """Return the classes of words of people's lives in ``life.toml``, by name."""
    sections = read_toml(package, "life.toml", dict[str, dict[str, str]])
    return {
        name: tuple(dict.fromkeys(word.replace("_", " ") for word in words.lower().split()))
        for section in sections.values()
        for name, words in section.items()
    }


def any_of(*classes: Iterable[str]) -> str:
    """Return an alternation of the words of classes, longest first, as a group.

    A word that ends in "*" has any ending.
    """
    words = sorted({word for row in classes for word in row}, key=lambda word: (-len(word), word))
    return "(?:" + "|".join(re.escape(word).replace(r"\*", r"\w*") for word in words) + ")"


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


def lazy_pattern(*expressions: str, flags: int = 0) -> re.Pattern[str]:
    """Return a pattern of any of some expressions, compiled when it is first used.

    Import of all modules took a quarter of its time for such patterns, most of which a command or a
    child process never uses. A conversation compiles all of them ahead: ``compile_lazy_patterns``.
    """
    return cast("re.Pattern[str]", _Uncompiled("|".join(expressions), flags))


def compile_lazy_patterns() -> None:
    """Compile the patterns of all modules that are imported. Takes 0.1 s the first time."""
    for pattern in tuple(_made):
        _ = pattern.search


@cache
def compiled(expression: str, flags: int = 0) -> re.Pattern[str]:
    """Return a pattern of a language's table, compiled once.

    The cache of ``re`` holds 512 patterns; a conversation has more, and would compile some anew at
    each turn.
    """
    return re.compile(expression, flags)


def rewriter(*rules: tuple[str, str]) -> Callable[[str], str]:
    """Return a function that rewrites a text by patterns and what replaces them, in order."""
    patterns = [(re.compile(pattern), by) for pattern, by in rules]

    def rewrite(text: str) -> str:
        for pattern, by in patterns:
            text = pattern.sub(by, text)
        return text

    return rewrite


def word_set(text: str) -> frozenset[str]:
    return frozenset(text.casefold().split())


def phrase_list(text: str) -> tuple[str, ...]:
    """Return the phrases of a text, separated by "/", in lower case without line breaks."""
    parts = (" ".join(phrase.split()) for phrase in text.casefold().split("/"))
    return tuple(phrase for phrase in parts if phrase)


_READ: Mapping[Any, Any] = {frozenset[str]: word_set, tuple[str, ...]: phrase_list}


def filled(kind: type[Table], texts: Mapping[str, str], **others: Any) -> Table:
    """Return a table whose sets of words and lists of phrases are in a section of ``words.toml``.

    Args:
        texts: By field; "" for what it lacks.
        others: All fields of other types, and those that are no plain lists.
    """
    lists = {
        field.name: _READ[field.type](texts.get(field.name, ""))
        for field in fields(cast("type[msgspec.Struct]", kind))
        if field.name not in others and field.type in _READ
    }
    return kind(**lists, **others)
