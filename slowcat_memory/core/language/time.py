"""Words for time and tense, by language, and their kinds in the grammar.

A table maps a word or phrase to a *kind* (one letter) and a value. The grammar
(``core.time.grammar``) only uses kinds, so that another language is another table. Words are in
lower case; a possessive 's is removed before the look-up ("last year's").

| kind | meaning | value |
|---|---|---|
| D | a day | days from today, and the part of the day or None |
| R | a vague time | days from today, from and to |
| W | weekday | Monday is 0 |
| P | part of a day | hours from and to, counted from its midnight |
| M m v | month: certain; also a name or an abbreviation; also a verb | 1 to 12 |
| s | season | its first month in the north |
| H | holiday | month, day, days; or an anchor of ``calendar.feast``, offset, days |
| U | unit | its name |
| G | a number of days that is not its words | days |
| w O h a | number; ordinal; half; "a" | least and most; place; None; 1, 1 |
| L t > S | last; this; next; the coming one | None |
| Z Q | the one before last; the one after next | None |
| l n r | "gone" behind; "from now" behind; "back" behind | None |
| e | every, each: what returns is no time | None |
| E | early, middle, late | thirds from and to |
| g V | "ago" behind; "ago" or "before" in front | None |
| c b k u | since; before; after; until | None |
| B F A o | between; from; and; to | None |
| i j J f T | "in"; other prepositions; one with "the" in it; "of"; "the" | None |
| z | "this time" | None |
| y | a year in words, which needs no preposition | its number |
| I | a holiday that is counted ("2. Advent") | the first, as of H, and days between two |
| K | a noun that an ordinal counts ("the third floor") | None |
| p | what may follow an ordinal that is a day ("on the third we …") | None |
| x | shows that a month's name before it is a verb | None |

Numbers in one word are read by ``core.text.numerals``. N (a number in digits), q (7th), Y (a year), X (a whole date), | (the end of a sentence) and "," (one
behind an ordinal) need no table.
"""

import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from slowcat_memory.core.language.data import lazy_pattern, word_set

CENTRES = frozenset(
    "8CDRWPMmvsHUYyOh"
)  # without one of these, a text names a time only by a number

MORNING, AFTERNOON, EVENING, NIGHT = (5, 12), (12, 18), (17, 24), (18, 30)


class TimeWords(Struct, frozen=True):
    """Words for time in one language.

    Attributes:
        table: Kind and value by word or phrase.
        phrases: The phrases by first word, the longest first.
        triggers: A text without any of these names no time.
        future: Words for plans: with one, "on Monday" is the coming Monday.
        past: Words that override ``future``.
        ordinal: Endings after the digits of an ordinal ("7th").
        pronouns: Where nouns are written with capitals: subjects, before which such a word is no noun
            but the verb of a sentence that a recogniser began too early ("Am 3. Gehe ich").
    """

    table: Mapping[str, tuple[str, Any]]
    phrases: Mapping[str, tuple[tuple[str, ...], ...]]
    triggers: frozenset[str]
    future: frozenset[str]
    past: frozenset[str]
    ordinal: frozenset[str] = frozenset()
    pronouns: frozenset[str] = frozenset()


def time_words(entries: Mapping[str, Mapping[str, Any] | str], **words: str) -> TimeWords:
    """Build a table.

    Args:
        entries: Values by word, by kind; "/" separates spellings. Words without a value are a text,
            in which "_" is a blank.
        words: The other fields.
    """
    table = {}
    for kind, group in entries.items():
        values = dict.fromkeys(group.split()) if isinstance(group, str) else group
        for spellings, value in values.items():
            for spelling in spellings.replace("_", " ").split("/"):
                table[spelling] = kind, value
    phrases: dict[str, list[tuple[str, ...]]] = {}
    triggers = {word for word, (kind, _) in table.items() if " " not in word and kind in CENTRES}
    for phrase in sorted(table, key=len, reverse=True):
        first, *rest = phrase.split()
        if rest:
            phrases.setdefault(first, []).append((first, *rest))
            if table[phrase][0] in CENTRES and triggers.isdisjoint((first, *rest)):
                triggers.add(rest[-1])
    return TimeWords(
        table=table,
        phrases={first: tuple(many) for first, many in phrases.items()},
        triggers=frozenset(triggers),
        **{name: word_set(text) for name, text in words.items()},
    )


def places(names: str, first: int = 1, step: int = 1) -> dict[str, int]:
    return {name: first + step * place for place, name in enumerate(names.split())}


_AFTER, _BEFORE, _WHOLE = r"\s+(?:{})\b", r"\b(?:{})\s*$", r"(?<!\w)(?:{})(?!\w)"
_FORMS = {
    "clauses": "{}",
    "verbs": _WHOLE,
    "before": _BEFORE,
    "moves": _WHOLE,
    "arranges": _WHOLE,
    "returns": _WHOLE,
    "names": _BEFORE,
    "as_such": _BEFORE,
    "in_general": r"\s+(?:{})",
    "begins": r"\s*(?:{})\b",
    "compound": _AFTER,
    "may_follow": r"\s*(?:$|[^\w\s]|(?:{})\b)",
}


class TenseWords(Struct, frozen=True, kw_only=True):
    """Patterns for the tense of a clause: whether what it dates lies ahead or is over.

    Attributes:
        clauses: Where a clause ends.
        verbs: Verbs, in the groups "neither" (which leave open whether it happened: "was going
            to"), "ahead" (the present and future, and arrangements made in the past), "back" (the
            past), and "weak" (signs of a present tense that count where no verb is known).
        before: Words before a date that is ahead of a verb in the past ("booked it for Friday").
        moves: Verbs after which "from Friday to Monday" is no span: the second day is meant.
        arranges: Nouns of what is arranged beforehand; ahead in a clause without a verb.
        begins: The beginning of a sentence that is one, not a fragment.
        returns: Words for what returns, or is always so.
        in_general: Words behind a weekday of which something general is said ("Friday is fish
            day").
        names: Words before a name ("a man called Friday").
        as_such: Words before a day, season or holiday as such ("I love Christmas").
        compound: Nouns behind a weekday that is no day with them ("Sunday roast"); None for none.
        may_follow: What may follow a holiday without a preposition; None for any.
        marks: Frequent words of the language and of no other, to tell it by.
    """

    clauses: re.Pattern[str]
    verbs: re.Pattern[str]
    before: re.Pattern[str]
    moves: re.Pattern[str]
    arranges: re.Pattern[str]
    begins: re.Pattern[str]
    returns: re.Pattern[str]
    in_general: re.Pattern[str]
    names: re.Pattern[str]
    as_such: re.Pattern[str]
    marks: frozenset[str]
    compound: re.Pattern[str] | None = None
    may_follow: re.Pattern[str] | None = None


def tense_words(*, marks: str, verbs: Mapping[str, str], **patterns: str) -> TenseWords:
    """Build a table.

    Args:
        verbs: Patterns by group.
        patterns: By field; what stands around each is the same in all languages.
    """
    groups = "|".join(f"(?P<{name}>{verb})" for name, verb in verbs.items())
    compiled = {
        name: lazy_pattern(_FORMS[name].replace("{}", pattern), flags=re.IGNORECASE)
        for name, pattern in {"verbs": groups, **patterns}.items()
    }
    return TenseWords(marks=word_set(marks), **compiled)


def alternatives(words: str) -> str:
    """Return a pattern of words, given as a text."""
    return "|".join(words.split())
