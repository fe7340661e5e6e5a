"""Sentences about somebody in the third person, as an LLM or a file states a fact."""

from msgspec import Struct


class SentenceRule(Struct, frozen=True):
    """A predicate, and a pattern of the words that express it, in any form of the verb.

    ``over``: the verb itself says that it is over ("broke up with"). ``firm``: a negation belongs to
    the verb ("can't stand"). ``ends``: the predicates of what it ends, where there are several.
    Groups of the pattern fill fields in the predicate: "has_{kin}".
    """

    predicate: str
    pattern: str
    over: bool = False
    firm: bool = False
    ends: tuple[str, ...] = ()


# What somebody does, has or is about to do: what a word like "cancelled" can end;
# "" for sentences that no rule reads.
UNDERWAY = (
    "", "has", "owns", "habit", "goal", "goals", "plans", "appointment", "event", "has_to",
    "wants_reminder", "decided", "drinks", "eats", "smokes", "plays", "bought", "allergic_to",
    "health", "condition", "wants",
)  # fmt: skip


class SentenceWords(Struct, frozen=True, kw_only=True):
    """Patterns of what stands behind a subject.

    Attributes:
        rules: In order; the object follows the match.
        before: Adverbs and auxiliaries before the verb.
        over: Words that make a statement one of the past, before or behind the verb.
        ahead: Forms of verbs for a change that is only planned.
        past: Past forms of verbs for what lasts: it lasts no longer.
        denied: Negations.
        opposites: The predicate that the negation of another is.
        inverse: Sentences that begin with something else, with groups ``s`` (the subject), ``kin``
            and ``o``, rewritten as "{s}'s {kin} is called {o}", or with ``rest`` as "{s} {rest}".
        object_ends: Words with which an object ends.
    """

    rules: tuple[SentenceRule, ...]
    before: str
    over: str
    ahead: str
    past: str
    denied: str
    opposites: dict[str, str]
    inverse: tuple[tuple[str, str], ...]
    object_ends: str
