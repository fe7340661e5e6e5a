"""Languages: which exist, and the words and sentences of each."""

import pkgutil
from collections.abc import Callable
from functools import cache
from importlib import import_module

from slowcat_memory.core.language.table import CommandKind as CommandKind
from slowcat_memory.core.language.table import Language
from slowcat_memory.errors import ConfigError


def read(folder: str) -> Language:
    """Load the language of a subfolder."""
    language: Language = import_module(f"{__name__}.{folder}").LANGUAGE
    return language


# Each subfolder is a language.
LANGUAGES = tuple(read(module.name) for module in pkgutil.iter_modules(__path__) if module.ispkg)


@cache
def language_of(name: str) -> Language:
    """Return a language by its code, or its English or native name, in any case.

    Raises:
        ConfigError: There is no such language; the message lists the existing ones.
    """
    wanted = name.strip().casefold()
    for language in LANGUAGES:
        known = (language.name, language.code, language.native, *language.other_names)
        if wanted in (other.casefold() for other in known):
            return language
    names = ", ".join(f"{language.name} ({language.code})" for language in LANGUAGES)
    raise ConfigError(f"memory.language: there is no {name!r}", hint=f"Use one of {names}")


ENGLISH = language_of("english")


def of_any(pattern: Callable[[Language], str]) -> str:
    """Return a pattern that matches if that of any language does.

    Args:
        pattern: Returns the pattern of a language's table; "" for none.
    """
    return "|".join(filter(None, map(pattern, LANGUAGES)))


def words_of_any(words: Callable[[Language], frozenset[str]]) -> frozenset[str]:
    """Return the union of a word list over all languages."""
    return frozenset().union(*map(words, LANGUAGES))
