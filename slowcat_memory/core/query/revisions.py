"""Recognises a later statement that changes an earlier one, by words.

Facts know which of two holds, where rules or an LLM have read both. Where they have not, a later
statement with a word of change ("the movers now come on the 20th") about the very thing that is
asked about stands beside the earlier one, which is marked as the earlier.
"""

from slowcat_memory.core.language import language_of
from slowcat_memory.core.text.normalize import content_words, fold

STEM = 6  # letters by which two forms of a word are the same
LEAST = 4  # letters of a word that names a thing


def revises(newer: str, older: str, query: str, language: str) -> bool:
    """Return whether a later statement changes an earlier one in what a query asks about."""
    if not changes(newer, language):
        return False
    one, other, asked = (_stems(text, language) for text in (newer, older, query))
    return not one.isdisjoint(other & asked)


def changes(text: str, language: str) -> bool:
    """Return whether a statement says that something is different from before. Takes 3 us."""
    return bool(language_of(language).talk.change.search(fold(text)))


def _stems(text: str, language: str) -> set[str]:
    empty = language_of(language).talk.empty
    words = (word.casefold() for word in content_words(text) if len(word) >= LEAST)
    return {word[:STEM] for word in words if word not in empty}
