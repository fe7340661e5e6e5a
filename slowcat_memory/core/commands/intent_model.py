"""Estimates what an utterance asks of the memory, from its words: a linear model.

The grammar of ``core.commands.composition`` reads what it has rules for. Free wordings that it does
not read ("pop your pen down for the next bit") are judged by weights that
``python -m benchmarks.intents`` fits from sentences. Features are words, pairs of words, parts of
words, classes of words in sequence and in pairs; each is hashed to a row of weights.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import combinations
from typing import Final
from zlib import crc32

import numpy as np

from slowcat_memory.core.language.compose import ComposeWords
from slowcat_memory.core.language.word_classes import OTHER, STOP

ROWS: Final = 1 << 13
_LONGEST, _SHORTEST = 5, 3  # letters of a part of a word
_CLASSES = 3  # classes in sequence


@lru_cache(maxsize=8192)
def _in_word(word: str) -> tuple[int, ...]:
    """Return the rows of a word and of its parts."""
    closed = f"<{word}>"
    parts = {
        closed[at : at + length]
        for length in range(_SHORTEST, _LONGEST + 1)
        for at in range(len(closed) - length + 1)
    }
    return (_row(f"w{word}"), *sorted(_row(f"p{part}") for part in parts))


@lru_cache(maxsize=8192)
def _row(feature: str) -> int:
    return crc32(feature.encode()) % ROWS


def rows(words: Sequence[str], table: ComposeWords) -> list[int]:
    """Return the rows of an utterance's features, without the constant.

    Args:
        words: In lower case, without punctuation.
    """
    found: list[int] = []
    for word in words:
        found += _in_word(word)
    found += [_row(f"b{first} {second}") for first, second in _pairs(words)]
    return found + [_row(feature) for feature in _of_classes(words, table)]


def _pairs(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    return zip(("<", *words), (*words, ">"), strict=True)


def _of_classes(words: Sequence[str], table: ComposeWords) -> Iterator[str]:
    names = _classes(words, table)
    closed = ("<", *names, ">")
    for length in range(1, _CLASSES + 1):
        for at in range(len(closed) - length + 1):
            yield f"c{' '.join(closed[at : at + length])}"
    known = [name for name in names if name != OTHER]
    for first, second in combinations(dict.fromkeys(known), 2):
        yield f"s{first} {second}"


def _classes(words: Sequence[str], table: ComposeWords) -> list[str]:
    """Return the classes of words; words without any in sequence count once."""
    found: list[str] = []
    for word in words:
        code = table.code(word)
        name = table.name_of.get(code, OTHER)
        if name != OTHER or found[-1:] != [OTHER]:
            found.append(name)
    return found
