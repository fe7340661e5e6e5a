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
# Frequent words that do not occur in languages that capitalise nouns.
MARKERS = frozenset(("the", "and", "is"))
