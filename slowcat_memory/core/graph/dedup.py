"""Decides whether two names mean one entity: four stages, cheapest first; the first match decides.

1. *exact*: equal reduced names (see `names`), microseconds.
2. *fuzzy*: spellings of one name, by rapidfuzz and by sound.
3. *embedding*: synonyms of things; never for people, whose names have no meaning.
4. *rule*: a person or an order, by identifiers: e-mail, telephone, number.

Conflicting identifiers are a *veto*, checked first: two Johns with two addresses are two people. A
missing value is ignored (requirements, 1.6 row 26).
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from msgspec import Struct, field
from rapidfuzz.distance import OSA

from slowcat_memory.core.extraction.options import DedupOptions
from slowcat_memory.core.graph.names import Name, names, same_given, same_surname
from slowcat_memory.core.language.english.vocabulary import PARTS, QUALITIES
from slowcat_memory.core.language.names import is_ordinary, spelt_alike

Stage = Literal["exact", "fuzzy", "embedding", "rule"]
Similarity = Callable[[str, str], float]
IDENTIFYING = ("email", "phone", "order_id", "sku", "serial", "iban", "id")
_NOT_DIGITS = re.compile(r"\D+")
_OWN_NAMES = 0.07  # more of the cosine for organisations: their names mean little
_SURNAMED = frozenset("dr prof mr mrs miss sgt capt lt col judge coach pastor rev".split())
_LAST_DIGITS = 8  # of a telephone number, with or without its country


class Candidate(Struct, frozen=True):
    """A name to compare; ``also`` has other names of its entity, ``attributes`` its e-mail etc."""

    name: str
    kind: str
    attributes: Mapping[str, str] = field(default_factory=dict)
    also: tuple[str, ...] = ()


def same(
    entity: Candidate,
    other: Candidate,
    similar: Similarity | None = None,
    options: DedupOptions = DedupOptions(),
) -> Stage | None:
    """Return the stage that matches two names, or None; ``similar`` is None without a model."""
    if entity.kind != other.kind:
        return None
    identified = _identified(entity.attributes, other.attributes)
    if identified is False:
        return None
    for first, second in _pairs(entity, other):
        if stage := _by_name(first, second, entity.kind, options):
            return stage
    if identified and options.rule:
        return "rule"
    return "embedding" if _by_vector(entity, other, similar, options) else None


def _pairs(entity: Candidate, other: Candidate) -> list[tuple[Name, Name]]:
    return [
        (first, second)
        for mine in (entity.name, *entity.also)
        for theirs in (other.name, *other.also)
        for first in names(mine, entity.kind)
        for second in names(theirs, other.kind)
    ]


def _identified(attributes: Mapping[str, str], other: Mapping[str, str]) -> bool | None:
    """Compare identifying attributes: True for a match, False for a conflict, None for neither."""
    verdict = None
    for name in IDENTIFYING:
        mine, theirs = _value(name, attributes), _value(name, other)
        if mine and theirs:
            if mine != theirs:
                return False
            verdict = True
    return verdict


def _value(name: str, attributes: Mapping[str, str]) -> str:
    value = attributes.get(name, "").strip().casefold()
    return _NOT_DIGITS.sub("", value)[-_LAST_DIGITS:] if name == "phone" else value


def _by_name(name: Name, other: Name, kind: str, options: DedupOptions) -> Stage | None:
    person = kind in ("person", "pet")
    if _differ(name, other) if person else contrast(name, other):
        return None
    if options.exact and _equal(name, other, kind):
        return "exact"
    if not options.fuzzy:
        return None
    alike = (
        _same_person(name, other, options.person_at)
        if kind == "person"
        else _same_thing(name, other, options)
    )
    return "fuzzy" if alike else None


def _differ(name: Name, other: Name) -> bool:
    """Return whether generation, sex or role tell two people apart."""
    if name.suffix != other.suffix and name.suffix and other.suffix:
        return True
    if name.gender and other.gender and name.gender != other.gender:
        return True
    lone = 1 in (len(name.words), len(other.words))
    return bool(lone and name.roles and other.roles and name.roles.isdisjoint(other.roles))


def _equal(name: Name, other: Name, kind: str) -> bool:
    if name.joined == other.joined:
        return True
    if kind == "pet":
        return spelt_alike(name.joined, other.joined)
    if kind == "person":
        turned = "".join((*name.words[1:], *name.words[:1]))  # "Kim Min-jun" is "Minjun Kim"
        return turned == other.joined and "of" not in name.words
    return (sorted(_stems(name)), name.numbers) == (sorted(_stems(other)), other.numbers)


def _stems(name: Name) -> list[str]:
    return [word[:-1] if len(word) > 3 and word.endswith("s") else word for word in name.words]


def _same_person(name: Name, other: Name, at: float) -> bool:
    """Compare given names and surnames; a lone name with the other's given name."""
    first, second = _without_initials(name), _without_initials(other)
    if "of" in first or "of" in second or not first or not second or _other_middle(name, other):
        return False
    if len(first) == len(second) == 1:
        return same_given(first[0], second[0], at)
    if 1 in (len(first), len(second)):
        if _titled(name, second) or _titled(other, first):
            return True
        return same_given(first[0], second[0], at) and bool(name.roles or other.roles or at <= 0)
    if not same_surname(first[-1], second[-1], at):
        return False
    if same_given("".join(name.words[:-1]), "".join(other.words[:-1]), at):
        return True
    return same_given(first[0], second[0], at)


def _titled(lone: Name, full: tuple[str, ...]) -> bool:
    """Return whether a lone surname with a title is that of a full name: "Dr Patel"."""
    return (
        len(lone.words) == 1 and not lone.roles.isdisjoint(_SURNAMED) and lone.words[0] == full[-1]
    )


def _other_middle(name: Name, other: Name) -> bool:
    """Return whether both have middle names that differ: "K." and "T.", "Lena" and "Maria"."""
    return any(
        not same_given(mine, theirs)
        for mine, theirs in zip(name.words[1:-1], other.words[1:-1], strict=False)
    )


def _without_initials(name: Name) -> tuple[str, ...]:
    """Return the words of a name without initials between given name and surname."""
    words = name.words
    return (*words[:1], *(word for word in words[1:-1] if len(word) > 1), *words[1:][-1:])


def _same_thing(name: Name, other: Name, options: DedupOptions) -> bool:
    """Compare word by word; one of several words, or a lone one, may be misspelt."""
    mine, theirs = _stems(name), _stems(other)
    if name.numbers != other.numbers or len(mine) != len(theirs):
        return False
    differing = [(a, b) for a, b in zip(sorted(mine), sorted(theirs), strict=True) if a != b]
    if len(differing) == 1 and len(mine) > 1 and name.words[0] == other.words[0]:
        whole = OSA.normalized_similarity(" ".join(name.words), " ".join(other.words))
        if whole >= options.whole_at and _misspelt(*differing[0], options.fuzzy_at - 0.1):
            return True
    return all(_misspelt(a, b, options.fuzzy_at) for a, b in differing)


def _misspelt(word: str, other: str, at: float) -> bool:
    """Return whether two words may be spellings of one; its first letter is seldom wrong."""
    if word[0] != other[0] or is_ordinary(word) and is_ordinary(other):
        return False
    return OSA.normalized_similarity(word, other) >= at


def _by_vector(
    new: Candidate, other: Candidate, similar: Similarity | None, options: DedupOptions
) -> bool:
    if similar is None or not options.embedding or new.kind in ("person", "pet", "order", "place"):
        return False
    first, second = names(new.name, new.kind)[0], names(other.name, other.kind)[0]
    if first.numbers != second.numbers or contrast(first, second):
        return False
    least = options.embedding_at + (_OWN_NAMES if new.kind == "organisation" else 0.0)
    return similar(new.name, other.name) >= least


def resolve(
    new: Candidate,
    known: Sequence[Candidate],
    similar: Similarity | None = None,
    options: DedupOptions = DedupOptions(),
) -> tuple[int, Stage] | None:
    """Return the position in ``known`` of the entity that a name means, and the stage.

    None for new and ambiguous names. A given name alone matches only if no other entity has it.
    """
    stages = [same(new, entity, similar, options) for entity in known]
    for wanted in ("exact", "rule", "fuzzy", "embedding"):
        if wanted in stages:
            only = stages.count(wanted) == 1
            return (stages.index(wanted), wanted) if only else None
    if new.kind != "person" or not options.fuzzy:
        return None
    alone = [place for place, entity in enumerate(known) if _calls(new, entity)]
    return (alone[0], "fuzzy") if len(alone) == 1 else None


def _calls(new: Candidate, entity: Candidate) -> bool:
    """Return whether one of two names may be the other's given name."""
    if entity.kind != "person" or _identified(new.attributes, entity.attributes) is False:
        return False
    first, second = names(new.name, new.kind)[0], names(entity.name, entity.kind)[0]
    if _differ(first, second):
        return False
    if not (first.words and second.words):  # nothing but a title
        return False
    lone = 1 in (len(first.words), len(second.words)) and "of" not in (*first.words, *second.words)
    return lone and same_given(first.words[0], second.words[0])


_QUALITY_OF = {
    word: number
    for number, line in enumerate(QUALITIES.strip().splitlines())
    for word in line.split()
}


def contrast(first: Name, second: Name) -> bool:
    """Return whether two names differ in a quality ("red", "white") or one names a part.

    Opposites have near vectors because of their similar contexts.
    """
    words, other = frozenset(first.words), frozenset(second.words)
    if not PARTS.isdisjoint(words ^ other):
        return True
    qualities = {_QUALITY_OF[word] for word in words - other if word in _QUALITY_OF}
    return any(_QUALITY_OF.get(word) in qualities for word in other - words)
