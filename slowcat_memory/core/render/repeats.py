"""Finds sentences that repeat what another sentence says, in other words or fewer.

Compared are the words that say something, in a common form. Numbers and denials must agree: "Anna
is no longer vegan" does not repeat "Anna is vegan".
"""

import re
from collections.abc import Iterable
from functools import cache

import Stemmer
from msgspec import Struct

from slowcat_memory.core.extraction.slots import content
from slowcat_memory.core.language import LANGUAGES
from slowcat_memory.core.language.english.vocabulary import NUMBERS
from slowcat_memory.core.text.normalize import fingerprint

SHARE = 0.8  # of a sentence's words that another one has
# Words that say no more than "is" where something else is said.
_LIGHT = frozenset(
    "work works has have got get called named name arbeitet hat heißt namens".split()
)
_BETWEEN = re.compile(r"(?<=[.!?…])(?<!\b\d\.)(?<!\b\d\d\.)[”\"']?\s+")  # not within "11. Mai"
_DENIALS = frozenset[str]().union(*(one.summary.denials for one in LANGUAGES))


class Said(Struct, frozen=True):
    """The stems, numbers and denials of a sentence."""

    words: frozenset[str]
    numbers: frozenset[str]
    denied: bool

    def holds(self, other: "Said") -> bool:
        """Return whether this sentence says what the other one says."""
        if not other.words or other.denied != self.denied or not other.numbers <= self.numbers:
            return False
        return len(other.words & self.words) >= SHARE * len(other.words)


class Told:
    """The sentences told so far."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        """Begin; ``names`` (the user's) say nothing, as they stand in every sentence."""
        self._names = frozenset(stem for name in names for stem in _stems(name))
        self._said = list[Said]()

    def repeats(self, sentence: str) -> bool:
        """Return whether a sentence says nothing that was not told."""
        one = self._read(sentence)
        return any(known.holds(one) for known in self._said)

    def add(self, text: str) -> None:
        """Add the sentences of a text."""
        self._said += [self._read(sentence) for sentence in split(text)]

    def news(self, text: str) -> str:
        """Return a text without the sentences that were told, and add the others."""
        kept = list[str]()
        for sentence in split(text):
            if not self.repeats(sentence):
                kept.append(sentence)
                self.add(sentence)
        return " ".join(kept)

    def _read(self, sentence: str) -> Said:
        said = said_of(sentence)
        return Said(said.words - self._names or said.words, said.numbers, said.denied)


def split(text: str) -> list[str]:
    """Split a text into sentences, without empty ones."""
    return [one for raw in _BETWEEN.split(text) if (one := raw.strip())]


def said_of(sentence: str) -> Said:
    """Read a sentence."""
    found = _stems(sentence)
    bare = set(fingerprint(sentence.replace("’", "'").replace("n't", " not")).split())
    numbers = frozenset(one for one in found if one.isdigit())
    return Said(found - numbers, numbers, not _DENIALS.isdisjoint(bare))


def _stems(text: str) -> frozenset[str]:
    """Return the words that say something, in a common form; numbers in digits."""
    words = content(text)
    return frozenset(_stem(word) for word in words - _LIGHT or words)


@cache
def _stemmer() -> "Stemmer.Stemmer":
    return Stemmer.Stemmer("english", 0)


def _stem(word: str) -> str:
    number = NUMBERS.get(word)
    return number if number is not None else _stemmer().stemWord(word)
