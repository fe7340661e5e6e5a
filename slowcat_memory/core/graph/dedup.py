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
_ADDRESS = frozenset(("dr", "prof"))  # held beside "Mr", "Mrs", and each other
_POLITE = _ADDRESS | {"mr", "mrs", "miss"}
_SURNAMED = _POLITE | {"sgt", "capt", "lt", "col", "judge", "coach", "pastor", "rev"}
_ACRONYM = 3  # letters of an acronym, at least
_LAST_DIGITS = 8  # of a telephone number, with or without its country


class Candidate(Struct, frozen=True):
    """A name to compare; ``also`` has other names of its entity, ``attributes`` its e-mail etc."""

    name: str
    kind: str
    attributes: Mapping[str, str] = field(default_factory=dict)
    also: tuple[str, ...] = ()


def same(
    one: Candidate,
    other: Candidate,
    similar: Similarity | None = None,
    options: DedupOptions = DedupOptions(),
) -> Stage | None:
    """Return the stage that matches two names, or None; ``similar`` is None without a model."""
    if one.kind != other.kind:
        return None
    identified = _identified(one.attributes, other.attributes)
    if identified is False:
        return None
    for first, second in _pairs(one, other):
        if stage := _by_name(first, second, one.kind, options):
            return stage
    if identified and options.rule:
        return "rule"
    return "embedding" if _by_vector(one, other, similar, options) else None


def _pairs(one: Candidate, other: Candidate) -> list[tuple[Name, Name]]:
    return [
        (first, second)
        for mine in (one.name, *one.also)
        for theirs in (other.name, *other.also)
        for first in names(mine, one.kind)
        for second in names(theirs, other.kind)
    ]


def _identified(one: Mapping[str, str], other: Mapping[str, str]) -> bool | None:
    """Compare identifying attributes: True for a match, False for a conflict, None for neither."""
    found = None
    for name in IDENTIFYING:
        mine, theirs = _value(name, one), _value(name, other)
        if mine and theirs:
            if mine != theirs:
                return False
            found = True
    return found


def _value(name: str, attributes: Mapping[str, str]) -> str:
    value = attributes.get(name, "").strip().casefold()
    return _NOT_DIGITS.sub("", value)[-_LAST_DIGITS:] if name == "phone" else value


def _by_name(one: Name, other: Name, kind: str, options: DedupOptions) -> Stage | None:
    person = kind in ("person", "pet")
    if _differ(one, other) if person else contrast(one, other):
        return None
    if options.exact and _equal(one, other, kind):
        return "exact"
    if not options.fuzzy:
        return None
    alike = (
        _same_person(one, other, options.person_at)
        if kind == "person"
        else _same_thing(one, other, options) or _is_acronym(one, other, kind)
    )
    return "fuzzy" if alike else None


def _differ(one: Name, other: Name) -> bool:
    """Return whether generation, sex or role tell two people apart."""
    if one.suffix != other.suffix and one.suffix and other.suffix:
        return True
    if one.gender and other.gender and one.gender != other.gender:
        return True
    lone = 1 in (len(one.words), len(other.words))
    return bool(lone and one.roles and other.roles and _apart(one.roles, other.roles))


def _apart(one: frozenset[str], other: frozenset[str]) -> bool:
    """Return whether roles exclude each other; "Dr" and "Mrs", "Dr" and "Prof" do not."""
    return one.isdisjoint(other) and not (
        _ADDRESS & (one | other) and one <= _POLITE and other <= _POLITE
    )


def _equal(one: Name, other: Name, kind: str) -> bool:
    if one.joined == other.joined:
        return True
    if kind == "pet":
        return spelt_alike(one.joined, other.joined)
    if kind == "person":
        turned = "".join((*one.words[1:], *one.words[:1]))  # "Kim Min-jun" is "Minjun Kim"
        return turned == other.joined and "of" not in one.words
    return (sorted(_stems(one)), one.numbers) == (sorted(_stems(other)), other.numbers)


def _stems(name: Name) -> list[str]:
    return [word[:-1] if len(word) > 3 and word.endswith("s") else word for word in name.words]


def _same_person(one: Name, other: Name, at: float) -> bool:
    """Compare given names and surnames; a lone name with the other's given name."""
    first, second = _without_initials(one), _without_initials(other)
    if "of" in first or "of" in second or not first or not second or _other_middle(one, other):
        return False
    if len(first) == len(second) == 1:
        return same_given(first[0], second[0], at)
    if 1 in (len(first), len(second)):
        if _titled(one, second) or _titled(other, first):
            return True
        return same_given(first[0], second[0], at) and bool(one.roles or other.roles or at <= 0)
    if not same_surname(first[-1], second[-1], at):
        return False
    if same_given("".join(one.words[:-1]), "".join(other.words[:-1]), at):
        return True
    if len(one.words) != len(other.words) and _more_given(one) != _more_given(other):
        return False
    return same_given(first[0], second[0], at)


def _titled(lone: Name, full: tuple[str, ...]) -> bool:
    """Return whether a lone surname with a title is that of a full name: "Dr Patel"."""
    return (
        len(lone.words) == 1 and not lone.roles.isdisjoint(_SURNAMED) and lone.words[0] == full[-1]
    )


def _more_given(name: Name) -> bool:
    """Return whether a name has a second given name in full: "Anna-Lena Koch"."""
    return any(len(word) > 1 for word in name.words[1:-1])


def _other_middle(one: Name, other: Name) -> bool:
    """Return whether both have middle names that differ: "K." and "T.", "Lena" and "Maria"."""
    return any(
        not same_given(mine, theirs)
        for mine, theirs in zip(one.words[1:-1], other.words[1:-1], strict=False)
    )


def _without_initials(name: Name) -> tuple[str, ...]:
    """Return the words of a name without initials between given name and surname."""
    words = name.words
    return (*words[:1], *(word for word in words[1:-1] if len(word) > 1), *words[1:][-1:])


def _same_thing(one: Name, other: Name, options: DedupOptions) -> bool:
    """Compare word by word; one of several words, or a lone one, may be misspelt."""
    mine, theirs = _stems(one), _stems(other)
    if one.numbers != other.numbers or len(mine) != len(theirs):
        return False
    differing = [(a, b) for a, b in zip(sorted(mine), sorted(theirs), strict=True) if a != b]
    if len(differing) == 1 and len(mine) > 1 and one.words[0] == other.words[0]:
        whole = OSA.normalized_similarity(" ".join(one.words), " ".join(other.words))
        if whole >= options.whole_at and _misspelt(*differing[0], options.fuzzy_at - 0.1):
            return True
    return all(_misspelt(a, b, options.fuzzy_at) for a, b in differing)


def _misspelt(one: str, other: str, at: float) -> bool:
    """Return whether two words may be spellings of one; its first letter is seldom wrong."""
    if one[0] != other[0] or is_ordinary(one) and is_ordinary(other):
        return False
    return OSA.normalized_similarity(one, other) >= at


def _is_acronym(one: Name, other: Name, kind: str) -> bool:
    """Return whether a name begins with the initials of three or more words of the other."""
    if kind not in ("organisation", "place") or one.numbers != other.numbers:
        return False
    for short, long in ((one.words, other.words), (other.words, one.words)):
        many = len(long) - len(short) + 1
        if short and many >= _ACRONYM and short[1:] == long[many:]:
            return short[0] == "".join(word[0] for word in long[:many])
    return False


def _by_vector(
    one: Candidate, other: Candidate, similar: Similarity | None, options: DedupOptions
) -> bool:
    if similar is None or not options.embedding or one.kind in ("person", "pet", "order", "place"):
        return False
    first, second = names(one.name, one.kind)[0], names(other.name, other.kind)[0]
    if first.numbers != second.numbers or contrast(first, second):
        return False
    least = options.embedding_at + (_OWN_NAMES if one.kind == "organisation" else 0.0)
    return similar(one.name, other.name) >= least


def resolve(
    new: Candidate,
    known: Sequence[Candidate],
    similar: Similarity | None = None,
    options: DedupOptions = DedupOptions(),
) -> tuple[int, Stage] | None:
    """Return the position in ``known`` of the entity that a name means, and the stage.

    None for new and ambiguous names. A given name alone matches only if no other entity has it.
    """
    for wanted in ("exact", "rule", "fuzzy", "embedding"):
        found = [
            place
            for place, one in enumerate(known)
            if same(new, one, similar if wanted == "embedding" else None, options) == wanted
        ]
        if len(found) == 1:
            return found[0], wanted
        if found:
            return None
    if new.kind != "person" or not options.fuzzy:
        return None
    alone = [place for place, one in enumerate(known) if _calls(new, one)]
    return (alone[0], "fuzzy") if len(alone) == 1 else None


def _calls(new: Candidate, one: Candidate) -> bool:
    """Return whether one of two names may be the other's given name."""
    if one.kind != "person" or _identified(new.attributes, one.attributes) is False:
        return False
    first, second = names(new.name, new.kind)[0], names(one.name, one.kind)[0]
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
    one, other = frozenset(first.words), frozenset(second.words)
    if not PARTS.isdisjoint(one ^ other):
        return True
    qualities = {_QUALITY_OF[word] for word in one - other if word in _QUALITY_OF}
    return any(_QUALITY_OF.get(word) in qualities for word in other - one)
