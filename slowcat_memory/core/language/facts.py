"""Words for extracting, checking and comparing facts and relations, by language."""

from collections.abc import Mapping

from msgspec import Struct

from slowcat_memory.core.language.data import phrase_list, word_set

# Parts of patterns; only names are case-sensitive.
NAME = r"(?-i:[A-ZÄÖÜ][\w'’-]+(?: (?:(?:of|the|von|van|de) )*[A-ZÄÖÜ][\w'’-]+)*)"
CAPITAL = r"(?-i:[A-ZÄÖÜ][a-zäöüß]+)"
NAMED, THING = rf"(?P<o>{NAME})", r"(?P<o>[^.,;!?]{2,60}?)"


class StatementRule(Struct, frozen=True):
    """One pattern of a fact that people state about themselves.

    Attributes:
        type: Of the fact.
        predicate: Of the fact.
        content: Its sentence, with {s} for the subject and {o} for the object.
        pattern: Groups ``o`` and, for facts about others, ``s``.
        over: Whether it states that the fact is over.
        subject: The group that names the subject; "" for the speaker.
    """

    type: str
    predicate: str
    content: str
    pattern: str
    over: bool = False
    subject: str = ""


class StatementWords(Struct, frozen=True, kw_only=True):
    """Patterns of facts that people state explicitly.

    Attributes:
        rules: In order.
        unsure: Words that make a sentence no plain statement.
        not_in_object: Words that an object in the third person cannot contain.
        cut_short: Words that cannot end an object.
        trailing: Words to remove from the end of an object.
    """

    rules: tuple[StatementRule, ...]
    unsure: str
    not_in_object: str
    cut_short: str = ""
    trailing: tuple[str, ...]


class FactWords(Struct, frozen=True, kw_only=True):
    """Patterns that classify a fact or a relation; ``pleasantries`` are words.

    Attributes:
        reported: About the conversation itself, which is no fact.
        passing: True only for the moment.
        denied: Negation; two facts that differ in it differ.
        negated: The same in the quote of a relation.
        supposed: Suppositions.
        first_person: Pronouns of the speaker.
        possessives: Words before ``relatives``: "my".
        relatives: People and animals that somebody has.
        corrects: Beginnings of a correction of an earlier statement.
        before_date: Words between a relation and its start date.
        pleasantries: Words of turns without other content, which need no description.
    """

    reported: str
    passing: str
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
    """Parts of a name that do not distinguish it.

    Attributes:
        titles: Before a name.
        suffixes: Generations: "jr".
        roles: Also before a name: "my boss Linda".
        pets: Kinds of pets, also before a name.
        articles: Articles and possessives.
        fillers: Other words to remove from the name of a thing.
        legal: Legal forms of companies.
        orders: Words for an order, which only its number distinguishes.
        abbreviations: With their long forms; also spellings and numerals.
        introduces: Pattern of the words before the speaker's own name: "my name is".
        presents: The same, of words that are followed by other things too: "I'm".
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
    introduces: str
    presents: str


_NAME_PATTERNS = ("introduces", "presents")


def name_words(lists: Mapping[str, str], abbreviations: Mapping[str, str] = {}) -> NameWords:
    return NameWords(
        **{name: word_set(text) for name, text in lists.items() if name not in _NAME_PATTERNS},
        **{name: _phrases(lists[name]) for name in _NAME_PATTERNS},
        abbreviations=abbreviations,
    )


def _phrases(text: str) -> str:
    """Return a pattern of phrases, the longest first."""
    longest_first = sorted(phrase_list(text), key=len, reverse=True)
    return "|".join(longest_first).replace("ss", "(?:ss|ß)")
