"""What depends on a language: which there are, and each one's words and sentences."""

import pkgutil
from collections.abc import Callable
from functools import cache
from importlib import import_module

from slowcat_memory.core.language.english import LANGUAGE as ENGLISH
from slowcat_memory.core.language.table import CommandKind, Language, missing
from slowcat_memory.errors import ConfigError

__all__ = [
    "ENGLISH",
    "LANGUAGES",
    "CommandKind",
    "Language",
    "language_of",
    "missing",
    "of_any",
    "read",
    "words_of_any",
]


def read(folder: str) -> Language:
    """Return the language of a folder beside this file.

    Raises:
        ValueError: A table is empty; the message names it.
    """
    language: Language = import_module(f"{__name__}.{folder}").LANGUAGE
    if lacks := list(missing(language, ENGLISH)):
        raise ValueError(f"{folder}: nothing in {', '.join(lacks)}")
    return language


# Each folder is a language.
LANGUAGES = tuple(read(found.name) for found in pkgutil.iter_modules(__path__) if found.ispkg)


@cache
def language_of(name: str) -> Language:
    """Return the language that a name means.

    Args:
        name: Its code, or its name in English or in itself, in any case: "de", "german", "Deutsch".

    Raises:
        ConfigError: There is no such language; the message names those that there are.
    """
    wanted = name.strip().casefold()
    for one in LANGUAGES:
        known = (one.name, one.code, one.native, *one.other_names)
        if wanted in (other.casefold() for other in known):
            return one
    there = ", ".join(f"{one.name} ({one.code})" for one in LANGUAGES)
    raise ConfigError(f"memory.language: there is no {name!r}", hint=f"Use one of {there}")


def of_any(pattern: Callable[[Language], str]) -> str:
    """Return a pattern that matches whatever that of any language matches.

    Args:
        pattern: Takes it from a language's table; "" where the language has none.
    """
    return "|".join(filter(None, map(pattern, LANGUAGES)))


def words_of_any(words: Callable[[Language], frozenset[str]]) -> frozenset[str]:
    """Return the words that any language's list holds."""
    return frozenset().union(*map(words, LANGUAGES))
