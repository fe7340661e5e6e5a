"""Word classes of people's lives, and the patterns made of them."""

import re
from collections.abc import Iterable, Mapping

import msgspec

from slowcat_memory.core.language.data import read_data

Classes = Mapping[str, Mapping[str, str]]


def read_classes(package: str) -> dict[str, tuple[str, ...]]:
    """Return the word classes in a language package's ``life.toml``, by name.

    Raises:
        msgspec.ValidationError: A value is not a string.
    """
    sections = msgspec.toml.decode(read_data(package, "life.toml"), type=dict[str, dict[str, str]])
    return {
        name: tuple(dict.fromkeys(word.replace("_", " ") for word in words.lower().split()))
        for section in sections.values()
        for name, words in section.items()
    }


def any_of(*classes: Iterable[str]) -> str:
    """Return an alternation of the words of classes, longest first, as a group."""
    words = sorted({word for one in classes for word in one}, key=lambda word: (-len(word), word))
    return "(?:" + "|".join(map(_pattern, words)) + ")"


def _pattern(word: str) -> str:
    return re.escape(word.removesuffix("*")) + (r"\w*" if word.endswith("*") else "")
