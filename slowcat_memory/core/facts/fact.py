"""The stored form of a fact: a plain sentence about somebody, with its evidence.

Recall never returns a fact itself. Its index key leads to the chunk of its turn, so the LLM is
given the user's own words.
"""

import re
from datetime import datetime
from typing import Literal

from msgspec.structs import replace

from slowcat_memory.core.extraction.derived_text import keepable
from slowcat_memory.core.extraction.slots import PARTNERS, canonical, object_type, statement_of
from slowcat_memory.core.language import of_any, words_of_any
from slowcat_memory.core.memory import FACT, NOTE, QUARANTINED, chunk_id, family
from slowcat_memory.core.text.normalize import fingerprint, fold, hex_digest
from slowcat_memory.records import Key, Made, Memory, Statement, Turn

TYPES = (
    "preference", "decision", "task_completed", "open_thread", "person", "event",
    "work", "health", "plan", "possession", "opinion", "other",
)  # fmt: skip
# Types that may be time-bound: these have a date.
DATED = frozenset({"event", "open_thread", "task_completed", "decision", "plan"})
MIN_WORDS, MAX_WORDS = 2, 60  # of a fact
STATED_BY = "stated"  # facet: log ids of the turns that say it, if more than one was merged


_META = re.compile(rf"\b(?:{of_any(lambda language: language.facts.reported)})\b", re.IGNORECASE)
_PASSING = re.compile(rf"\b(?:{of_any(lambda language: language.facts.passing)})\b", re.IGNORECASE)
_SUBJECT = re.compile(r"^\W*([A-ZÄÖÜ][\w'-]*?)(?:['’]s)?\b")

_ONE_OFF = re.compile(rf"\b(?:{of_any(lambda language: language.facts.one_off)})", re.IGNORECASE)

Transient = Literal["length", "order", "meta", "passing"]


class ExtractedFact(Statement, frozen=True, kw_only=True):
    """A fact extracted from a turn and checked against it.

    Attributes:
        turn: The turn that states it.
        type: One of ``TYPES``, or a word of the extractor's own.
        content: A plain sentence in the third person.
        since: Since when it is true.
        sources: Log ids of the turns that it was made from, the turn's own first.
        why: Why it is quarantined; "" if it is not.
    """

    turn: Turn
    type: str
    content: str
    since: datetime
    sources: tuple[int, ...]
    why: str = ""


def fact_id(scope: str, content: str, source: int) -> str:
    """Return the memory id of a fact: equal for the same words of the same turn."""
    parts = "\0".join((scope, fold(content), str(source)))
    return f"{FACT}/{hex_digest(parts)}"


def fact_memory(drawn: ExtractedFact, now: datetime, made: Made) -> Memory:
    """Return a fact as a memory, without the marks that it inherits when it is written."""
    scope = drawn.turn.scope
    return Memory(
        id=fact_id(scope, drawn.content, drawn.turn.id),
        kind=QUARANTINED if drawn.why else f"{FACT}/{drawn.type}",
        scope=scope,
        speaker=drawn.turn.speaker,
        text=drawn.content,
        valid_from=drawn.since,
        recorded_at=now,
        sources=drawn.sources,
        importance=fact_importance(drawn.type, drawn, drawn.content),
        statement=statement_of(drawn),
        facets={"why": drawn.why} if drawn.why else {},
        made=made,
    )


def fact_key(fact: Memory) -> Key | None:
    """Return a fact's index key; None if uncertain, quarantined, superseded or without a turn."""
    held = is_fact(fact) and fact.retired_at is None and fact.sources
    if not held or fact.statement.confidence == "low":
        return None
    return Key(
        scope=fact.scope,
        memory=chunk_id(fact.sources[0]),
        id=key_id(fact),
        kind=FACT,
        text=fact.text,
        sources=fact.sources,
        made=fact.made,
    )


def key_id(fact: Memory) -> str:
    """Return the id of a fact's key, whether or not it has one."""
    source = fact.sources[0] if fact.sources else 0
    return f"{chunk_id(source)}?f{fact.id.partition('/')[2]}"


def stating_turns(fact: Memory) -> tuple[int, ...]:
    """Return the log ids of the turns that state a fact, the one that it was read from first.

    Its other sources only helped to understand these.
    """
    kept = fact.facets.get(STATED_BY, "").split()
    return tuple(int(id_) for id_ in kept if id_.isdigit()) or fact.sources[:1]


def order_of(fact: Memory) -> tuple[int, datetime, str]:
    """Return the place of a fact among others, by when they were stated last."""
    return max(stating_turns(fact), default=0), fact.valid_from, fact.id


def stated_in(fact: Memory) -> tuple[str, ...]:
    """Return the ids of what states a fact: the note that it was read from, else chunks."""
    notes = tuple(
        id_ for scope, id_ in fact.derived_from if scope == fact.scope and family(id_) == NOTE
    )
    return notes or tuple(map(chunk_id, stating_turns(fact)))


def is_fact(memory: Memory) -> bool:
    """Return whether a memory is a fact that is not quarantined."""
    return family(memory.kind) == FACT and memory.kind != QUARANTINED


def subject_of(fact: Memory) -> str:
    """Return what a fact is about, folded; "" if that is unknown."""
    return fold(subject_name(fact))


def subject_name(fact: Memory) -> str:
    """Return the name of what a fact is about, else the first word of its sentence, or ""."""
    match = _SUBJECT.search(fact.text)
    return fact.statement.subject or (match[1] if match else "")


def type_of(fact: Memory) -> str:
    """Return the type of a fact: "preference" of "fact/preference"."""
    return fact.kind.partition("/")[2]


def add_sources(fact: Memory, by: Memory) -> Memory:
    """Return a fact with the sources of an equal one added."""
    sources = tuple(dict.fromkeys((*fact.sources, *by.sources)))
    stated = dict.fromkeys((*stating_turns(fact), *stating_turns(by)))
    facets = fact.facets | {STATED_BY: " ".join(map(str, stated))}
    return replace(fact, sources=sources, facets=facets)


def why_transient(type_: str, content: str) -> Transient | None:
    """Return why a third-person sentence is not a lasting fact of a type; None if it is one.

    The gate of requirements V05 and F10: nothing time-bound, no one-off action, no question about
    the agent's abilities. Dated events and open tasks are fact types of their own and may pass, as
    does anything that a user asked to keep.
    """
    if not MIN_WORDS <= len(content.split()) <= MAX_WORDS:
        return "length"
    if not keepable(content):
        return "order"
    if _META.search(content):
        return "meta"
    if type_ != "open_thread" and _ONE_OFF.search(content):
        return "passing"
    return "passing" if type_ not in DATED and _PASSING.search(content) else None


HIGH, ORDINARY, LOW = 0.7, 0.5, 0.3
_BY_TYPE = {"health": HIGH, "preference": LOW, "opinion": LOW, "habit": LOW}
_WEIGHTY_PREDICATES = frozenset({"allergic_to", "health", "condition", "medication", *PARTNERS})
_WEIGHTY = words_of_any(lambda language: language.facts.weighty)


def fact_importance(type_: str, claim: Statement, sentence: str) -> float:
    """Return the importance of a fact, 0 to 1.

    Args:
        type_: One of ``fact.TYPES``, or a word of the extractor's own.
        claim: What it states in parts; its predicate may be "".
        sentence: Its text.
    """
    predicate = canonical(claim.predicate)
    family = object_type(predicate) == "person" and predicate != "friend_of"
    weighty = not _WEIGHTY.isdisjoint(fingerprint(sentence).split())
    if predicate in _WEIGHTY_PREDICATES or family or weighty:
        return HIGH
    return _BY_TYPE.get(type_, ORDINARY)
