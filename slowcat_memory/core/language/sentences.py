"""Sentences about somebody in the third person, as an LLM or a file states a fact."""

from msgspec import Struct


class SentenceRule(Struct, frozen=True):
    """A predicate, and a pattern of the words that express it, in any form of the verb.

    ``over``: the verb itself says that it is over ("broke up with"). ``firm``: a negation belongs to
    the verb ("can't stand").
    """

    predicate: str
    pattern: str
    over: bool = False
    firm: bool = False


class SentenceWords(Struct, frozen=True, kw_only=True):
    """Patterns of what stands behind a subject.

    Attributes:
        rules: In order; the object follows the match.
        before: Adverbs and auxiliaries before the verb.
        over: Words that make a statement one of the past, before or behind the verb.
        past: Past forms of verbs for what lasts: it lasts no longer.
        denied: Negations.
        opposites: The predicate that the negation of another is.
        object_ends: Words with which an object ends.
    """

    rules: tuple[SentenceRule, ...]
    before: str
    over: str
    past: str
    denied: str
    opposites: dict[str, str]
    object_ends: str
