"""One sentence for two facts that state different parts of one thing.

"Anna has a dog called Rex" and "Anna has a three-year-old dog" may become "Anna has a
three-year-old dog called Rex". An LLM writes the sentence; it is used only if it adds nothing to the
two and loses nothing of them.
"""

from collections.abc import Callable
from datetime import datetime

from msgspec.structs import asdict, replace

from slowcat_memory.core.extraction.checks.derived_text import keepable
from slowcat_memory.core.extraction.slots import content, exclude
from slowcat_memory.core.facts.fact import (
    MAX_WORDS,
    STATED_BY,
    add_sources,
    fact_id,
    stating_turns,
    subject_name,
    type_of,
)
from slowcat_memory.core.facts.holding import claim_of
from slowcat_memory.core.language import LANGUAGES
from slowcat_memory.core.text.normalize import clean, fingerprint, fold
from slowcat_memory.core.validity import supersede
from slowcat_memory.records import Made, Memory

_JOINING = frozenset[str]().union(*(one.facts.joining for one in LANGUAGES))
Tokenize = Callable[[str], list[str]]


def join(
    older: Memory, newer: Memory, text: str, now: datetime, made: Made, tokenize: Tokenize
) -> tuple[Memory, ...]:
    """Return the fact with a joined text, and the two that it replaces.

    It has the sources of both, so it goes when either turn is forgotten.

    Returns:
        Nothing if the text may not stand for the two.
    """
    text = " ".join(clean(text)[0].split())
    if not _are_parts(older, newer) or not _is_joined(text, older, newer, tokenize):
        return ()
    fuller = max((newer.statement, older.statement), key=lambda one: len(content(one.object)))
    stated = " ".join(map(str, stating_turns(newer)))
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
        facets=older.facets | newer.facets | {STATED_BY: stated},
        made=made,
        derived_from=tuple((one.scope, one.id) for one in (newer, older)),
    )
    kept = add_sources(both, older)
    return kept, *(supersede(one, kept, now, same=True) for one in (older, newer))


def say_parts(older: Memory, newer: Memory, tokenize: Tokenize) -> bool:
    """Return whether each of two facts says something of one thing that the other does not.

    "works at Acme as a cook" and "works at Acme since May" do. Words before a common object do not
    count: they say the same as the predicate.
    """
    one, other = claim_of(newer), claim_of(older)
    if not one.predicate or one.predicate != other.predicate or exclude(one, other):
        return False
    shared, longer = sorted((one.object, other.object), key=len)
    if not shared or not content(shared) <= content(longer):
        return False
    mine, theirs = (_details(fact.text, shared, tokenize) for fact in (newer, older))
    return bool(mine - theirs) and bool(theirs - mine)


def _details(text: str, object_: str, tokenize: Tokenize) -> set[str]:
    """Return the words of a sentence behind its object; none if the object does not occur."""
    _, found, behind = f" {fingerprint(text)} ".partition(f" {fingerprint(object_)} ")
    return _words(behind, tokenize) if found else set()


def _are_parts(older: Memory, newer: Memory) -> bool:
    """Return whether two facts can both be true of one thing."""
    one, other = claim_of(newer), claim_of(older)
    doubtful = "low" in (one.confidence, other.confidence)
    alike = type_of(older) == type_of(newer) and fold(subject_name(older)) == fold(
        subject_name(newer)
    )
    return alike and not doubtful and one.over == other.over and not exclude(one, other)


def _is_joined(text: str, older: Memory, newer: Memory, tokenize: Tokenize) -> bool:
    """Return whether a text has the words of two facts, and no others but words that join."""
    stated = _words(f"{older.text} {newer.text}", tokenize)
    return keepable(text) and len(text.split()) <= MAX_WORDS and _words(text, tokenize) == stated


def _words(text: str, tokenize: Tokenize) -> set[str]:
    """Return the stems of a text, its negations and numbers too, without words that join."""
    said = (word for word in fingerprint(text).split() if word not in _JOINING)
    return {stem for word in said for stem in tokenize(word) or (word,)}
