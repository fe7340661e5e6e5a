"""Words by which the recall gate decides; each language has a table of them.

Phrases are in lower case; "/" separates several of them.
"""

import re
from collections.abc import Mapping

from msgspec import Struct

PhraseTable = Mapping[str, tuple[tuple[str, ...], ...]]


class GateWords(Struct, frozen=True, kw_only=True):
    """One language's words.

    Attributes:
        greetings: Stand before the actual words and are no part of them. Phrases by first word,
            the longest first.
        fillers: Answers, thanks, laughter and goodbyes, greetings included: ask for nothing.
        courtesy: May stand around a device command.
        please: Words that may stand anywhere in one.
        commands: Whole utterances that tell the agent or a device what to do.
        verbs: Other device commands hold one of these, one of ``devices``, and else only ``other``.
        devices: See ``verbs``.
        other: See ``verbs``.
        time: Whole utterances that ask for the time or the date.
        about_now: Marks a folded question that needs today's date.
        asking: First words of a question or a request to tell.
        memory: Marks a folded question for a memory.
        advice: Beginnings that ask what to do, and for no memory.
        general: Marks a question about the world, although it names somebody.
        named: Matches, in the original spelling, what stands before a name that is asked about.
    """

    greetings: PhraseTable
    fillers: PhraseTable
    courtesy: PhraseTable
    please: frozenset[str]
    commands: frozenset[str]
    verbs: frozenset[str]
    devices: frozenset[str]
    other: frozenset[str]
    time: frozenset[str]
    about_now: re.Pattern[str]
    asking: frozenset[str]
    memory: re.Pattern[str]
    advice: re.Pattern[str]
    general: re.Pattern[str]
    named: re.Pattern[str]


def listed(text: str) -> list[str]:
    """Return the phrases of a text, without their line breaks."""
    return [" ".join(phrase.split()).casefold() for phrase in text.split("/") if phrase.strip()]


def phrases(*texts: str) -> PhraseTable:
    """Return the phrases of texts by their first word, the longest first."""
    made: dict[str, list[tuple[str, ...]]] = {}
    for phrase in sorted({one for text in texts for one in listed(text)}, key=len, reverse=True):
        words = tuple(phrase.split())
        made.setdefault(words[0], []).append(words)
    return {first: tuple(many) for first, many in made.items()}


def words(text: str) -> frozenset[str]:
    """Return the words of a text in lower case."""
    return frozenset(text.casefold().split())


def any_of(*expressions: str) -> re.Pattern[str]:
    """Compile expressions of which one must match."""
    return re.compile("|".join(f"(?:{expression})" for expression in expressions))
