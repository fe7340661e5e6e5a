"""Recognises a later statement that changes an earlier one, by words.

Facts know which of two holds, where rules or an LLM have read both. Where they have not, two later
statements about the very thing that is asked about make the earlier one the earlier: one with a
word of change ("the movers now come on the 20th"), and one of the same words with another number,
day or month ("my locker is 81", "my locker is 114").
"""

import re
from functools import cached_property

from slowcat_memory.core.language import language_of
from slowcat_memory.core.text.normalize import content_words, fold

LEAST = 3  # letters of a word that names a thing
KEY = 5  # letters that two forms of a word, or a compound and its beginning, have in common
LEAST_ASKED = 0.5  # share of the asked words of the earlier statement that the later one has too
SAME = 0.75  # share of the shorter statement's words that both have, apart from the values
WITH_ENDING = KEY + 3  # letters of a word whose ending, the longest has 3, changes no key
_ENDINGS = re.compile(r"(?<=\w{3})(?:'s|ing|ies|ed|es|en|em|er|et|st|s|e|n|t|y)$")


class Wording:
    """The words of a text as they are compared with those of others.

    Each part is read from the text when it is first asked for, and kept: a recall compares every
    hit with every other one.
    """

    def __init__(self, text: str, language: str) -> None:
        """Read nothing yet; ``language`` is as in ``language_of``."""
        self.text, self._language = text, language

    @cached_property
    def keys(self) -> set[str]:
        """The beginnings of its content words, as in ``keys``."""
        return keys(self.text, self._language)

    @cached_property
    def values(self) -> frozenset[str]:
        """The numbers, days and months that it names."""
        return frozenset(language_of(self._language).talk.value.findall(fold(self.text)))

    @cached_property
    def keys_but_values(self) -> set[str]:
        """The keys of what it says apart from its values."""
        value = language_of(self._language).talk.value
        return keys(value.sub(" ", fold(self.text)), self._language)

    @cached_property
    def changes(self) -> bool:
        """Whether it says that something is different from before."""
        return bool(language_of(self._language).talk.change.search(self._line))

    @cached_property
    def renews(self) -> bool:
        """Whether it says so, if both statements are about the same matter."""
        return bool(language_of(self._language).talk.renewal.search(self._line))

    @cached_property
    def may_revise(self) -> bool:
        """Whether it has what may change an earlier statement."""
        return self.changes or self.renews or bool(self.values)

    @cached_property
    def asks_past(self) -> bool:
        """Whether it is a question about what happened, which no later statement changes."""
        return bool(language_of(self._language).talk.past.search(fold(self.text)))

    @cached_property
    def _line(self) -> str:
        return fold(self.text.replace("’", "'"))

    def likeness(self, other: "Wording") -> int:
        """Return the number of words, days and numbers that two statements have in common."""
        return len(self.keys & other.keys)


class Wordings(dict[str, Wording]):
    """Wordings by text, each made once. For one recall: it keeps the texts."""

    def __init__(self, language: str) -> None:
        """Start empty; ``language`` is as in ``language_of``."""
        super().__init__()
        self._language = language

    def __missing__(self, text: str) -> Wording:
        made = self[text] = Wording(text, self._language)
        return made


def revises(newer: Wording, older: Wording, query: Wording) -> bool:
    """Return whether a later statement changes an earlier one in what a query asks about.

    A word of change needs one asked word in common; any other sign half of them.
    """
    if not newer.may_revise or query.asks_past:
        return False
    about = older.keys & query.keys
    if about.isdisjoint(newer.keys):
        return False
    if newer.changes:
        return True
    if len(newer.keys & about) < LEAST_ASKED * len(about):
        return False
    return newer.renews or _same_with_another_value(newer, older)


def keys(text: str, language: str) -> set[str]:
    """Return the beginnings of a text's content words, the same for the forms of a word.

    Two words that only name something together are one: "last day".
    """
    talk = language_of(language).talk
    words = [word.casefold() for word in content_words(text) if len(word) >= LEAST]
    found = {
        (word if len(word) >= WITH_ENDING else _ENDINGS.sub("", word))[:KEY]
        for word in words
        if word not in talk.empty
    }
    days = talk.named_days.findall(fold(text))
    return found.union(day[:KEY] + day[-LEAST:] for day in days) if days else found


def shared(one: str, other: str, language: str) -> bool:
    """Return whether two texts have a content word in common, in any form."""
    return not keys(one, language).isdisjoint(keys(other, language))


def _same_with_another_value(newer: Wording, older: Wording) -> bool:
    if not newer.values - older.values or not older.values - newer.values:
        return False
    one, other = newer.keys_but_values, older.keys_but_values
    return len(one & other) >= SAME * min(len(one), len(other))
