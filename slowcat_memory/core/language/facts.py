"""Words by which facts and relations are read, checked and compared; each language has its tables."""

from collections.abc import Mapping

from msgspec import Struct

from slowcat_memory.core.language.data import word_set

# Parts of patterns. Case counts in names alone.
NAME = r"(?-i:[A-ZÄÖÜ][\w'’-]+(?: (?:(?:of|the|von|van|de) )*[A-ZÄÖÜ][\w'’-]+)*)"
CAPITAL = r"(?-i:[A-ZÄÖÜ][a-zäöüß]+)"
NAMED, THING = rf"(?P<o>{NAME})", r"(?P<o>[^.,;!?]{2,60}?)"


class StatementRule(Struct, frozen=True):
    """One way in which people state a fact about themselves.

    Attributes:
        type: Of the fact.
        predicate: Of the fact.
        content: Its sentence, with {s} for the subject and {o} for the object.
        pattern: What is said; groups ``o`` and, where it is about somebody else, ``s``.
        over: Whether it says that this is over.
        subject: The group that names the subject; "" for the speaker.
    """

    type: str
    predicate: str
    content: str
    pattern: str
    over: bool = False
    subject: str = ""


class StatementWords(Struct, frozen=True, kw_only=True):
    """Facts that people state in so many words.

    Attributes:
        rules: In order.
        unsure: Pattern of words that make a sentence no plain statement.
        not_in_object: Pattern of words that an object in the third person cannot hold.
        cut_short: Pattern of words at which no object ends.
        trailing: Words at the end of an object that are no part of it.
    """

    rules: tuple[StatementRule, ...]
    unsure: str
    not_in_object: str
    cut_short: str = ""
    trailing: tuple[str, ...]


class FactWords(Struct, frozen=True, kw_only=True):
    """Words that decide about a fact or a relation: patterns, but for ``pleasantries``.

    Attributes:
        reported: Speaks of the conversation itself, which is no fact.
        passing: Holds for the moment alone.
        orders: Begins an instruction.
        instructs: An instruction wherever it stands.
        to_reader: An instruction in what an LLM wrote.
        denied: Says that something is not so; two facts that differ in it differ.
        negated: The same in the quote of a relation.
        supposed: Says what might be.
        first_person: Pronouns of the speaker.
        possessives: Words in front of ``relatives``: "my".
        relatives: People and animals that somebody has.
        corrects: Begins a correction of what was said before.
        before_date: May stand between a relation and the time since when it holds.
        pleasantries: Words of turns that hold nothing else, and need no description.
    """

    reported: str
    passing: str
    orders: str
    instructs: str = ""
    to_reader: str = ""
    denied: str
    negated: str
    supposed: str
    first_person: str
    possessives: str
    relatives: str
    corrects: str
    before_date: str
    pleasantries: frozenset[str]


class NameWords(Struct, frozen=True, kw_only=True):
    """What stands in a name and does not distinguish it.

    Attributes:
        titles: In front of a name.
        suffixes: Generations: "jr".
        roles: Likewise in front: "my boss Linda".
        pets: Kinds of pets, likewise.
        articles: Articles and possessives.
        fillers: Further words that are left out of the name of a thing.
        legal: Legal forms of companies.
        orders: Words for an order, which its number alone distinguishes.
        abbreviations: And what they are short for; likewise spellings and numerals.
    """

    titles: frozenset[str]
    suffixes: frozenset[str]
    roles: frozenset[str]
    pets: frozenset[str]
    articles: frozenset[str]
    fillers: frozenset[str] = frozenset()
    legal: frozenset[str]
    orders: frozenset[str]
    abbreviations: Mapping[str, str] = {}


def name_words(lists: Mapping[str, str], abbreviations: Mapping[str, str] = {}) -> NameWords:
    """Return the table of the lists in ``words.toml``."""
    return NameWords(
        **{name: word_set(words) for name, words in lists.items()}, abbreviations=abbreviations
    )
