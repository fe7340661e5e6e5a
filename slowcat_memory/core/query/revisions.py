"""Recognises a later statement that changes an earlier one, by words.

Facts know which of two holds, where rules or an LLM have read both. Where they have not, two later
statements about the very thing that is asked about make the earlier one the earlier: one with a
word of change ("the movers now come on the 20th"), and one of the same words with another number,
day or month ("my locker is 81", "my locker is 114").
"""

import re

from slowcat_memory.core.language import language_of
from slowcat_memory.core.text.normalize import content_words, fold

LEAST = 3  # letters of a word that names a thing
KEY = 5  # letters that two forms of a word, or a compound and its beginning, have in common
LEAST_ASKED = 0.5  # share of the asked words of the earlier statement that the later one has too
SAME = 0.75  # share of the shorter statement's words that both have, apart from the values
_ENDINGS = re.compile(r"(?<=\w{3})(?:'s|ing|ies|ed|es|en|em|er|et|st|s|e|n|t|y)$")


def revises(newer: str, older: str, query: str, language: str) -> bool:
    """Return whether a later statement changes an earlier one in what a query asks about.

    A word of change needs one asked word in common; any other sign half of them.
    """
    if not may_revise(newer, language) or asks_past(query, language):
        return False
    one, other, asked = (keys(text, language) for text in (newer, older, query))
    about = other & asked
    if one.isdisjoint(about):
        return False
    if changes(newer, language):
        return True
    if len(one & about) < LEAST_ASKED * len(about):
        return False
    return _renews(newer, language) or _same_with_another_value(newer, older, language)


def asks_past(query: str, language: str) -> bool:
    """Return whether a question is about what happened, which no later statement changes."""
    return bool(language_of(language).talk.past.search(fold(query)))


def may_revise(text: str, language: str) -> bool:
    """Return whether a statement has what may change an earlier one."""
    return changes(text, language) or _renews(text, language) or bool(values(text, language))


def changes(text: str, language: str) -> bool:
    """Return whether a statement says that something is different from before. Takes 3 us."""
    return bool(language_of(language).talk.change.search(fold(text.replace("’", "'"))))


def _renews(text: str, language: str) -> bool:
    return bool(language_of(language).talk.renewal.search(fold(text.replace("’", "'"))))


def shared(one: str, other: str, language: str) -> bool:
    """Return whether two texts have a content word in common, in any form."""
    return not keys(one, language).isdisjoint(keys(other, language))


def keys(text: str, language: str) -> set[str]:
    """Return the beginnings of a text's content words, the same for the forms of a word.

    Two words that only name something together are one: "last day".
    """
    talk = language_of(language).talk
    words = (fold(word) for word in content_words(text) if len(word) >= LEAST)
    found = {_ENDINGS.sub("", word)[:KEY] for word in words if word not in talk.empty}
    return found.union(day[:KEY] + day[-LEAST:] for day in talk.named_days.findall(fold(text)))


def likeness(newer: str, older: str, language: str) -> int:
    """Return the number of words, days and numbers that two statements have in common."""
    return len(keys(newer, language) & keys(older, language))


def values(text: str, language: str) -> frozenset[str]:
    """Return the numbers, days and months of a text."""
    return frozenset(language_of(language).talk.value.findall(fold(text)))


def _same_with_another_value(newer: str, older: str, language: str) -> bool:
    new, old = values(newer, language), values(older, language)
    if not new - old or not old - new:
        return False
    value = language_of(language).talk.value
    one, other = (keys(value.sub(" ", fold(text)), language) for text in (newer, older))
    return len(one & other) >= SAME * min(len(one), len(other))
