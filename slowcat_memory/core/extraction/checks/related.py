"""Whether the words that an LLM quotes for a relation show it: its predicate, its object, and whose.

"I have to give notice to Gareth" marries nobody: each canonical predicate has words of evidence
(`PersonWords.evidence`), and what stands next to them must be able to be the subject's.
"""

import re
from collections.abc import Iterable, Sequence
from functools import cache

from msgspec import Struct

from slowcat_memory.core.extraction.checks.attributed import (
    Asked,
    Token,
    about,
    find,
    fits,
    owned_by_another,
    owner_before,
    same,
    tokens,
    words_in,
    words_of_languages,
)
from slowcat_memory.core.language import LANGUAGES
from slowcat_memory.core.language.facts import PersonWords
from slowcat_memory.core.text_caches import text_cache
from slowcat_memory.records import Turn

# Predicates that hold in both directions.
_MUTUAL = frozenset("married_to friend_of engaged_to has_partner has_husband has_wife has_friend "
                    "has_boyfriend has_girlfriend has_colleague".split())  # fmt: skip
_PLACED = frozenset({"located_in", "based_in", "in", "part_of", "located_at", "is_in"})
_KEPT_BY_THE = frozenset({"the", "der", "die", "das", "den", "dem"})
_LEAD = 4  # words before a quote that belong to it


class Related(Struct, frozen=True):
    """A relation as an LLM wrote it.

    Attributes:
        predicate: In its canonical form.
        written: As the LLM named it.
        over: Whether it has ended: an ex-husband was a husband.
    """

    subject: str
    predicate: str
    written: str
    object: str
    quote: str
    over: bool = False


def unrelated(one: Related, turn: Turn, people: Iterable[str] = ()) -> bool:
    """Return whether a turn's quoted words do not show a relation.

    Args:
        people: Names of people and animals, also in lower case.
    """
    said = tokens(turn.text)
    span = find(words_in(one.quote), said)
    if span is None:
        return True
    languages = words_of_languages(turn.text)
    names = (*people, one.subject, one.object)
    asked = about(one.subject, turn.speaker, names)
    if _placed(one, said, span):
        return False
    if not any(one.predicate in words.evidence for words in languages):
        return not _named_so(one, turn, said, span)
    return all(
        not _shows(one, asked, turn, names, said, span, words)
        for words in languages
        if one.predicate in words.evidence
    )


@text_cache(256)  # an LLM may name a predicate as it likes
def evidence(predicate: str) -> re.Pattern[str]:
    """Return the words for a predicate in any language; none match for an unknown one."""
    known = [one.persons.evidence.get(predicate, "") for one in LANGUAGES]
    pattern = "|".join(filter(None, known))
    return re.compile(rf"\b(?:{pattern})" if pattern else r"(?!)", re.IGNORECASE)


@cache
def _of_language(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w-])(?:{pattern})", re.IGNORECASE)


def _placed(one: Related, said: Sequence[Token], span: range) -> bool:
    """Return whether two names of a quote say where a thing is: "Corrib Vets in Galway"."""
    names = {*words_in(one.subject), *words_in(one.object)}
    there = {said[place].word for place in span}
    written = "_".join(words_in(one.written.replace("_", " ")))
    return written in _PLACED and len(names & there) > 1


def _named_so(one: Related, turn: Turn, said: Sequence[Token], span: range) -> bool:
    """Return whether a turn has a word of an unknown predicate, or its quote both names."""
    parts = [part for part in one.predicate.split("_") if len(part) > 2]
    if any(same(part, token.word) for part in parts for token in said):
        return True
    there = {said[place].word for place in span}
    both = [set(words_in(name)) for name in (one.subject, one.object)]
    own = {*words_in(turn.speaker)}
    return all(there & name or name <= own for name in both)


def _shows(
    one: Related,
    asked: Asked,
    turn: Turn,
    names: Sequence[str],
    said: Sequence[Token],
    span: range,
    words: PersonWords,
) -> bool:
    """Return whether the evidence for a relation stands in a quote, and is the subject's."""
    place = _evidence_at(one, said, span, words.evidence[one.predicate])
    if place is None:
        return False
    directions = [asked]
    if one.predicate in _MUTUAL:
        directions.append(about(one.object, turn.speaker, names))
    owned = one.predicate.startswith("has_") or one.predicate in (*_MUTUAL, "owns")
    if owned:
        return any(_owns(one, said, place, who, words) for who in directions)
    at = _object_at(one, said, span)
    return fits(said, place if at is None else at, asked, words)


def _evidence_at(one: Related, said: Sequence[Token], span: range, pattern: str) -> int | None:
    """Return the place of a predicate's evidence in a quote or the words that lead to it."""
    lead = span.start
    while lead > max(0, span.start - _LEAD) and said[lead - 1].word[:1].isalnum():
        lead -= 1
    for start in (span.start, lead):
        places = range(start, span.stop)
        text = " ".join(said[place].word + said[place].clitic for place in places)
        if one.over:
            text = re.sub(r"\bex (?=\w)", "", text)
        if found := _of_language(pattern).search(text):
            return places[text.count(" ", 0, found.start())]
    return None


def _object_at(one: Related, said: Sequence[Token], span: range) -> int | None:
    wanted = words_in(one.object)
    return next((n for n in span for word in wanted if same(said[n].word, word)), None)


def _owns(one: Related, said: Sequence[Token], place: int, who: Asked, words: PersonWords) -> bool:
    """Return whether somebody can be the owner of what stands at a place."""
    at = place
    if one.predicate in ("has_pet", "owns"):
        wanted = words_in(one.object)
        near = [n for n, token in enumerate(said) if any(same(token.word, w) for w in wanted)]
        at = min(near, key=lambda n: abs(n - place), default=place)
        if at and said[at - 1].word in _KEPT_BY_THE and not _my_between(said, place, at, words):
            return False
    owner = owner_before(said, at, who, words)
    if owner is not None:
        return not owned_by_another(said, at, who, words)
    return fits(said, place, who, words)


def _my_between(said: Sequence[Token], place: int, at: int, words: PersonWords) -> bool:
    sets = words.sets
    owners = sets["my"] | sets["his"] | sets["her"]
    return any(one.word in owners for one in said[place:at])
