"""Finds sentences that repeat what another sentence says, in other words or fewer.

Compared are the words that say something, in a common form. Numbers and denials must agree: "Anna
is no longer vegan" does not repeat "Anna is vegan".
"""

import re
from collections.abc import Iterable, Iterator

from msgspec import Struct

from slowcat_memory.core.extraction.slots import content
from slowcat_memory.core.language import words_of_any
from slowcat_memory.core.text.normalize import Tokenizer, fingerprint
from slowcat_memory.core.text.numerals import digits_of

LETTERS = 6  # of a word that count: "arbeitet" and "Arbeit", "January" and "Januar"
REACH = 4  # words behind a denial that it is about
SHARE = 0.8  # of a sentence's words that another one has
# Words that say no more than "is" where something else is said.
_LIGHT = frozenset(
    "work works doe has have got get called named name arbeitet als ist hat heißt namens".split()
)
_BETWEEN = re.compile(
    r"(?<=[.!?…])(?<!\b\d\.)(?<!\b\d\d\.)\s+|(?<=[.!?…][”\"'])\s+"
)  # not within "11. Mai"
_QUOTE = re.compile(r"^[^“„]{1,40}: [“„](.*)[”“]$")
_DAY = re.compile(r"\s\([^()]*\d{4}\)\.?$")
_CLAUSE = re.compile(r"[,;:.]|\b(?:and|but|und|aber|sondern)\b")
_DENIALS = words_of_any(lambda language: language.summary.denials)
_TOKENIZER = Tokenizer("english").for_queries()


class SentenceStems(Struct, frozen=True):
    """The stems and numbers of a sentence, and which of the stems are denied."""

    words: frozenset[str]
    numbers: frozenset[str]
    denied: frozenset[str]

    def holds(self, other: "SentenceStems") -> bool:
        """Return whether this sentence says what the other one says."""
        if not other.words or self.contradicts(other) or not other.numbers <= self.numbers:
            return False
        return len(other.words & self.words) >= SHARE * len(other.words)

    def contradicts(self, other: "SentenceStems") -> bool:
        """Return whether one of them alone denies something of what both have."""
        shared = self.words & other.words
        return self.denied.isdisjoint(shared) != other.denied.isdisjoint(shared)


class Told:
    """The sentences told so far."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        """Begin; ``names`` (the user's) say nothing, as they stand in every sentence."""
        self._names = frozenset(stem for name in names for stem in _stems(name))
        self._said = list[SentenceStems]()

    def repeats(self, sentence: str) -> bool:
        """Return whether a sentence says nothing that was not told."""
        told = self._read(sentence)
        return any(known.holds(told) for known in self._said)

    def add(self, text: str) -> None:
        """Add the sentences of a text."""
        self._said += [self._read(sentence) for sentence in split(text)]

    def news(self, text: str) -> str:
        """Return a text without the sentences that were told; "" if all were."""
        return " ".join(sentence for sentence in split(text) if not self.repeats(sentence))

    def _read(self, sentence: str) -> SentenceStems:
        told = said_of(sentence)
        return SentenceStems(told.words - self._names or told.words, told.numbers, told.denied)


def split(text: str) -> list[str]:
    """Split a text into sentences, without empty ones; a quote stays whole."""
    parts, quote = list[str](), ""
    for part in _BETWEEN.split(text):
        quote = f"{quote} {part}".strip()
        if quote.count("“") <= quote.count("”"):
            parts, quote = [*parts, quote], ""
    return [part for part in (*parts, quote) if part]


def said_of(sentence: str) -> SentenceStems:
    """Read a sentence, without a quote's speaker and the day behind it in brackets."""
    sentence = _DAY.sub("", sentence.strip())
    sentence = _QUOTE.sub(r"\1", sentence)
    sentence = _DAY.sub("", sentence)
    stems = _stems(sentence)
    numbers = frozenset(stem for stem in stems if stem.isdigit())
    return SentenceStems(stems - numbers, numbers, frozenset(_denied(sentence)) & stems)


def _denied(sentence: str) -> Iterator[str]:
    """Yield the stems that a denial is about: those behind it, or at a clause's end before it."""
    for clause in _CLAUSE.split(sentence.replace("’", "'").replace("n't", " not").lower()):
        words = fingerprint(clause).split()
        for place, word in enumerate(words):
            if word in _DENIALS:
                for other in words[place + 1 : place + 1 + REACH] or words[:place]:
                    yield from _stems(other)


def _stems(text: str) -> frozenset[str]:
    """Return the words that say something, in a common form; numbers in digits."""
    words = content(text) - _DENIALS
    return frozenset(_stem(word) for word in words - _LIGHT or words)


def _stem(word: str) -> str:
    number = digits_of(word)
    return number if number.isdigit() else ("".join(_TOKENIZER(word)) or word)[:LETTERS]
