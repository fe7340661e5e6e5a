"""Which facts about themselves a user asks for: "where do I live?" asks for ``lives_in``.

The words of such a question are often none of the statement's ("my flat's in Graz"). Where facts
have been read from turns, the predicate leads to the turn that states what holds.
"""

import re
from functools import cache

from msgspec import Struct

from slowcat_memory.core.language import language_of
from slowcat_memory.core.text.normalize import fold

MOST_CHARS = 120  # of a question: longer ones ask for more than a fact


class AskedFact(Struct, frozen=True):
    """Predicates of facts, any of which answers, and the thing they are about ("dog") or ""."""

    predicates: frozenset[str]
    thing: str = ""


def asked_fact(query: str, language: str) -> AskedFact | None:
    """Return which fact about themselves a user asks for; None for any other question."""
    if len(query) > MOST_CHARS:
        return None
    line = fold(query.replace("’", "'"))
    for pattern, predicates in _rules(language):
        if match := pattern.search(line):
            things = [thing for thing in match.groups() if thing]
            thing = things[0] if things else ""
            names = frozenset(predicates.format(thing=thing).split())
            return AskedFact(names | _alike(thing, language), thing)
    return None


def _alike(thing: str, language: str) -> frozenset[str]:
    """Return the predicates that name a thing otherwise: a dog is a pet, a wife a partner."""
    words = language_of(language).talk.alike
    return frozenset(name for name, things in words.items() if thing in things.split())


@cache
def _rules(language: str) -> tuple[tuple[re.Pattern[str], str], ...]:
    talk = language_of(language).talk
    return tuple((re.compile(pattern), names) for pattern, names in talk.asked)
