"""Slots and predicates: which statements about one subject cannot hold together.

A *slot* is what a subject has one of at a time: a home, an employer, a partner, an opinion of
coffee. Statements in different slots never conflict. Two in one slot exclude each other, unless
they say the same in other words; then the later one holds, and the earlier one is over. A statement
can also say that others are over without a successor: see ``records.Ending``.
"""

import re
from collections.abc import Mapping
from datetime import datetime, time

from msgspec.structs import replace

from slowcat_memory.core.language import LANGUAGES, of_any, words_of_any
from slowcat_memory.core.language.data import lazy_pattern
from slowcat_memory.core.language.english.vocabulary import STOP_WORDS
from slowcat_memory.core.text.normalize import fingerprint, fold
from slowcat_memory.core.time.written_dates import written_day
from slowcat_memory.records import Ending, Statement

# Functional predicates: a subject has one object of each at a time.
FUNCTIONAL = frozenset(
    """address age birthday born_in citizen_of city email employer favourite_colour gender
    height job language lives_in married_to name phone relationship_status status studies_at
    time_zone weight works_at works_as""".split()
)
# Predicates in the prompt. Others are accepted: domains have their own.
PREFERRED = (
    "lives_in", "address", "works_at", "works_as", "studies", "studies_at", "born_in", "age",
    "birthday", "married_to", "has_partner", "has_child", "has_sister", "has_brother", "has_mother",
    "has_father", "friend_of", "has_pet", "owns", "likes", "dislikes", "prefers", "allergic_to",
    "speaks", "plays", "member_of", "visited", "attended", "plans", "relationship_status",
)  # fmt: skip
_SAME = {
    "based_in": "lives_in", "lives_at": "address", "located_in": "lives_in", "moved_to": "lives_in",
    "resides_in": "lives_in", "living_in": "lives_in", "home": "lives_in", "lives_on": "address",
    "employed_at": "works_at", "employed_by": "works_at", "employer": "works_at",
    "works_for": "works_at", "working_at": "works_at", "started_at": "works_at",
    "job": "works_as", "occupation": "works_as", "profession": "works_as", "job_title": "works_as",
    "from": "born_in", "comes_from": "born_in", "is_aged": "age", "years_old": "age",
    "spouse": "married_to", "husband": "married_to", "wife": "married_to",
    "sister": "has_sister", "brother": "has_brother", "child": "has_child", "pet": "has_pet",
    "owns_pet": "has_pet", "loves": "likes", "enjoys": "likes", "hates": "dislikes",
    "friend": "friend_of", "is_friend_of": "friend_of", "allergy": "allergic_to", "named": "name",
    "is_called": "name", "favorite_color": "favourite_colour",
}  # fmt: skip
# Entity types of objects; objects of other predicates are values.
_OBJECTS = {
    "lives_in": "place", "address": "place", "born_in": "place", "visited": "place",
    "works_at": "organisation", "studies_at": "organisation", "member_of": "organisation",
    "married_to": "person", "friend_of": "person", "has_pet": "pet",
}  # fmt: skip
_ROLES = sorted(words_of_any(lambda table: table.persons.sets["roles"] | table.persons.sets["kin"]))
# "has_sister", "has_best_friend"; neither "has_illness" nor "has_car".
_PERSON = lazy_pattern(
    rf"has_(?:\w+_)?(?:{of_any(lambda table: table.statements.kin)}|{'|'.join(_ROLES)}"
    r"|parent|spouse|relative|child|grandchild|colleague|flatmate|neighbou?r|ex|in_law)s?",
    flags=re.IGNORECASE,
)
_NOT_ONE_WORD = lazy_pattern(r"[^a-z0-9äöüß]+")
_FORM = lazy_pattern(r"[a-z][a-z_0-9äöüß]{1,39}")


def canonical(predicate: str) -> str:
    """Return a predicate in snake_case, with synonyms merged; "" for none."""
    name = _NOT_ONE_WORD.sub("_", predicate.casefold()).strip("_")
    name = name.replace("favorite", "favourite")
    name = _SAME.get(name, name)
    return name if _FORM.fullmatch(name) else ""


def statement_of(claim: Statement) -> Statement:
    """Return a statement without the fields that a step adds to it."""
    return Statement(**{name: getattr(claim, name) for name in Statement.__struct_fields__})


def with_entities(claim: Statement, same: Mapping[str, str]) -> Statement:
    """Return a statement with other ids of its entities, by those that it has."""
    subject, object_ = (same.get(id, id) for id in (claim.subject_id, claim.object_id))
    return replace(claim, subject_id=subject, object_id=object_)


def is_functional(predicate: str) -> bool:
    return predicate in FUNCTIONAL or predicate.startswith(("favourite_", "favourite "))


def object_type(predicate: str) -> str:
    """Return the entity type of a predicate's object; "" for a plain value."""
    if predicate in _OBJECTS:
        return _OBJECTS[predicate]
    return "person" if _PERSON.fullmatch(predicate) else ""


Slot = tuple[str, ...]  # a name, and the object where a subject may have several

# Timeless: a later statement corrects an earlier one and is no change; no ending ends them.
TIMELESS = frozenset({"birthday", "born_in", "gender", "name", "died"})
# Stages of a partnership, the later ones higher; 0 says nothing about the stage.
_PARTNERS = {
    "has_partner": 0, "partner": 0, "in_relationship_with": 0, "dating": 1, "has_boyfriend": 1,
    "has_girlfriend": 1, "engaged_to": 2, "has_fiance": 2, "has_fiancé": 2, "has_fiancee": 2,
    "has_fiancée": 2, "married_to": 3, "has_husband": 3, "has_wife": 3, "has_spouse": 3,
}  # fmt: skip
PARTNERS = tuple(_PARTNERS)
_OPINIONS = {
    "likes": 1, "loves": 1, "enjoys": 1, "prefers": 1, "fan_of": 1, "dislikes": -1, "hates": -1,
    "does_not_like": -1, "avoids": -1,
}  # fmt: skip
# Acts of doing something regularly, and of having stopped or never doing it.
_HABITS = {
    "habit": 1, "drinks": 1, "eats": 1, "smokes": 1, "plays": 1, "practises": 1, "stopped": -1,
    "gave_up": -1, "quit": -1, "does_not_drink": -1, "does_not_eat": -1,
}  # fmt: skip
_POSSESSIONS = {"owns": 1, "has_possession": 1, "sold": -1, "lost": -1, "gave_away": -1}
_ONE = frozenset({"has_mother", "has_father"})
_POLAR = (("opinion", _OPINIONS), ("habit", _HABITS), ("possession", _POSSESSIONS))
# What a predicate is of, and which of two opposites.
_POLES = {predicate: (name, pole) for name, poles in _POLAR for predicate, pole in poles.items()}
_REGIMES = words_of_any(lambda table: table.facts.regimes)
_SINGLE = words_of_any(lambda table: table.facts.single)
_PLURAL = re.compile(r"(?<=\w\w[^\Ws])s$")
_EMPTY = frozenset[str]().union(STOP_WORDS, *(table.names.articles for table in LANGUAGES))
_RENEWED = tuple(re.compile(rf"\b{table.facts.renewed}", re.IGNORECASE) for table in LANGUAGES)
_CONSUMING = words_of_any(lambda table: table.facts.consuming)
_MOVED = words_of_any(lambda table: table.facts.moved)


def slot_of(claim: Statement) -> Slot:
    """Return the slot of a statement about its subject; () without a predicate."""
    predicate = claim.predicate
    if not predicate:
        return ()
    if predicate in _POLES:
        return _POLES[predicate][0], " ".join(sorted(content(claim.object)))
    if predicate in _PARTNERS or (predicate == "relationship_status" and _is_single(claim)):
        return ("partner",)
    if predicate == "diet":
        regime = not _REGIMES.isdisjoint(fingerprint(claim.object).split())
        return ("diet",) if regime else ("diet", fold(claim.object))
    single = predicate in _ONE or is_functional(predicate)
    return (predicate,) if single else (predicate, fold(claim.object))


def is_exclusive(claim: Statement) -> bool:
    """Return whether a statement's subject has one value in its slot, and gets another by change."""
    return len(slot_of(claim)) == 1 and claim.predicate not in TIMELESS


def exclude(new: Statement, old: Statement) -> bool:
    """Return whether two statements in one slot of one subject cannot hold together."""
    if slot_of(new) != slot_of(old):
        return False
    if new.predicate in _POLES and old.predicate in _POLES:
        return opposed(new, old)
    if slot_of(new) == ("partner",):
        return _partners_differ(new, old)
    if slot_of(new) == ("diet",):
        return content(new.object) != content(old.object)
    return len(slot_of(new)) == 1 and not _same_value(new, old)


def opposed(new: Statement, old: Statement) -> bool:
    """Return whether two statements are of opposite kinds, whatever they are about: likes, hates."""
    (name, pole), (other, opposite) = (_POLES.get(claim.predicate, ("", 0)) for claim in (new, old))
    return name == other and pole != opposite


def ending_of(claim: Statement) -> Ending:
    """Return what a statement ends that says to be over: what says the same in its slot."""
    pole = _POLES.get(claim.predicate)
    same = tuple(name for name, other in _POLES.items() if other == pole)
    alike = same or (PARTNERS if claim.predicate in _PARTNERS else (claim.predicate,))
    return Ending(claim.subject, alike, claim.object)


def ends(ending: Ending, old: Statement, text: str = "") -> bool:
    """Return whether an ending ends a statement about its subject; ``text`` is its sentence."""
    if old.predicate in TIMELESS or (ending.predicates and old.predicate not in ending.predicates):
        return False
    if not old.predicate and not ending.object:
        return not ending.predicates
    if not ending.object or fold(ending.object) == fold(old.object):
        return True
    wanted = content(ending.object)
    if old.predicate in _POSSESSIONS:  # "she drives a Golf": only its quote says "car"
        text = f"{text} {old.quote}"
    return bool(wanted) and (wanted <= content(old.object) or wanted <= content(text))


def implied_endings(claim: Statement, text: str) -> tuple[Ending, ...]:
    """Return what a statement ends outside its slot: a move the address, a new car the old one.

    Args:
        text: Its sentence and the words that were said.
    """
    if claim.predicate == "lives_in" and _MOVED & set(fingerprint(text).split()):
        return (Ending(claim.subject, ("address",)),)
    if claim.predicate == "relationship_status" and _is_single(claim):
        return (Ending(claim.subject, PARTNERS),)
    if claim.predicate in ("owns", "has_possession", "bought"):
        kinds = dict.fromkeys(
            match["kind"].lower() for new in _RENEWED for match in new.finditer(text)
        )
        return tuple(Ending(claim.subject, ("owns", "has_possession"), kind) for kind in kinds)
    return ()


def begins(claim: Statement, date: str, since: datetime) -> datetime:
    """Return when a statement begins to hold: on its day if that lies ahead, and it is exclusive.

    "I start at Southmead on 1 December" holds from that day, and the old employer until then.

    Args:
        date: The fact's day, "2026-12-01", "2026-12", "2026" or "".
        since: Since when it would be true otherwise.
    """
    written = written_day(date)
    if written is None or not claim.predicate or not is_exclusive(claim):
        return since
    return max(datetime.combine(written.first, time(), since.tzinfo), since)


def content(text: str) -> frozenset[str]:
    """Return the words of a text that say something, in the singular."""
    words = frozenset(_PLURAL.sub("", word) for word in fingerprint(text).split()) - _EMPTY
    return words - _CONSUMING or words


def _partners_differ(new: Statement, old: Statement) -> bool:
    if "relationship_status" in (new.predicate, old.predicate):
        return new.predicate != old.predicate
    if fold(new.object) != fold(old.object):
        return True
    stages = {_PARTNERS[new.predicate], _PARTNERS[old.predicate]} - {0}
    return len(stages) == 2


def _same_value(new: Statement, old: Statement) -> bool:
    """Return whether one value only says more than the other: "a nurse" and "a senior nurse"."""
    if fold(new.object) == fold(old.object):
        return True
    mine, theirs = fingerprint(new.object).split(), fingerprint(old.object).split()
    if not mine or not theirs:
        return mine == theirs
    if new.predicate == "works_as":
        value, other = content(new.object), content(old.object)
        return bool(value and other) and (value <= other or other <= value)
    shorter = min(len(mine), len(theirs))
    return mine[:shorter] == theirs[:shorter]


def _is_single(claim: Statement) -> bool:
    return not _SINGLE.isdisjoint(fingerprint(claim.object).split())
