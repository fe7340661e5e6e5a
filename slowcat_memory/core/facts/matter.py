"""What a fact is about, and whether a later one can have taken its place.

Days and numbers are values of a matter: "the party is on 9 May" and "the party is on 16 May" are
about one. An LLM that compares two facts may be wrong, so that its verdict is used only where the
words show a common matter, and a change of it.
"""

import re
from collections.abc import Callable
from datetime import datetime

from msgspec.structs import asdict, replace

from slowcat_memory.core.extraction.derived_text import keepable
from slowcat_memory.core.extraction.grounding import one_line
from slowcat_memory.core.extraction.slots import content, exclude, opposed
from slowcat_memory.core.facts.fact import (
    MAX_WORDS,
    STATED_BY,
    add_sources,
    fact_id,
    stating_turns,
    subject_name,
    type_of,
)
from slowcat_memory.core.facts.holding import COMING, claim_of
from slowcat_memory.core.language import LANGUAGES, of_any, words_of_any
from slowcat_memory.core.memory import supersede
from slowcat_memory.core.text.normalize import fingerprint, fold
from slowcat_memory.core.text.numerals import number_of
from slowcat_memory.core.time.written_dates import MONTHS, PATTERN, written_date, written_dates
from slowcat_memory.records import Made, Memory

DONE = "task_completed"
STEM = 6  # letters that the forms of a word, or a compound and its beginning, have in common
LEAST = 3  # letters of a word that names something
ALIKE = 0.5  # share of the words of two facts that only differ in a value
Tokenize = Callable[[str], list[str]]
Day = tuple[int, int, int]  # year, month, day; 0 for unknown

_WEEKDAYS = re.compile(
    rf"\b(?:{'|'.join(name for language in LANGUAGES for name in language.dates.weekdays)})s?\b",
    re.IGNORECASE,
)
# A month without a day, and the word that leads to it.
_BARE_MONTH = re.compile(
    rf"\b(?:in|im|since|seit|until|till|bis|by|from|ab|this|next)\s+({'|'.join(MONTHS)})\b"
    r"(?:,?\s+\d{4}\b)?(?!\.?\s+\d)",
    re.IGNORECASE,
)
_EDGES = ".,;:!?"
_DIGITS = re.compile(r"\d+(?:[.,:/-]\d+)*")
_NAMES = re.compile(r"(?<![.!?]\s)(?<!^)\b[A-ZÄÖÜ][\w'-]+")
_CHANGE = tuple(language.talk.change for language in LANGUAGES)
_DENIED = re.compile(of_any(lambda table: table.facts.denied), re.IGNORECASE)
_OFF = re.compile(
    rf"(?<!\w)(?:{of_any(lambda table: f'{table.proactive.off}|{table.proactive.moved}')})(?!\w)",
    re.IGNORECASE,
)


_EMPTY = words_of_any(lambda table: table.talk.empty.union(table.proactive.generic.split()))


def days_in(text: str) -> frozenset[Day]:
    """Return the days and months that a text names, without weekdays."""
    bare = _BARE_MONTH.findall(_without_dates(text))
    dates = ((date.year, date.month, date.day) for date in written_dates(text) if date.month)
    return frozenset((*dates, *((0, MONTHS[m], 0) for m in map(str.lower, bare) if m in MONTHS)))


def days_differ(text: str, other: str) -> bool:
    """Return whether two texts name other days; a year or a day that one lacks is no difference."""
    mine, theirs = days_in(text), days_in(other)
    if not mine or not theirs:
        return False
    return any(
        all(any(a and b and a != b for a, b in zip(day, known, strict=True)) for known in theirs)
        for day in mine
    )


def without_days(text: str) -> str:
    return " ".join(_WEEKDAYS.sub(" ", _without_dates(_BARE_MONTH.sub(" ", text))).split())


def _without_dates(text: str) -> str:
    """Return a text without its dates; a year alone is a number."""
    return PATTERN.sub(lambda match: " " if written_date(match).month else match[0], text)


def numbers(text: str) -> frozenset[str]:
    """Return the numbers of a text, in digits or words, without those of days."""
    bare = without_days(text)
    words = (word.lower().strip(_EDGES) for word in bare.split())
    return frozenset(filter(None, (*map(_in_digits, words), *_DIGITS.findall(bare))))


def without_values(text: str) -> str:
    """Return a text without its days and numbers."""
    words = _DIGITS.sub(" ", without_days(text)).split()
    return " ".join(word for word in words if not _in_digits(word.lower().strip(_EDGES)))


def _in_digits(word: str) -> str:
    """Return a number in words as digits; "" for other words, ordinals, and an article ("one")."""
    number, ordinal = number_of(word) or (1, False)
    return "" if ordinal or number == 1 else str(number)


def values_differ(text: str, other: str) -> bool:
    return numbers(text) != numbers(other) or days_differ(text, other)


def is_denied(text: str) -> bool:
    return len(_DENIED.findall(text)) % 2 == 1


def names(text: str) -> frozenset[str]:
    """Return the names within a text, folded; months and weekdays are none."""
    return frozenset(name.lower() for name in _NAMES.findall(without_days(text)))


def says_change(fact: Memory) -> bool:
    """Return whether a fact or its quote says that something is different from before."""
    text = f"{fact.text} {fact.statement.quote}".replace("’", "'")
    return bool(_OFF.search(text)) or any(pattern.search(fold(text)) for pattern in _CHANGE)


def matter_of(fact: Memory, tokenize: Tokenize) -> frozenset[str]:
    """Return the beginnings of the words that tell what a fact is about, without its subject."""
    subject = set(fingerprint(subject_name(fact)).split()) | {fold(fact.speaker)}
    words = (word for word in fingerprint(without_values(fact.text)).split())
    own = [word for word in words if word not in _EMPTY and word not in subject]
    stems = {stem for word in own for stem in tokenize(word)}
    return frozenset(stem[:STEM] for stem in stems if len(stem) >= LEAST)


def shares_matter(newer: Memory, older: Memory, tokenize: Tokenize) -> bool:
    """Return whether two facts have a word in common that tells what they are about."""
    return not matter_of(newer, tokenize).isdisjoint(matter_of(older, tokenize))


def may_replace(newer: Memory, older: Memory, tokenize: Tokenize) -> bool:
    """Return whether the words of two facts allow that the newer took the older one's place."""
    new, old = claim_of(newer), claim_of(older)
    if new.predicate and old.predicate and exclude(new, old):
        return True
    mine, theirs = matter_of(newer, tokenize), matter_of(older, tokenize)
    shared = mine & theirs
    if not shared:
        return False
    if says_change(newer) or new.over != old.over or opposed(new, old):
        return True
    if is_denied(newer.text) != is_denied(older.text) or tells_outcome(newer, older):
        return True
    own, other = names(newer.text), names(older.text)
    if own - other and other - own:
        return False
    if values_differ(newer.text, older.text):
        return shared in (mine, theirs) or len(shared) > ALIKE * len(mine | theirs)
    return len(shared) > ALIKE * min(len(mine), len(theirs))


def tells_outcome(newer: Memory, older: Memory) -> bool:
    """Return whether a fact can tell what became of something that lay ahead: it is done, or past."""
    if type_of(older) not in COMING:
        return False
    if type_of(newer) == DONE:
        return True
    day = older.statement.last or older.statement.date
    stated, told = newer.valid_from.date().isoformat(), newer.statement.date
    if type_of(newer) in COMING and told > stated:  # it lies ahead itself
        return False
    return bool(day) and day <= max(stated, told) and (not told or told >= day)


# "Anna has a dog called Rex" and "Anna has a three-year-old dog" may become "Anna has a
# three-year-old dog called Rex". An LLM writes the sentence; it is used only if it adds nothing to
# the two and loses nothing of them.
_JOINING = words_of_any(lambda table: table.facts.joining)


def join(
    older: Memory, newer: Memory, text: str, now: datetime, made: Made, tokenize: Tokenize
) -> tuple[Memory, ...]:
    """Return the fact with a joined text, and the two that it replaces.

    It has the sources of both, so it goes when either turn is forgotten.

    Returns:
        Nothing if the text may not stand for the two.
    """
    text = one_line(text)
    stated = _words(f"{older.text} {newer.text}", tokenize)
    whole = keepable(text) and len(text.split()) <= MAX_WORDS and _words(text, tokenize) == stated
    if not whole or not _are_parts(older, newer):
        return ()
    fuller = max((newer.statement, older.statement), key=lambda claim: len(content(claim.object)))
    turns = " ".join(map(str, stating_turns(newer)))
    parts = {name: value for name, value in asdict(newer.statement).items() if value}
    both = replace(
        newer,
        id=fact_id(newer.scope, text, newer.sources[0] if newer.sources else 0),
        text=text,
        valid_from=min(older.valid_from, newer.valid_from),
        recorded_at=now,
        importance=max(older.importance, newer.importance),
        pinned=older.pinned or newer.pinned,
        local_only=older.local_only or newer.local_only,
        muted=older.muted or newer.muted,
        statement=replace(older.statement, **parts | {"object": fuller.object}),
        facets=older.facets | newer.facets | {STATED_BY: turns},
        made=made,
        derived_from=tuple((fact.scope, fact.id) for fact in (newer, older)),
    )
    kept = add_sources(both, older)
    return kept, *(supersede(fact, kept, now, same=True) for fact in (older, newer))


def say_parts(older: Memory, newer: Memory, tokenize: Tokenize) -> bool:
    """Return whether each of two facts says something of one thing that the other does not.

    "works at Acme as a cook" and "works at Acme since May" do. Words before a common object do not
    count: they say the same as the predicate.
    """
    claim, other = claim_of(newer), claim_of(older)
    if not claim.predicate or claim.predicate != other.predicate or exclude(claim, other):
        return False
    shared, longer = sorted((claim.object, other.object), key=len)
    if not shared or not content(shared) <= content(longer):
        return False
    mine, theirs = (_details(fact.text, shared, tokenize) for fact in (newer, older))
    return bool(mine - theirs) and bool(theirs - mine)


def _details(text: str, object_: str, tokenize: Tokenize) -> set[str]:
    """Return the words of a sentence behind its object; none if the object does not occur."""
    _, match, behind = f" {fingerprint(text)} ".partition(f" {fingerprint(object_)} ")
    return _words(behind, tokenize) if match else set()


def _are_parts(older: Memory, newer: Memory) -> bool:
    """Return whether two facts can both be true of one thing."""
    claim, other = claim_of(newer), claim_of(older)
    doubtful = "low" in (claim.confidence, other.confidence)
    alike = type_of(older) == type_of(newer) and fold(subject_name(older)) == fold(
        subject_name(newer)
    )
    return alike and not doubtful and claim.over == other.over and not exclude(claim, other)


def _words(text: str, tokenize: Tokenize) -> set[str]:
    """Return the stems of a text, its negations and numbers too, without words that join."""
    words = (word for word in fingerprint(text).split() if word not in _JOINING)
    return {stem for word in words for stem in tokenize(word) or (word,)}
