"""English words for rules that there are for English alone: follow-ups, misheard names, speakers."""

from slowcat_memory.core.language.data import read_words, word_set

_WORDS = read_words(__package__)["vocabulary"]

QUESTION_WORDS = "who|whom|whose|what|which|where|when|why|how"
AUXILIARIES = (
    "do|does|did|is|are|was|were|has|have|had|can|could|will|would|shall|should|may|might|must"
)
# Words that the index leaves out.
STOP_WORDS = word_set(_WORDS["stop_words"])
PRONOUNS = word_set(_WORDS["pronouns"])
# Words that say nothing of what is asked for.
EMPTY = STOP_WORDS | word_set(_WORDS["empty"])
COMMON_NAMES = word_set(_WORDS["common_names"])
ROLES = word_set(_WORDS["roles"])
POSSESSIVES = word_set(_WORDS["possessives"])
KIN = word_set(_WORDS["kin"])
NAMING = word_set(_WORDS["naming"])
COPULAS = word_set(_WORDS["copulas"])
CALENDAR = word_set(_WORDS["calendar"])
EVERYDAY = word_set(_WORDS["everyday"]) | EMPTY | PRONOUNS | COMMON_NAMES
QUALITIES = _WORDS["qualities"]
PARTS = word_set(_WORDS["parts"])
