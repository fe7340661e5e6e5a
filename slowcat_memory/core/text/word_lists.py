"""Words that several packages look up, and the functions that only look words up in them."""

import re

from slowcat_memory.core.language.english.vocabulary import (
    AUXILIARIES,
    EMPTY,
    PARTS,
    PRONOUNS,
    QUALITIES,
    QUESTION_WORDS,
    ROLES,
)
from slowcat_memory.core.language.english.vocabulary import COMMON_NAMES as COMMON

__all__ = [
    "ASKING",
    "AUXILIARIES",
    "COMMON",
    "EMPTY",
    "PRONOUNS",
    "QUESTION_WORDS",
    "ROLES",
    "WORD",
    "asking",
    "content_words",
    "contrast",
]

ASKING = frozenset((*QUESTION_WORDS.split("|"), *AUXILIARIES.split("|"), "tell", "remind"))
WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_SENTENCE = re.compile(r"[^.!?…;。！？؟\n]+[.!?…;。！？؟]*")

_QUALITY_OF = {
    word: number
    for number, line in enumerate(QUALITIES.strip().splitlines())
    for word in line.split()
}


def asking(text: str) -> list[str]:
    """Return the sentences that ask: by a question mark or, as STT omits it, by their start."""
    sentences = (found.strip() for found in _SENTENCE.findall(text))
    return [
        one
        for one in sentences
        if one.endswith(("?", "？", "؟"))
        or ((first := WORD.search(one)) and first[0].lower().partition("'")[0] in ASKING)
    ]


def content_words(text: str) -> list[str]:
    """Return the distinct words of a text that are no pronoun, auxiliary or filler, in order."""
    return list(
        dict.fromkeys(
            word
            for word in WORD.findall(text)
            if (bare := word.lower().replace("’", "'").partition("'")[0]) not in EMPTY
            and bare not in PRONOUNS
        )
    )


def contrast(one: frozenset[str], other: frozenset[str]) -> bool:
    """Return whether two names differ in a quality ("red", "white") or one names a part.

    Vectors put opposites close together, because they are used in the same contexts, so a staged
    match must not rely on them here.
    """
    if not PARTS.isdisjoint(one ^ other):
        return True
    qualities = {_QUALITY_OF[word] for word in one - other if word in _QUALITY_OF}
    return any(_QUALITY_OF.get(word) in qualities for word in other - one)
