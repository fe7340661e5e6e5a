"""How much a clause is worth in a summary by rule: by its words, and by what kind of clause it is.

A word of any conversation ("amazing", "think") weighs a fifth of any other. What somebody says of
themselves counts most, more if it names somebody, a number or a change; what is said to the other, and a
question, count less; talk about the conversation itself, and what the agent says beside advice, do not
count at all.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable
from datetime import datetime
from functools import cache

from msgspec import Struct

from slowcat_memory.core.language import ENGLISH, LANGUAGES, Language, language_of, of_any

Tokenize = Callable[[str], list[str]]
# How much a clause counts, by what it is.
FACT, CHANGE, TELLING = 3.0, 1.2, 1.1
QUESTION, TO_LISTENER, NOBODYS, ADVICE = 0.3, 0.6, 0.8, 0.7
LIGHT = 0.2  # weight of a word of any conversation; of any other, 1
_OWN = re.compile(rf"\b(?:{of_any(lambda one: one.summary.own)})\b", re.IGNORECASE)
_ADVICE = re.compile(
    rf"\b(?:{of_any(lambda one: one.summary.advice)})\b"
    rf"|^(?:{of_any(lambda one: one.summary.advice_begins)})\b",
    re.IGNORECASE,
)
_TO_LISTENER = re.compile(
    rf"\b(?:{of_any(lambda one: '|'.join(one.extracts.listener))})\b", re.IGNORECASE
)
_TELLING = re.compile(r"\d|(?<=\s)[A-ZÄÖÜ][a-zäöüß]{2,}")  # a number, or a name inside a sentence
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")


class Line(Struct, frozen=True):
    """A sentence or clause of a turn (its log id).

    Attributes:
        agent: Whether the agent said it.
        fact: Whether it is a statement about somebody by name, which needs no speaker.
        at: When it was said; None where that is of no interest.
    """

    speaker: str
    text: str
    turn: int
    agent: bool = False
    fact: bool = False
    at: datetime | None = None

    @property
    def length(self) -> int:
        return len(self.text.split())


def language_of_lines(said: Iterable[Line]) -> Language:
    """Return the language whose common words occur most; English if none do."""
    counts = Counter(word.casefold() for line in said for word in _WORD.findall(line.text))
    return max((ENGLISH, *LANGUAGES), key=lambda one: sum(counts[word] for word in _common(one)))


def weights(words: Iterable[str], language: Language, tokenize: Tokenize) -> dict[str, float]:
    """Return the weight of each stem, 0 to 1."""
    function = {stem for word in language.extracts.function for stem in tokenize(word)}
    light = {stem for word in language.extracts.light for stem in tokenize(word)}
    return {word: 0.0 if word in function else LIGHT if word in light else 1.0 for word in words}


def worth(line: Line, language: Language) -> float:
    """Return how much a clause counts by what it is; 0 for what belongs in no summary."""
    if line.fact:
        return FACT * (CHANGE if _changes(line.text, language) else 1.0)
    if _chatter(language.name).search(line.text) or (line.agent and not is_advice(line.text)):
        return 0.0
    about = ADVICE if line.agent else _whose(line.text)
    about *= QUESTION if line.text.rstrip().endswith("?") else 1.0
    about *= TELLING if _TELLING.search(line.text) else 1.0
    return about * (CHANGE if _changes(line.text, language) else 1.0)


def is_advice(sentence: str) -> bool:
    """Return whether a sentence advises."""
    return _ADVICE.search(sentence) is not None


def _common(language: Language) -> frozenset[str]:
    return language.extracts.light | language.extracts.function


def _whose(text: str) -> float:
    if _OWN.search(text):
        return 1.0
    return TO_LISTENER if _TO_LISTENER.search(text) else NOBODYS


def _changes(text: str, language: Language) -> bool:
    return any(word.casefold() in language.extracts.changes for word in _WORD.findall(text))


@cache
def _chatter(language: str) -> re.Pattern[str]:
    phrases = "|".join(map(re.escape, language_of(language).extracts.chatter))
    return re.compile(rf"(?<![\w'’])(?:{phrases})(?![\w'’])".replace("'", "['’]"), re.IGNORECASE)
