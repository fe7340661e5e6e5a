"""Predicates: preferred and functional ones, and object types."""

import re
from collections.abc import Mapping

from msgspec.structs import replace

from slowcat_memory.core.language import of_any, words_of_any
from slowcat_memory.core.language.data import lazy_pattern
from slowcat_memory.records import Statement

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
_ROLES = sorted(words_of_any(lambda one: one.persons.sets["roles"] | one.persons.sets["kin"]))
# "has_sister", "has_best_friend"; neither "has_illness" nor "has_car".
_PERSON = lazy_pattern(
    rf"has_(?:\w+_)?(?:{of_any(lambda one: one.statements.kin)}|{'|'.join(_ROLES)}"
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


def statement_of(one: Statement) -> Statement:
    """Return a statement without the fields that a step adds to it."""
    return Statement(**{name: getattr(one, name) for name in Statement.__struct_fields__})


def with_entities(one: Statement, same: Mapping[str, str]) -> Statement:
    """Return a statement with other ids of its entities, by those that it has."""
    subject, object_ = (same.get(id, id) for id in (one.subject_id, one.object_id))
    return replace(one, subject_id=subject, object_id=object_)


def is_functional(predicate: str) -> bool:
    return predicate in FUNCTIONAL or predicate.startswith(("favourite_", "favourite "))


def object_type(predicate: str) -> str:
    """Return the entity type of a predicate's object; "" for a plain value."""
    if predicate in _OBJECTS:
        return _OBJECTS[predicate]
    return "person" if _PERSON.fullmatch(predicate) else ""


def sentence(subject: str, predicate: str, object: str) -> str:
    """Return a triple as a plain sentence without additional words."""
    if predicate == "age":
        return f"{subject} is {object} years old."
    if predicate in ("name", "address", "birthday", "email", "phone"):
        return f"{subject}'s {predicate} is {object}."
    if predicate.startswith(("has_", "favourite_")):
        return f"{subject}'s {predicate.removeprefix('has_').replace('_', ' ')} is {object}."
    return f"{subject} {predicate.replace('_', ' ')} {object}."
