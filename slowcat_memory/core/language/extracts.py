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


def read_extracts(words: Words) -> ExtractWords:
    """Return the table from the section [extracts] of a language's ``words.toml``."""
    section = words["extracts"]
    return ExtractWords(
        conjunctions=phrase_list(section["conjunctions"]),
        contrasts=phrase_list(section["contrasts"]),
        additions=phrase_list(section["additions"]),
        subjects=phrase_list(section["subjects"]),
        openings=phrase_list(section["openings"]),
        tails=phrase_list(section["tails"]),
        listener=phrase_list(section["listener"]),
        fillers=word_set(section["fillers"]),
        function=word_set(section["function"]),
        light=word_set(section["light"]),
        articles=word_set(section["articles"]),
        changes=word_set(section["changes"]),
        chatter=phrase_list(section["chatter"]),
        capital_nouns="capital_nouns" in section,
    )
