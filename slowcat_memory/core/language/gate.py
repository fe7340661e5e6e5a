"""Words by which the recall gate decides; each language has a table of them.

The lists stand in a language's ``words.toml``, the patterns in its ``gate.py``.
"""

import re
from collections import defaultdict
from collections.abc import Mapping

from msgspec import Struct

from slowcat_memory.core.language.data import phrase_list, word_set

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


def gate_words(lists: Mapping[str, str], **patterns: re.Pattern[str]) -> GateWords:
    """Return the table of the lists in ``words.toml`` and of the patterns beside them."""
    plain = defaultdict(str, lists)
    return GateWords(
        greetings=_by_first_word(plain["greetings"]),
        fillers=_by_first_word(plain["greetings"], plain["small_talk"]),
        courtesy=_by_first_word(plain["courtesy"]),
        commands=frozenset(phrase_list(plain["commands"])),
        time=frozenset(phrase_list(plain["time"])),
        please=word_set(plain["please"]),
        verbs=word_set(plain["verbs"]),
        devices=word_set(plain["devices"]),
        other=word_set(plain["other"]),
        asking=word_set(plain["asking"]),
        **patterns,
    )


def _by_first_word(*texts: str) -> PhraseTable:
    """Return the phrases of texts by their first word, the longest first."""
    made: dict[str, list[tuple[str, ...]]] = {}
    distinct = dict.fromkeys(phrase for text in texts for phrase in phrase_list(text))
    for phrase in sorted(distinct, key=len, reverse=True):
        words = tuple(phrase.split())
        made.setdefault(words[0], []).append(words)
    return {first: tuple(many) for first, many in made.items()}


def any_of(*expressions: str) -> re.Pattern[str]:
    """Compile expressions of which one must match."""
    return re.compile("|".join(f"(?:{expression})" for expression in expressions))
