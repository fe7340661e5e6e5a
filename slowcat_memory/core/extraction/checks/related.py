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
    kind_at,
    owned_by_another,
    owner_before,
    same,
    tokens,
    words_in,
    words_of_languages,
)
from slowcat_memory.core.extraction.checks.contradicted import denied_words, stands_apart
from slowcat_memory.core.language import LANGUAGES
from slowcat_memory.core.language.facts import PersonWords
from slowcat_memory.core.text_caches import text_cache
from slowcat_memory.records import Turn

# Predicates that hold in both directions.
_MUTUAL = frozenset("married_to friend_of engaged_to has_partner has_husband has_wife has_friend "
                    "has_boyfriend has_girlfriend has_colleague".split())  # fmt: skip
_TASTES = frozenset({"likes", "dislikes", "prefers"})
_PLACED = frozenset({"located_in", "based_in", "in", "part_of", "located_at", "is_in"})
_KEPT_BY_THE = frozenset({"the", "der", "die", "das", "den", "dem"})
_LEAD = 4  # words before a quote that belong to it
_LEADING = 2  # words before an answer: "yes exactly"


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


def unrelated(one: Related, turn: Turn, people: Iterable[str] = (), before: str = "") -> bool:
    """Return whether a turn's quoted words do not show a relation.

    Args:
        people: Names of people and animals, also in lower case.
        before: What was said before, which a turn without a verb may answer or correct.
    """
    said = tokens(turn.text)
    span = find(words_in(one.quote), said)
    if span is None or _is_denied(one):
        return True
    languages = words_of_languages(turn.text)
    names = (*people, one.subject, one.object)
    asked = about(one.subject, turn.speaker, names)
    if _placed(one, said, span):
        return False
    if not any(one.predicate in words.evidence for words in languages):
        return not _named_so(one, turn, said, span)
    if _answers(said, span, asked, languages) and evidence(one.predicate).search(before):
        return False
    return all(
        not _shows(one, asked, turn, names, said, span, words)
        for words in languages
        if one.predicate in words.evidence
    )


def uncertain(one: Related, turn: Turn, people: Iterable[str] = ()) -> bool:
    """Return whether a relation without words of evidence may be what the speaker says of themselves.

    Evidence is a list of words, and no list has them all. In the speaker's own clause, about a
    thing that it names, an LLM is believed with low confidence: such a relation is not brought up,
    but an older one that contradicts it does not hold on beside it. So that ringing a firm ends no
    employment, anything but a taste needs a sign that something is new.
    """
    said = tokens(turn.text)
    span = find(words_in(one.quote), said)
    asked = about(one.subject, turn.speaker, (*people, one.subject, one.object))
    taste = one.predicate in _TASTES
    if span is None or not asked.speaker or _is_denied(one) or not (taste or _is_own(one)):
        return False
    at, languages = _object_at(one, said, span), words_of_languages(turn.text)
    if at is None or not all(
        _evidence_at(one, said, span, words.evidence.get(one.predicate, "(?!)")) is None
        for words in languages
    ):
        return False
    new = any(re.search(rf"\b(?:{words.of_now})", turn.text, re.IGNORECASE) for words in languages)
    return any(
        (taste or new and _has_speaker(said, span, words)) and fits(said, at, asked, words)
        for words in languages
    )


def _is_own(one: Related) -> bool:
    """Return whether a predicate is about one person alone: another's part needs evidence."""
    return not one.predicate.startswith("has_") and one.predicate not in _MUTUAL


def _has_speaker(said: Sequence[Token], span: range, words: PersonWords) -> bool:
    own = words.sets["i"] | words.sets["we"] | words.sets["me"] | words.sets["my"]
    return any(said[place].word in own for place in span)


def _answers(
    said: Sequence[Token], span: range, asked: Asked, languages: Sequence[PersonWords]
) -> bool:
    """Return whether a quote is the speaker's answer in a few words: "in Ohio"."""
    start = [one for one in said[: span.start] if one.word[:1].isalnum()]
    if not asked.speaker or len(start) > _LEADING:
        return False
    kinds = ("i", "we", "third", "many", "kin")
    return not any(
        kind_at(said, place, asked, words) in kinds or said[place].word in words.sets["verbs"]
        or said[place].clitic
        for words in languages for place in span
    )  # fmt: skip


def _is_denied(one: Related) -> bool:
    """Return whether a quote denies a relation that does not say so itself."""
    if one.over or one.predicate in _DENYING:
        return False
    denied = denied_words(one.quote)
    wanted = {*words_in(one.object)}
    shown = [word for word in denied if evidence(one.predicate).search(word)]
    if shown and stands_apart(wanted, one.quote):
        return False
    return bool(shown) or any(same(word, other) for word in denied for other in wanted)


_DENYING = frozenset({"dislikes", "allergic_to", "avoids", "fears", "lacks", "cannot", "diet"})


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
        return not _of_others(one, said, place, words, asked) and any(
            _owns(one, said, place, who, words) for who in directions
        )
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


def _of_others(
    one: Related, said: Sequence[Token], place: int, words: PersonWords, asked: Asked
) -> bool:
    """Return whether the clause of the evidence names others, and neither of the two."""
    if one.predicate in ("has_pet", "owns"):
        return False
    start, end = place, place
    while start > 0 and said[start - 1].word[:1].isalnum():
        start -= 1
    while end + 1 < len(said) and said[end + 1].word[:1].isalnum():
        end += 1
    part = range(start, end + 1)
    two = {*words_in(one.subject), *words_in(one.object)}
    if any(said[n].word in two for n in part):
        return False
    others = [n for n in part if kind_at(said, n, asked, words) == "name"]
    return bool(others)
