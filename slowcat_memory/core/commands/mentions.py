"""Matches texts that mention something, by words, not by meaning: decides what is deleted."""

from collections.abc import Callable

from slowcat_memory.core.language import LANGUAGES
from slowcat_memory.core.text.normalize import fingerprint

Tokenize = Callable[[str], list[str]]
_LEADING = frozenset[str]().union(*(one.commands.leading for one in LANGUAGES))
_FOUND_BY = 3  # common first letters of a word's forms


def mentions(about: str, tokenize: Tokenize) -> Callable[[str], bool]:
    """Return a test for texts that contain all words of ``about`` in sequence.

    Forms of a word match ("Ben's"). ``tokenize`` returns stems without stop words.
    """
    words = fingerprint(about).split()
    while len(words) > 1 and words[0] in _LEADING:
        words.pop(0)
    stems = tokenize(" ".join(words))
    if not stems:
        return lambda text: _holds(fingerprint(text).split(), words)
    roots = [word[:_FOUND_BY] for word in words if tokenize(word)]

    def mentioned(text: str) -> bool:
        folded = text.casefold()  # far cheaper than tokenizing, and rejects most texts
        return all(root in folded for root in roots) and _holds(tokenize(text), stems)

    return mentioned


def _holds(words: list[str], wanted: list[str]) -> bool:
    length = len(wanted)
    return bool(wanted) and any(
        words[at : at + length] == wanted for at in range(len(words) - length + 1)
    )
