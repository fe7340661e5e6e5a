"""Words by which sentences are cut into clauses, and clauses are chosen."""

from msgspec import Struct

from slowcat_memory.core.language.data import Words, phrase_list, word_set


class ExtractWords(Struct, frozen=True, kw_only=True):
    """Words for summaries by rule.

    Attributes:
        conjunctions: They begin a clause after a comma.
        contrasts: They begin a clause anywhere.
        additions: They begin a clause before one of ``subjects``.
        subjects: Words that begin a main clause.
        openings: Beginnings that say nothing ("well", "I think").
        tails: Ends that say nothing ("you know").
        listener: Words for whom one speaks to.
        fillers: Emphasis, which can be dropped anywhere ("really").
        function: Words without content of their own ("the").
        light: Words of any conversation, which distinguish none.
        articles: Words before a noun ("the", "my").
        capital_nouns: Whether a capital letter marks every noun.
        changes: Words for what changes somebody's life ("moved", "sold").
        chatter: Talk about the conversation itself ("can you hear me").
    """

    conjunctions: tuple[str, ...]
    contrasts: tuple[str, ...]
    additions: tuple[str, ...]
    subjects: tuple[str, ...]
    openings: tuple[str, ...]
    tails: tuple[str, ...]
    listener: tuple[str, ...]
    fillers: frozenset[str]
    function: frozenset[str]
    light: frozenset[str]
    articles: frozenset[str]
    capital_nouns: bool = False
    changes: frozenset[str]
    chatter: tuple[str, ...]


_PHRASES = "conjunctions contrasts additions subjects openings tails listener chatter".split()
_WORD_SETS = "fillers function light articles changes".split()


def read_extracts(words: Words) -> ExtractWords:
    """Return the table from the section [extracts] of a language's ``words.toml``."""
    section = words["extracts"]
    phrases = {name: phrase_list(section[name]) for name in _PHRASES}
    sets = {name: word_set(section[name]) for name in _WORD_SETS}
    return ExtractWords(capital_nouns="capital_nouns" in section, **phrases, **sets)
