"""The register of entities: which ones are mentioned, and how they relate to one another.

Each turn's `TurnReading` is stored; entities and relations are derived from the readings
(see ``core.graph``). After a forget they are derived again from the rest.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

import numpy as np

from slowcat_memory.core.extraction.mentions import Mention
from slowcat_memory.core.facts.fact import ExtractedFact
from slowcat_memory.core.graph.build import (
    Changes,
    Group,
    StoredGraph,
    graph_changes,
    group_of_relation,
    groups_of,
    names_of,
    new_readings,
    touches,
)
from slowcat_memory.core.graph.dedup import Similarity
from slowcat_memory.core.graph.entity_index import EntityIndex, resolve_turn
from slowcat_memory.core.graph.readings import ReadStatement, TurnExtract, TurnReading, extract
from slowcat_memory.core.memory import ENTITY, READING, RELATION
from slowcat_memory.core.text.normalize import fold
from slowcat_memory.idle.job import JobContext
from slowcat_memory.records import Made, Memory, Turn, WriteBatch
from slowcat_memory.store import Snapshot


async def registered(
    turns: Mapping[int, Turn],
    facts: Iterable[ExtractedFact],
    named: Sequence[Mention] | None,
    made: Made,
    context: JobContext,
) -> WriteBatch:
    """Return the changes of the graph by what was read of some turns of one scope.

    Args:
        turns: By log id, at least one.
        facts: What they state.
        named: What an LLM lists as named; None for facts by rule.
    """
    scope = next(iter(turns.values())).scope
    with context.snapshot() as snapshot:
        known = list(context.view(GraphIndex, snapshot, scope).entities.values())
    types = {fold(name): one.facets.get("type", "") for one in known for name in names_of(one)}
    of_turn = defaultdict[int, list[ExtractedFact]](list)
    for one in facts:
        of_turn[one.turn.id].append(one)
    extracts = {
        id: read
        for id, turn in sorted(turns.items())
        if (read := extract(turn, of_turn[id], context.zone, types, named))
    }
    index = EntityIndex(scope, (one for one in known if not one.retired_at), context.options)
    similarity = await _name_similarity(extracts, index, context)
    found = (resolve_turn(one, turns[id], index, made, similarity) for id, one in extracts.items())
    return _batch(context, scope, [one for one in found if one is not None])


async def _name_similarity(
    read: Mapping[int, TurnExtract], index: EntityIndex, context: JobContext
) -> Similarity | None:
    """Return a similarity of the names that only a vector could match; None if there are none."""
    if not context.options.embedding or not context.space:
        return None
    names = dict[str, None]()
    for mention in (one for found in read.values() for one in found.mentions):
        if unsure := index.only_by_vector(mention):
            names |= dict.fromkeys((mention.name, *unsure))
    if not names:
        return None
    embedded = await context.embed(list(names))
    vectors = dict(zip(names, embedded.vectors, strict=False))

    def similarity(one: str, other: str) -> float:
        first, second = vectors.get(one), vectors.get(other)
        return 0.0 if first is None or second is None else float(np.dot(first, second))

    return similarity


def _batch(context: JobContext, scope: str, found: Sequence[TurnReading]) -> WriteBatch:
    with context.snapshot() as snapshot:
        stored = context.view(GraphIndex, snapshot, scope).around(found)
    now = context.now
    new = new_readings(stored, found, now)
    return _as_batch(graph_changes(stored, new, now)) if new else WriteBatch()


def derived_again(context: JobContext, scope: str) -> WriteBatch:
    with context.snapshot() as snapshot:
        stored = stored_graph(snapshot, scope)
    return _as_batch(graph_changes(stored, None, context.now))


def _as_batch(changes: Changes) -> WriteBatch:
    return WriteBatch(memories=changes.put, drop=changes.drop)


def stored_graph(snapshot: Snapshot, scope: str) -> StoredGraph:
    readings, entities, relations = (
        list(snapshot.memories(scope, f"{kind}/")) for kind in (READING, ENTITY, RELATION)
    )
    return StoredGraph([TurnReading.of(one) for one in readings], entities, relations)


Keys = list[tuple[str, Hashable]]


class GraphIndex:
    """Readings, entities and relations, as stored. A view of a ``WorkingSet``; not thread-safe."""

    beginnings = (f"{READING}/", f"{ENTITY}/", f"{RELATION}/")

    def __init__(self) -> None:
        self.entities: dict[str, Memory] = {}
        self._readings: dict[str, TurnReading] = {}
        self._relations: dict[str, Memory] = {}
        self._ids: dict[tuple[str, Hashable], dict[str, None]] = {}
        self._keys: dict[str, Keys] = {}

    def put(self, memory: Memory, snapshot: object = None) -> None:
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
                group = group_of_relation(memory)
                keys = [("relation", group), ("subject", group[0])]
                self._relations[memory.id] = memory
        except ValueError:
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
            groups = {group_of_relation(row) for row in rows}
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
