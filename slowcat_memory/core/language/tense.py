"""Words for the tense of a clause, by language: whether what it dates lies ahead or is over."""

from functools import cached_property
from re import IGNORECASE, Pattern, compile

from msgspec import Struct


class TenseWords(Struct, frozen=True, kw_only=True, dict=True):
    """Patterns over one sentence; see ``core.time.direction``.

    Attributes:
        clause: Where a clause ends.
        neither: Verbs that leave open whether it happened ("was going to").
        ahead: Verbs of the present and future, and arrangements made in the past.
        back: Verbs of the past.
        weak: Signs of a present tense that count where no verb is known.
        arranged: Words before a date that is ahead of a verb in the past ("booked it for Friday").
        moved: Verbs after which "from Friday to Monday" is no span: the second day is meant.
        appointments: Nouns of what is arranged beforehand; ahead in a clause without a verb.
        subject: The beginning of a sentence that is one, not a fragment; "" for any.
        habit: Words for what returns, or is always so.
        as_subject: Words behind a weekday of which something general is said ("Friday is fish day").
        named: Words before a name ("a man called Friday").
        spoken_of: Words before a day, season or holiday as such ("I love Christmas").
        compounds: Nouns behind a weekday that is no day with them ("Sunday roast"); "" for none.
        naming: Words for a name behind it ("April is a lovely name").
        follows: Words that may follow a holiday without a preposition; "" for any.
        marks: Frequent words of the language and of no other, to tell it by.
    """

    clause: str
    neither: str
    ahead: str
    back: str
    weak: str
    arranged: str
    moved: str
    appointments: str
    habit: str
    spoken_of: str
    as_subject: str
    named: str
    naming: str
    marks: frozenset[str]
    subject: str = ""
    follows: str = ""
    compounds: str = ""

    @cached_property
    def verbs(self) -> Pattern[str]:
        groups = ("neither", "ahead", "back", "weak")
        return _words("|".join(f"(?P<{name}>{getattr(self, name)})" for name in groups))

    @cached_property
    def clauses(self) -> Pattern[str]:
        return compile(self.clause, IGNORECASE)

    @cached_property
    def before(self) -> Pattern[str]:
        return compile(rf"\b(?:{self.arranged})\s*$", IGNORECASE)

    @cached_property
    def moves(self) -> Pattern[str]:
        return _words(self.moved)

    @cached_property
    def arranges(self) -> Pattern[str]:
        return _words(self.appointments)

    @cached_property
    def begins(self) -> Pattern[str]:
        return compile(rf"\s*(?:{self.subject or '(?!)'})\b", IGNORECASE)

    @cached_property
    def returns(self) -> Pattern[str]:
        return _words(self.habit)

    @cached_property
    def names(self) -> Pattern[str]:
        return compile(rf"\b(?:{self.named})\s*$", IGNORECASE)

    @cached_property
    def as_such(self) -> Pattern[str]:
        return compile(rf"\b(?:{self.spoken_of})\s*$", IGNORECASE)

    @cached_property
    def compound(self) -> Pattern[str]:
        return compile(rf"\s+(?:{self.compounds or '(?!)'})\b", IGNORECASE)

    @cached_property
    def in_general(self) -> Pattern[str]:
        return compile(rf"\s+(?:{self.as_subject})", IGNORECASE)

    @cached_property
    def is_name(self) -> Pattern[str]:
        return compile(rf"\s*(?:{self.naming})\b", IGNORECASE)

    @cached_property
    def may_follow(self) -> Pattern[str]:
        return compile(rf"\s*(?:$|[^\w\s]|(?:{self.follows})\b)", IGNORECASE)


def _words(pattern: str) -> Pattern[str]:
    return compile(rf"(?<!\w)(?:{pattern})(?!\w)", IGNORECASE)


def alternatives(words: str) -> str:
    """Return a pattern of words, given as a text."""
    return "|".join(words.split())
