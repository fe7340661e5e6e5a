"""A namespace's graph, indexed so that new readings are compared with what they concern alone."""

from collections.abc import Hashable, Iterable, Iterator, Sequence

from slowcat_memory.core.graph.build import (
    Group,
    StoredGraph,
    group_of_relation,
    groups_of,
    touches,
)
from slowcat_memory.core.graph.readings import ReadStatement, TurnReading
from slowcat_memory.core.graph.relations import Relation
from slowcat_memory.core.memory import ENTITY, READING
from slowcat_memory.records import Memory

Keys = list[tuple[str, Hashable]]


class GraphIndex:
    """Readings, entities and relations, as stored. Not thread-safe."""

    def __init__(self) -> None:
        self.entities: dict[str, Memory] = {}
        self._readings: dict[str, TurnReading] = {}
        self._relations: dict[str, Memory] = {}
        self._ids: dict[tuple[str, Hashable], dict[str, None]] = {}
        self._keys: dict[str, Keys] = {}

    def put(self, memory: Memory) -> None:
        """Add or replace a memory; one that cannot be read is removed."""
        self.drop(memory.id)
        if memory.id.startswith(f"{ENTITY}/"):
            self.entities[memory.id] = memory
            return
        try:
            if memory.id.startswith(f"{READING}/"):
                reading = self._readings[memory.id] = TurnReading.of(memory)
                keys = list(_keys_of(reading))
            else:
                group = group_of_relation(Relation.of(memory))
                keys = [("relation", group), ("subject", group[0])]
                self._relations[memory.id] = memory
        except (ValueError, KeyError):
            return
        self._keys[memory.id] = keys
        for key in keys:
            self._ids.setdefault(key, {})[memory.id] = None

    def drop(self, id: str) -> None:
        self.entities.pop(id, None)
        self._readings.pop(id, None)
        self._relations.pop(id, None)
        for key in self._keys.pop(id, ()):
            self._ids[key].pop(id, None)
            if not self._ids[key]:
                del self._ids[key]

    def around(self, found: Sequence[TurnReading]) -> StoredGraph:
        """Return the part of the graph that new readings of turns can change."""
        turns = self._of(("turn", one.turn) for one in found)
        touched = [*found, *(self._readings[id] for id in turns)]
        said = [one for reading in touched for one in reading.statements]
        groups = groups_of(said) | self._ended_groups(one for one in said if one.is_ending)
        wanted = {one.entity for reading in touched for one in reading.mentions if one.entity}
        readings = turns | self._of(("entity", id) for id in wanted)
        readings |= self._of(("group", group) for group in groups)
        readings |= self._of(("ends", subject) for subject in {group[0] for group in groups})
        relations = self._of(("relation", group) for group in groups)
        return StoredGraph(
            [self._readings[id] for id in readings],
            [self.entities[id] for id in sorted(wanted) if id in self.entities],
            [self._relations[id] for id in relations],
        )

    def _ended_groups(self, endings: Iterable[ReadStatement]) -> set[Group]:
        """Return the groups of the relations that statements may end."""
        found = set[Group]()
        for one in endings:
            rows = (self._relations[id] for id in self._of([("subject", one.subject)]))
            groups = {group_of_relation(Relation.of(row)) for row in rows}
            found |= {group for group in groups if touches(one, group)}
        return found

    def _of(self, keys: Iterable[tuple[str, Hashable]]) -> dict[str, None]:
        found: dict[str, None] = {}
        for key in keys:
            found |= self._ids.get(key, {})
        return found


def _keys_of(reading: TurnReading) -> Iterator[tuple[str, Hashable]]:
    yield "turn", reading.turn
    yield from (("group", group) for group in groups_of(reading.statements))
    yield from (
        ("ends", subject) for subject in {s.subject for s in reading.statements if s.is_ending}
    )
    yield from (("entity", id) for id in {one.entity for one in reading.mentions} if id)
