"""Words for the recall gate, by language.

Lists come from the language's ``words.toml``, patterns from its ``gate.py``.
"""

import re
from collections import defaultdict
from collections.abc import Mapping

from msgspec import Struct

from slowcat_memory.core.language.data import phrase_list, word_set

PhraseTable = Mapping[str, tuple[tuple[str, ...], ...]]


class GateWords(Struct, frozen=True, kw_only=True):
    """Words of the recall gate in one language.

    Attributes:
        greetings: Precede the actual words. Phrases by first word, the longest first.
        fillers: Answers, thanks, laughter and goodbyes, including greetings: need no recall.
        courtesy: Allowed around a device command.
        please: Allowed anywhere in a device command.
        commands: Whole utterances that command the agent or a device.
        verbs: Other device commands consist of one of these, one of ``devices``, and ``other``.
        devices: See ``verbs``.
        other: See ``verbs``.
        time: Whole utterances that ask for the time or the date.
        about_now: Matches a folded question that needs today's date.
        asking: First words of a question or of a request for information.
        memory: Matches a folded question for a memory.
        advice: Beginnings that ask for advice, not for a memory.
        general: Matches a question about the world that names somebody.
        named: Matches, in the original spelling, the text before a name in a question.
        asides: Phrases of a folded request that name the speaker without being about them: "tell
            me".
        personal: Matches a folded text about the people here, once without ``asides``.
        chatter: Matches a folded remark that needs no memory: thanks, praise, questions about the
            agent itself.
        sums: Matches folded arithmetic with numbers.
        world: Matches a folded request that no memory can help with: sums, units, knowledge,
            meanings, weather, jokes. A group ``title`` must have no ordinary word.
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
    asides: re.Pattern[str]
    personal: re.Pattern[str]
    chatter: re.Pattern[str]
    sums: re.Pattern[str]
    world: re.Pattern[str]


def gate_words(lists: Mapping[str, str], **patterns: re.Pattern[str]) -> GateWords:
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
    """Return phrases by first word, the longest first."""
    made: dict[str, list[tuple[str, ...]]] = {}
    distinct = dict.fromkeys(phrase for text in texts for phrase in phrase_list(text))
    for phrase in sorted(distinct, key=len, reverse=True):
        words = tuple(phrase.split())
        made.setdefault(words[0], []).append(words)
    return {first: tuple(many) for first, many in made.items()}


def any_of(*expressions: str) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{expression})" for expression in expressions))
