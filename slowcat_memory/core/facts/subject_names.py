"""Which names mean one person or thing, as far as the facts and entities of a scope tell.

"Priya", "Priya Nair" and "Anna's sister" may be one. A first name is that of the only longer name
that begins with it; of two such, it is neither's.
"""

from collections.abc import Iterable

from slowcat_memory.core.memory import ENTITY, family
from slowcat_memory.core.text.normalize import fold
from slowcat_memory.records import Memory

_KIN = "has_"  # beginning of predicates that name a relative by a noun
SEPARATOR = "; "  # between the other names of an entity


class Subjects:
    """The names of the entities of a scope. Not thread-safe."""

    def __init__(self) -> None:
        self._names: dict[str, frozenset[str]] = {}  # by id of an entity
        self._entities: dict[str, set[str]] = {}  # by name
        self._kin: dict[str, tuple[str, str, str]] = {}  # by id of a relation

    def put(self, memory: Memory) -> None:
        """Add or replace an entity, or a relation that names a relative; others are ignored."""
        self.drop(memory.id)
        facets = memory.facets
        if memory.retired_at is not None:
            return
        if family(memory.kind) == ENTITY:
            also = facets.get("also", "").split(SEPARATOR)
            names = frozenset(fold(one) for one in (facets.get("name", ""), *also) if one)
            self._names[memory.id] = names
            for name in names:
                self._entities.setdefault(name, set()).add(memory.id)
        elif facets.get("predicate", "").startswith(_KIN) and memory.valid_to is None:
            subject, object_ = facets.get("subject", ""), facets.get("object", "")
            noun = facets["predicate"].removeprefix(_KIN).replace("_", " ")
            self._kin[memory.id] = (subject, noun, object_)

    def drop(self, id: str) -> None:
        self._kin.pop(id, None)
        for name in self._names.pop(id, frozenset()):
            self._entities[name].discard(id)

    def same(self, subject: str, known: Iterable[str]) -> list[str]:
        """Return those of some folded names, of one speaker's subjects, that mean a subject too."""
        others = [one for one in known if one != subject]
        spoken = self._also(subject)
        return [one for one in others if one in spoken or _is_only_short(subject, one, others)]

    def _also(self, name: str) -> frozenset[str]:
        """Return the other names of the only entity with a name; none if two have it."""
        ids = self._entities.get(name, set()) | self._of_kin(name)
        if len(ids) != 1:
            return frozenset()
        (entity,) = ids
        return self._names.get(entity, frozenset()) | self._as_kin(entity)

    def _as_kin(self, entity: str) -> frozenset[str]:
        """Return what an entity is to others, where they have one such: "anna's sister"."""
        found = set[str]()
        for subject, noun, object_ in self._kin.values():
            if object_ == entity:
                found |= {f"{name}'s {noun}" for name in self._names.get(subject, ())}
        return frozenset(one for one in found if len(self._of_kin(one)) == 1)

    def _of_kin(self, name: str) -> set[str]:
        owner, _, noun = name.partition("'s ")
        owners = self._entities.get(owner, set()) if noun else set[str]()
        return {
            object_
            for subject, kin, object_ in self._kin.values()
            if kin == noun and subject in owners
        }


def _is_only_short(one: str, other: str, every: Iterable[str]) -> bool:
    """Return whether one of two names is the beginning of the other, and of no third."""
    short, long = sorted((one, other), key=len)
    if " " in short or not long.startswith(f"{short} "):
        return False
    return not any(third.startswith(f"{short} ") for third in every if third not in (long, short))
