"""What is known of a user that lasts: the facts that hold, each once.

Most important is what a person would be asked first: health, diet, home, work and family. The
*profile* is a few fields, each with its sources; its line is part of every session preamble, and
changes only when a field does.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory.core.blocks.statements import (
    SourcedLine,
    is_of_another_day,
    is_ruled,
    to_lines,
    valid_of_kind,
)
from slowcat_memory.core.extraction.bounded_names import can_be_name, holds_false_name
from slowcat_memory.core.extraction.complements import is_everyday
from slowcat_memory.core.extraction.derived_text import keepable
from slowcat_memory.core.extraction.prompt_injection import doubt
from slowcat_memory.core.extraction.slots import PARTNERS, content
from slowcat_memory.core.facts.holding import claim_of
from slowcat_memory.core.language import ENGLISH, Language
from slowcat_memory.core.language.names import is_given_name
from slowcat_memory.core.memory import ENTITY, family
from slowcat_memory.core.render.repeats import Told
from slowcat_memory.core.text.normalize import fingerprint, fold, neutralise
from slowcat_memory.records import Memory, Statement

ENDED = timedelta(days=90)  # for which it matters that something is over
FRESH = timedelta(days=14)  # within which a statement is new
_PASSING = frozenset(("fact/open_thread", "fact/event", "fact/task_completed"))
_BY_KIND = {
    "fact/health": 0.3, "fact/work": 0.3, "fact/person": 0.2, "fact/preference": 0.1,
    "fact/other": -0.1,
}  # fmt: skip
# Who the user is; said once, these are never pushed out by what is newer.
_IDENTITY = frozenset(("lives_in", "works_at", "works_as", "job", "name", *PARTNERS))
_BY_PREDICATE = frozenset(
    ("diet", "allergic_to", "has_illness", "has_pet", "has_child", "has_daughter", "has_son", "age")
)
# Slots that rules read with high precision, by what their value must be.
_PEOPLE = frozenset(("has_son", "has_daughter", "has_brother", "has_sister", *PARTNERS))
_NAMED = frozenset(("lives_in", "works_at", "has_pet"))
_HEALTH = frozenset(("allergic_to", "health", "diet"))
_TASTES = frozenset(("likes", "loves", "dislikes"))
_TASTE = re.compile(r"(?!this |dies)[^\W\d_]+(?:[ -][^\W\d_]+){,2}", re.IGNORECASE)
_ONE_CLAUSE = re.compile(r"(?!.* (?:and|or|und|oder) )(?:I|ich)\b[^,;:]*", re.IGNORECASE)
_OCCUPATION = re.compile(r" (?:is an?|works as an?|ist(?: eine?)?|arbeitet als) ")
_BEGINS = re.compile(r" (?:starts?|starting|fängt|beginnt) ")  # is true until that day
_SELF, _KEY, _OWN, _NEW = 0.8, 0.3, 0.2, 0.2


def human(memories: Iterable[Memory], now: datetime | None = None) -> list[SourcedLine]:
    """Return lasting facts about the user that hold, oldest first, each once.

    Left out are what ended long ago, plans that have a day, and what was read out or reported. Of
    two that say the same the newer one stands.
    """
    facts = [
        m
        for m in valid_of_kind(memories, "fact", now)
        if m.kind not in _PASSING
        and not (m.kind == "fact/plan" and len(m.statement.date) > len("2026"))
        and not m.statement.reported
        and (now and now - m.valid_from < ENDED or not claim_of(m).over)
    ]
    known = {m.id: m for m in facts}
    lines = (line for line in to_lines(facts) if keepable(line.text))
    weighed = (_weighed(line, known[line.of], now) for line in lines)
    speakers = {m.speaker for m in facts}
    return sorted(_distinct(weighed, speakers), key=lambda line: line.at)


def plain(lines: Iterable[SourcedLine], memories: Sequence[Memory]) -> list[SourcedLine]:
    """Return the lines that may be stated although no LLM has read them."""
    sure = {m.id for m in memories if is_plain(m, claim_of(m))}
    return [line for line in lines if line.of in sure and not _BEGINS.search(line.text)]


def is_plain(memory: Memory, claim: Statement) -> bool:
    """Return whether a fact is one that rules seldom misread."""
    if not is_ruled(memory):
        return True
    if claim.over or fold(claim.subject) != fold(memory.speaker) or is_of_another_day(memory):
        return False
    first = claim.object.lower().removeprefix("the ").partition(" ")[0]
    if claim.predicate in _PEOPLE:
        return is_given_name(first)
    if claim.predicate in _NAMED:
        return not is_everyday(first)
    quote = memory.statement.quote.rstrip(" .!")
    if claim.predicate in _HEALTH:
        return not quote.endswith(f", {claim.object}")
    if not (_ONE_CLAUSE.fullmatch(quote) and quote.endswith(claim.object)):
        return False  # it goes on, is an item of a list, or true of several
    if claim.predicate == "works_as":
        return bool(_OCCUPATION.search(memory.text))
    plain = _TASTE.fullmatch(claim.object) and content(first)  # "the concert" was one evening
    return claim.predicate in _TASTES and bool(plain)


def named(memories: Iterable[Memory]) -> list[str]:
    """Return the names of the people, animals and things that are known."""
    entities = (m for m in memories if family(m.kind) == ENTITY and not m.retired_at)
    return [name for entity in entities if (name := entity.facets.get("name", ""))]


def chosen(lines: Sequence[SourcedLine], most: int) -> list[SourcedLine]:
    """Return the ``most`` weightiest lines (of equals, the newest), in their order."""
    order = sorted(range(len(lines)), key=lambda n: (-lines[n].weight, -n))
    return [lines[place] for place in sorted(order[:most])]


def by_importance(lines: Iterable[SourcedLine]) -> list[SourcedLine]:
    """Return lines with the weightiest first; of equals, the newest."""
    return sorted(lines, key=lambda line: (line.weight, line.at), reverse=True)


def _weighed(line: SourcedLine, memory: Memory, now: datetime | None) -> SourcedLine:
    claim = claim_of(memory)
    weight = line.weight + _BY_KIND.get(memory.kind, 0.0)
    weight += _KEY if claim.predicate in _BY_PREDICATE else 0.0
    own = fold(claim.subject) == fold(memory.speaker)
    weight += (_SELF if claim.predicate in _IDENTITY else _OWN) if own else 0.0
    at = memory.recorded_at or memory.valid_from
    weight += _NEW if now is not None and now - at < FRESH else 0.0
    return replace(line, weight=round(weight, 3))


def _distinct(lines: Iterable[SourcedLine], names: Iterable[str]) -> Iterator[SourcedLine]:
    """Yield the lines that none says too, the newest first."""
    told = Told(names)
    for line in sorted(lines, key=lambda line: line.at, reverse=True):
        if not told.repeats(line.text):
            told.add(line.text)
            yield line


# ------------------------------------------------------------------- the profile

PROFILE_VERSION = 1
VALUE_CHARS, MAX_VALUES = 60, 3
# Predicates by the field they fill, in the order of the line.
PROFILE_FIELDS: dict[str, tuple[str, ...]] = {
    "name": ("name", "is_called", "called"),
    "pronouns": ("pronouns",),
    "city": ("lives_in", "city", "address"),
    "time_zone": ("time_zone",),
    "language": ("language", "speaks", "native_language"),
    "work": ("works_as", "job"),
    "employer": ("works_at", "employer"),
    "partner": PARTNERS,
    "tone": ("tone", "prefers_tone", "preferred_tone"),
    "goals": ("goal", "goals", "wants", "wants_to", "plans_to", "aims_to"),
}
_FREE = frozenset({"tone", "goals"})  # fields of any words
SEVERAL = frozenset({"language", "goals"})  # fields of up to MAX_VALUES values


class ProfileField(Struct, frozen=True):
    """A field of a profile; several values are separated by ", ".

    ``sources`` are log ids of turns, ``of`` ids of memories that state it.
    """

    value: str
    sources: tuple[int, ...] = ()
    of: tuple[str, ...] = ()


def profile_of(
    memories: Iterable[Memory], user: str, now: datetime | None = None
) -> dict[str, ProfileField]:
    """Return profile fields by name from the predicates of facts about ``user``.

    The later of two values counts; goals and languages may have a few. What is over at ``now``, or
    said to be over, fills no field.
    """
    profile = dict[str, ProfileField]()
    for memory in valid_of_kind(memories, "fact", now):
        claim = claim_of(memory)
        fields = (name for name, known in PROFILE_FIELDS.items() if claim.predicate in known)
        field = "" if claim.over else next(fields, "")
        mine = fingerprint(claim.subject) in ("", fingerprint(user), "user", "the user", "i")
        plain = is_plain(memory, replace(claim, subject=memory.speaker))
        if field and mine and plain and _fits(field, claim.object):
            profile[field] = _with(profile.get(field) if field in SEVERAL else None, claim, memory)
    return profile


def profile_line(fields: Mapping[str, ProfileField], language: Language = ENGLISH) -> str:
    """Return a deterministic line: "called Anna; lives in Lisbon; speaks German"."""
    words = language.blocks.profile
    return "; ".join(
        words[name].format(neutralise(fields[name].value))
        for name in PROFILE_FIELDS
        if name in fields
    )


def _fits(field: str, value: str) -> bool:
    """Return whether a value can be one of a field: a few words, and a sentence only of a goal."""
    short = 0 < len(value.strip()) <= VALUE_CHARS
    if field in _FREE:
        return short and doubt(value) == 0 and not holds_false_name(f"is {value}")
    return short and can_be_name(value, person=True)


def _with(before: ProfileField | None, claim: Statement, memory: Memory) -> ProfileField:
    value = claim.object.strip(" .,;")
    known = before or ProfileField("")
    values = [
        part for part in known.value.split(", ") if part and fingerprint(part) != fingerprint(value)
    ]
    return ProfileField(
        value=", ".join([*values, value][-MAX_VALUES:]),
        sources=tuple(sorted({*known.sources, *memory.sources})),
        of=tuple(dict.fromkeys((*known.of, memory.id))),
    )
