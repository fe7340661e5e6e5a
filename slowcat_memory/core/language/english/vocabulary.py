"""English words for rules that exist only in English: follow-ups, misheard names, speakers."""

from slowcat_memory.core.language.data import phrase_list, read_data, read_words, word_set

_WORDS = read_words(__package__)["vocabulary"]

# First words of a question.
ASKING = word_set(
    "who whom whose what which where when why how tell remind do does did is are was were has have "
    "had can could will would shall should may might must"
)
# Stop words of the index.
STOP_WORDS = word_set(read_words(__package__)["extracts"]["function"])
PRONOUNS = word_set(_WORDS["pronouns"])
# Words of a question without content.
EMPTY = STOP_WORDS | word_set(_WORDS["empty"])
COMMON_NAMES = word_set(_WORDS["common_names"])
ROLES = word_set(_WORDS["roles"])
POSSESSIVES = word_set(_WORDS["possessives"])
KIN = word_set(_WORDS["kin"])
NAMING = word_set(_WORDS["naming"])
COPULAS = word_set(_WORDS["copulas"])
CALENDAR = word_set(_WORDS["calendar"])
# Words that are never taken for a misheard name, the first paragraph of the ordinary ones. Short ones
# count most: the shorter a word, the more names sound like it.
_FREQUENT = read_data(__package__, "ordinary.txt").partition(b"\n\n")[0].decode()
EVERYDAY = word_set(_FREQUENT) | EMPTY | PRONOUNS | COMMON_NAMES
QUALITIES = _WORDS["qualities"]
PARTS = word_set(_WORDS["parts"])
_ROLES = read_words(__package__)["roles"]
# Titles and roles of one meaning in all languages, and those of one sex by the first of each group.
SAME_ROLES = tuple(tuple(group.split()) for group in phrase_list(_ROLES["same"]))
MALE = word_set(_ROLES["male"])
FEMALE = word_set(_ROLES["female"])

_NUMERALS = read_words(__package__)["numerals"]


def _digits(name: str, first: int, step: int = 1) -> dict[str, str]:
    """Return the words of a list of numerals, each with its number in digits."""
    return {
        word: str(first + step * n)
        for n, spellings in enumerate(_NUMERALS[name].split())
        for word in spellings.split("/")
    }


SMALL_NUMBERS = {word: digits for word, digits in _digits("units", 0).items() if int(digits) <= 12}
NUMBERS = {
    **{"hundred": "100", "thousand": "1000", "million": "1000000", "once": "1", "twice": "2"},
    **{"couple": "2", "both": "2", "dozen": "12"},
    **_digits("units", 0),
    **_digits("tens", 20, 10),
    **_digits("ordinals", 1),
    **_digits("ordinal_tens", 20, 10),
}
MONTHS = {
    name: number
    for number, names in enumerate(_WORDS["months"].split("/"), start=1)
    for name in names.split()
}
DAYS = word_set(_WORDS["days"])
# Frequent words that do not occur in languages that capitalise nouns.
MARKERS = frozenset(("the", "and", "is"))
