"""Which fact about themselves a user asks for: "where do I live?" asks for ``lives_in``.

The words of such a question are often none of the statement's ("my flat's in Graz"). Where facts
have been read from turns, the predicate leads to the turn that states what holds. What is ahead
("when is my dentist appointment?") is asked for by words and found by its day.
"""

import re
from functools import cache

from msgspec import Struct

from slowcat_memory.core.language import language_of
from slowcat_memory.core.query.revisions import keys
from slowcat_memory.core.text.normalize import fold
from slowcat_memory.text_caches import text_cache

MOST_CHARS = 120  # of a question: longer ones ask for more than a fact
_PERSON = "qpersonq"  # stands for the name of somebody else


class AskedFact(Struct, frozen=True):
    """A fact that a question asks for.

    Attributes:
        predicates: Any of which answers; ``type:goal`` stands for a type of facts.
        thing: What they are about ("dog"), "" for anything.
        words: Beginnings of words, one of which the fact has, or the words behind it; none for any.
        about_thing: Whether a fact about anything else is no answer: a phone for a car.
        former: Whether what held before is asked for.
        ahead: Whether the answer is what has a day that lies ahead.
    """

    predicates: frozenset[str] = frozenset()
    thing: str = ""
    words: frozenset[str] = frozenset()
    about_thing: bool = False
    former: bool = False
    ahead: bool = False


@text_cache(64)
def asked_fact(query: str, language: str) -> AskedFact | None:
    """Return which fact about themselves a user asks for; None for any other question.

    Takes 10 to 60 us, once for a turn.
    """
    if len(query) > MOST_CHARS:
        return None
    talk, line = language_of(language).talk, fold(query.replace("’", "'"))
    begins = talk.asking.search(line)
    if begins is None:
        return None
    line = line[begins.start() :]
    if coming := _asked_ahead(line, language):
        return coming
    for pattern, predicates in _rules(language):
        if match := pattern.search(line):
            things = [thing for thing in match.groups() if thing]
            thing = things[0] if things else ""
            names = frozenset(predicates.replace("!", "").format(thing=thing).split())
            things = _kind_of(thing, language)
            names |= {name for one in things for name in _alike(one, language)}
            names |= {name.replace(thing, one) for name in names for one in things if thing}
            return AskedFact(
                names,
                thing,
                frozenset(keys(" ".join(things), language)),
                about_thing="!" in predicates,
                former=bool(talk.former.search(line)),
            )
    return None


def asked_about(query: str, name: str, language: str) -> AskedFact | None:
    """Return which fact about somebody else a question asks for: "where does Tom live?".

    Args:
        name: Of that person, folded; stands in the question.
    """
    said = _with_person(fold(query.replace("’", "'")), name)
    line = said
    for pattern, own in _others(language):
        line = pattern.sub(own, line)
    asked = asked_fact(line, language) if line != said else None
    return asked if asked and not asked.ahead else None


def _with_person(line: str, name: str) -> str:
    """Write one word for a name, so that no name needs patterns of its own."""
    words = line.split(" ")
    named = (word.startswith(name) and not word[len(name) :].strip("'s?!.,") for word in words)
    return " ".join(
        _PERSON + word[len(name) :] if found else word
        for word, found in zip(words, named, strict=True)
    )


@cache
def _others(language: str) -> tuple[tuple[re.Pattern[str], str], ...]:
    patterns = language_of(language).talk.others
    return tuple((re.compile(one.replace("{name}", _PERSON)), own) for one, own in patterns)


def _asked_ahead(line: str, language: str) -> AskedFact | None:
    """Return what is asked for by a question of what is ahead, or when it is."""
    talk = language_of(language).talk
    if not talk.ahead.search(line) or talk.past.search(line):
        return None
    about = keys(talk.ahead_words.sub(" ", line), language)
    named = bool(talk.when.search(line))
    return AskedFact(words=frozenset(about), ahead=True) if about or not named else None


def _alike(thing: str, language: str) -> frozenset[str]:
    """Return the predicates that name a thing otherwise: a dog is a pet, a wife a partner."""
    words = language_of(language).talk.alike
    return frozenset(name for name, things in words.items() if thing in things.split())


def _kind_of(thing: str, language: str) -> list[str]:
    """Return the words for a thing, its own first: a car is also a vehicle."""
    kinds = (kind.split() for kind in language_of(language).talk.synonyms)
    same = (word for kind in kinds if thing in kind for word in kind)
    return list(dict.fromkeys((thing, *same))) if thing else []


@cache
def _rules(language: str) -> tuple[tuple[re.Pattern[str], str], ...]:
    talk = language_of(language).talk
    return tuple((re.compile(pattern), names) for pattern, names in talk.asked)
