"""Portraits of entities: current and former relations, each with its turn."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory.core.extraction.slots import TIMELESS, canonical, object_type, slot_of
from slowcat_memory.core.facts.fact import is_fact, order_of
from slowcat_memory.core.facts.holding import history
from slowcat_memory.core.graph.entities import attributes_of, relates
from slowcat_memory.core.memory import ALWAYS, ENTITY, as_of, names_of
from slowcat_memory.core.text.normalize import fold
from slowcat_memory.records import Disclosed, Memory, Statement


class PortraitLine(Struct, frozen=True):
    """One relation of an entity: the predicate in words, its object, and its evidence.

    ``since`` is None if unknown, ``until`` None while true.
    """

    what: str
    value: str
    since: datetime | None
    until: datetime | None
    quote: str
    turn: int


class Portrait(Struct, frozen=True):
    """Everything known about an entity.

    ``holds`` are current relations and ``before`` former ones, the latest first; ``others`` are
    relations of others to it: subject, predicate, start. ``also`` are other names.
    """

    id: str
    name: str
    type: str
    also: tuple[str, ...]
    attributes: dict[str, str]
    holds: tuple[PortraitLine, ...]
    before: tuple[PortraitLine, ...]
    others: tuple[PortraitLine, ...]


class Graph:
    """The entities of a namespace, including those no longer mentioned, and their relations.

    Attributes:
        relations: Those that are believed, earliest first.
    """

    def __init__(
        self, entities: Sequence[Memory], relations: Sequence[Memory], now: datetime
    ) -> None:
        self._entities = {entity.id: entity for entity in entities}
        self._current = [entity for entity in entities if entity.retired_at is None]
        self.relations, self._now = relations, now

    def __getitem__(self, id: str) -> str:
        """Return an entity's name; a value is its own name."""
        entity = self._entities.get(id)
        return names_of(entity)[0] if entity else id

    def find(self, name: str) -> list[Memory]:
        """Return the entities with exactly this name, else those with it as part of a name."""
        wanted = fold(name)
        folded = [(row, set(map(fold, names_of(row)))) for row in self._current]
        parts, exact = set(wanted.split()), [row for row, names in folded if wanted in names]
        return exact or [
            row
            for row, names in folded
            if parts and any(parts <= set(known.split()) for known in names)
        ]

    def in_words(self, relation: Memory) -> str:
        """Return a relation as a sentence."""
        claim = relation.statement
        return f"{self[claim.subject]} {predicate_in_words(claim.predicate)} {self[claim.object]}"

    def portraits(self, name: str = "") -> list[Portrait]:
        """Return the portraits of entities with a name ("" for all), most documented first."""
        named = [row for row in self.relations if self._is_named(row.statement)]
        named.sort(key=lambda row: (row.valid_from, row.statement.predicate, row.id))
        entities = self.find(name) if name else self._current
        portraits = (self._portrait(entity, named) for entity in entities)
        return sorted(portraits, key=lambda of: (-len(of.holds) - len(of.others), of.name))

    def _is_named(self, claim: Statement) -> bool:
        """Return whether both sides of a statement have a name."""
        sides = (claim.subject, claim.object)
        return all(id in self._entities or not id.startswith(f"{ENTITY}/") for id in sides)

    def _portrait(self, entity: Memory, relations: Sequence[Memory]) -> Portrait:
        now = self._now
        own = [row for row in reversed(relations) if row.statement.subject == entity.id]
        over = [row for row in own if row.valid_to is not None and row.valid_to <= now]
        of_others = (row for row in relations if row.statement.object == entity.id)
        return Portrait(
            id=entity.id,
            name=self[entity.id],
            type=entity.facets.get("type", ""),
            also=names_of(entity)[1:],
            attributes=attributes_of(entity),
            holds=tuple(self._line(row, row.statement.object) for row in as_of(own, now)),
            before=tuple(self._line(row, row.statement.object) for row in over),
            others=tuple(self._line(row, row.statement.subject) for row in as_of(of_others, now)),
        )

    def _line(self, row: Memory, side: str) -> PortraitLine:
        return PortraitLine(
            what=predicate_in_words(row.statement.predicate),
            value=self[side],
            since=None if row.valid_from == ALWAYS else row.valid_from,
            until=row.valid_to,
            quote=row.statement.quote,
            turn=row.sources[0] if row.sources else 0,
        )


def predicate_in_words(predicate: str) -> str:
    return "is called" if predicate == "name" else predicate.replace("_", " ")


def relations_of(
    facts: Iterable[Disclosed], known: Iterable[Memory], days: Mapping[int, datetime]
) -> tuple[list[Memory], list[Disclosed]]:
    """Return the relations that facts state, current and former, after entities that are not stored.

    A relation is a fact with the ids of its entities in place of their names, and its interval.

    Args:
        facts: Any memories that the reader may see; others than facts are skipped.
        known: The stored entities.
        days: When turns were said, by log id.
    """
    ids = {fold(name): entity.id for entity in known for name in names_of(entity)}
    entities = dict[str, Memory]()
    groups: dict[tuple[str, ...], list[Disclosed]] = defaultdict(list)
    related = [row for row in facts if _is_relation(row)]
    replaced = {(row.facets.get("superseded_by"), row.sources[:1]) for row in related}
    for fact in related:
        claim = replace(fact.statement, predicate=canonical(fact.statement.predicate))
        subject = claim.subject_id or _entity(fact, claim.subject, "person", ids, entities)
        object_, kind = claim.object_id, object_type(claim.predicate)
        if kind and not object_ and not fact.sources:
            object_ = _entity(fact, claim.object, kind, ids, entities)
        claim = replace(claim, subject_id=subject, object_id=object_)
        known_since = fact.recorded_at
        if (fact.id, fact.sources[:1]) not in replaced:  # else it was read again, by a model
            known_since = days.get(order_of(fact)[0], known_since)
        fact = replace(fact, statement=claim, recorded_at=known_since)
        groups[subject, *slot_of(claim)].append(fact)
    rows = [_with_ids(row) for group in groups.values() for row in history(group)]
    return list(entities.values()), rows


def _is_relation(memory: Memory) -> bool:
    """Return whether a memory is a fact that relates an entity, or somebody whom no turn names."""
    if not is_fact(memory) or not relates(memory.statement):
        return False
    rejected = memory.retired_at is not None and "superseded_by" not in memory.facets
    sure = bool(memory.statement.subject_id) or not memory.sources
    return sure and not rejected and memory.statement.confidence != "low"


def _with_ids(row: Disclosed) -> Disclosed:
    claim = row.statement
    since = ALWAYS if claim.predicate in TIMELESS else row.valid_from
    named = replace(claim, subject=claim.subject_id, object=claim.object_id or claim.object)
    return replace(row, valid_from=since, statement=named)


def _entity(
    fact: Memory, name: str, kind: str, ids: dict[str, str], entities: dict[str, Memory]
) -> str:
    """Return the id of an entity by its name; one that is unknown is made, and added."""
    if (id_ := ids.get(fold(name))) is None:
        id_ = ids[fold(name)] = f"{ENTITY}/fact:{fold(name)}"
        entities[id_] = Memory(
            id=id_,
            kind=f"{ENTITY}/{kind}",
            scope=fact.scope,
            speaker=fact.speaker,
            text=f"{name} ({kind})",
            valid_from=fact.valid_from,
            facets={"name": name, "type": kind},
        )
    return id_
