"""Names in a text of a language that writes every noun with a capital.

There a capital says little. A known given name or place is a name, and so is what follows "Frau", or
a given name at the beginning; any other word only if it stands where nouns have an article but names have none
("in Rossaveal", "Bertil sagt"), and neither is an ordinary word nor ends like one.
"""

import re
from collections.abc import Iterator
from functools import cache

from msgspec import Struct

from slowcat_memory.core.language import LANGUAGES
from slowcat_memory.core.language.data import read_words, word_set
from slowcat_memory.core.language.names import aliases, is_given_name
from slowcat_memory.core.language.ordinary import is_german, is_word
from slowcat_memory.core.text.rare_words import is_common

LEAST_SHARE = 0.15  # of function words in any text of the language
_LEAST_PART = 4  # letters of a word at the end of another
_WORD = re.compile(r"(?P<begins>(?:^|[.!?…\"“„(*])\s*)?(?P<word>[^\W\d_]+)")


class _Capitals(Struct, frozen=True):
    """Words of a language that capitalises nouns; see ``[capitals]`` in its ``words.toml``."""

    common: frozenset[str]
    bare: frozenset[str]
    before_names: frozenset[str]
    titles: frozenset[str]
    endings: tuple[str, ...]


def names(text: str) -> Iterator[str]:
    """Yield the names of a text; none of a text in a language that capitalises names alone."""
    words = [(match["word"], match["begins"] is not None) for match in _WORD.finditer(text)]
    lower = [word.lower() for word, _ in words]
    language = next((one for one in _languages() if _is_in(lower, one)), None)
    if language is None:
        return
    before, first = "", False  # the word before, and whether it begins a sentence
    for (word, begins), bare in zip(words, lower, strict=True):
        if (
            word[0].isupper()
            and len(word) > 1
            and bare not in language.common | language.before_names
        ):
            if _is_name(bare, before, begins, language) or (
                first and _is_surname_behind(before, language)
            ):
                yield word
        before, first = bare, begins


def _is_in(words: list[str], language: _Capitals) -> bool:
    return sum(word in language.common for word in words) >= LEAST_SHARE * len(words) > 0


def _is_name(word: str, before: str, begins: bool, language: _Capitals) -> bool:
    if _is_given(word) or _is_given(word.removesuffix("s")):
        return True
    if is_common(word) or is_common(word.removesuffix("s")):
        return False
    if word in _places() or before in language.before_names:
        return True
    return (begins or before in language.bare) and not _looks_ordinary(word, language)


def _is_surname_behind(before: str, language: _Capitals) -> bool:
    """Return whether any noun behind a sentence's first word is a surname: "Sabine Fischer"."""
    return _is_given(before) or before in language.titles


def _is_given(word: str) -> bool:
    return is_given_name(word) and not is_word(word)


def _looks_ordinary(word: str, language: _Capitals) -> bool:
    """Return whether a word ends like a noun, or as a known one."""
    if word.endswith(language.endings):
        return True
    return any(is_german(word[cut:]) for cut in range(2, len(word) - _LEAST_PART + 1))


@cache
def _places() -> frozenset[str]:
    return frozenset(name for group in aliases()["place"] for name in group)


@cache
def _languages() -> tuple[_Capitals, ...]:
    every = (read_words(f"slowcat_memory.core.language.{one.name}") for one in LANGUAGES)
    return tuple(
        _Capitals(
            **{
                name: word_set(words["capitals"][name])
                for name in ("common", "bare", "before_names", "titles")
            },
            endings=tuple(words["capitals"]["endings"].split()),
        )
        for words in every
        if "capitals" in words
    )
