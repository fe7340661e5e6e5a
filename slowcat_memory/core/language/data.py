"""Reads the two data files of a language's folder: ``words.toml`` and ``sentences.toml``."""

import pkgutil
from collections.abc import Mapping
from functools import cache

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


def word_set(text: str) -> frozenset[str]:
    return frozenset(text.casefold().split())


def phrase_list(text: str) -> tuple[str, ...]:
    """Return the phrases of a text, separated by "/", in lower case without line breaks."""
    parts = (" ".join(phrase.split()) for phrase in text.casefold().split("/"))
    return tuple(phrase for phrase in parts if phrase)


def read_data(package: str, name: str) -> bytes:
    """Return a data file of a package, from a folder or an archive."""
    return pkgutil.get_data(package, name) or b""
