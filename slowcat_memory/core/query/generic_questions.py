"""Recognises questions about the world in general, by what they are about and what they lack.

"Why do cats purr?", "does a snail have teeth": the subject is a kind of thing, not one that the
people here own or know, and no word ties it to a person, a time or a choice.
"""

from collections.abc import Sequence

from slowcat_memory.core.language.gate import GateWords
from slowcat_memory.core.language.ordinary import is_ordinary

MOST = 12  # words of a question
_SUPERLATIVE = ("est", "ste", "sten", "ster", "stes")
_ADJECTIVE = {
    "lower": ("man", "lar", "ic", "al", "ack", "rth", "uth"),
    "title": ("e", "en", "er", "es"),
}
_NEAR = 3  # words of the shortest question


def is_generic(found: Sequence[str], words: Sequence[str], table: GateWords) -> bool:
    """Return whether a question is about things in general.

    Args:
        found: Its words as they were said, without leading fillers.
        words: The same, folded.
    """
    return (
        1 < len(words) <= MOST
        and words[0] in table.generic
        and words[1] not in ("you", "du")
        and table.specific.isdisjoint(words)
        and not (table.things.isdisjoint(words) and not _begins_with_anything(words, table))
        and all(_is_world(place, words, table) for place, word in enumerate(words)
                if word in table.articles)
        and all(_is_common(place, found, words, table) for place in range(1, len(words)))
    )  # fmt: skip


def is_superlative(word: str) -> bool:
    return word.endswith(_SUPERLATIVE)


def _begins_with_anything(words: Sequence[str], table: GateWords) -> bool:
    """Return whether the first noun is an unspecified one: "does a shop", "what do people"."""
    return len(words) > _NEAR and not table.anything.isdisjoint(words[1:4])


def _is_world(place: int, words: Sequence[str], table: GateWords) -> bool:
    """Return whether an article's noun is one of ``things``, or a superlative follows."""
    near = words[place + 1 : place + 3]
    if not near:
        return False
    if near[0] in table.things or is_superlative(near[0]):
        return True
    return near[-1] in table.things and near[0].endswith(_ADJECTIVE[table.noun_case])


def _is_common(place: int, found: Sequence[str], words: Sequence[str], table: GateWords) -> bool:
    """Return whether a word is no name: it is known, or preceded by "a"."""
    word = words[place]
    if word in table.things or word in table.articles or word in table.anything:
        return True
    if found[place][0].isupper() and table.noun_case == "lower":
        return False
    return is_ordinary(word) or words[place - 1] in table.anything
