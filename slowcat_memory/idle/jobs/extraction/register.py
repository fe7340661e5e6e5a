"""The register of entities: which ones are mentioned, and which facts are about them.

Each turn's `TurnReading` is stored; entities are derived from the readings (see ``core.graph``).
After a forget they are derived again from the rest.
"""

from collections import defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from datetime import datetime

import numpy as np
from msgspec.structs import replace

from slowcat_memory.core.extraction.mentions import Mention
from slowcat_memory.core.facts.fact import ExtractedFact
from slowcat_memory.core.graph.dedup import Similarity
from slowcat_memory.core.graph.entities import (
    EntityIndex,
    TurnReading,
    entities,
    read_names,
    relates,
)
from slowcat_memory.core.memory import ENTITY, READING, names_of
from slowcat_memory.core.text.normalize import fold
from slowcat_memory.idle.job import JobContext
from slowcat_memory.records import Made, Memory, Turn, WriteBatch


async def registered(
    turns: Mapping[int, Turn],
    facts: Sequence[ExtractedFact],
    named: Sequence[Mention] | None,
    made: Made,
    context: JobContext,
) -> tuple[list[ExtractedFact], WriteBatch]:
    """Return facts of some turns of one scope with their entities, and the register's changes.

    Args:
        turns: By log id, at least one.
        named: What an LLM lists as named: a fact about anybody else relates nobody. None for facts
            by rule.
    """
    scope = next(iter(turns.values())).scope
    with context.snapshot() as snapshot:
        known = list(context.view(GraphIndex, snapshot, scope).entities.values())
    types = {fold(name): row.facets.get("type", "") for row in known for name in names_of(row)}
    of_turn = defaultdict[int, list[ExtractedFact]](list)
    for row in facts:
        if relates(row) and not row.why and (row.confidence != "low" or row.reported):
            of_turn[row.turn.id].append(row)
    every = (
        read_names(turn, of_turn[id], made, types, named) for id, turn in sorted(turns.items())
    )
    readings = [reading for reading in every if reading is not None]
    index = EntityIndex(scope, (row for row in known if not row.retired_at), context.options)
    similarity = await _name_similarity(readings, index, context)
    resolved, identified = list[TurnReading](), dict[int, ExtractedFact]()
    for reading in readings:
        met, ids = index.resolve_turn(reading, of_turn[reading.turn], similarity)
        if met.mentions:
            resolved.append(met)
        for fact in of_turn[reading.turn]:
            identified[id(fact)] = index.with_entities(fact, ids)
    with context.snapshot() as snapshot:
        stored = context.view(GraphIndex, snapshot, scope).around(resolved)
    batch = _changes(*stored, resolved, {fact.turn.id for fact in facts}, context.now)
    return [identified.get(id(fact), fact) for fact in facts], batch


def _changes(
    readings: Iterable[TurnReading],
    known: Iterable[Memory],
    new: Iterable[TurnReading],
    stating: Container[int],
    now: datetime,
) -> WriteBatch:
    """Return the changes of the register by new readings.

    A reading replaces another of its turn; where it comes without facts, those of the other stand,
    and the names that they need.

    Args:
        readings: Those stored that name the same entities, or are of the same turns.
        known: Stored entities that the readings name.
        stating: Turns with new facts.
    """
    by_id, wanted = {reading.id: reading for reading in readings}, set[str]()
    rows, gone = list[TurnReading](), list[tuple[str, str]]()
    for reading in new:
        before = [old for old in by_id.values() if old.turn == reading.turn]
        every = [mention for read in (*before, reading) for mention in read.mentions]
        wanted |= {mention.entity for mention in every}
        if reading.turn not in stating:
            named = {(mention.name, mention.entity): mention for mention in every}
            reading = replace(reading, mentions=tuple(named.values()))
        for old in before:
            del by_id[old.id]
        gone += ((old.scope, old.id) for old in before if old.id != reading.id)
        rows.append(reading)
        by_id[reading.id] = reading
    changed = _changed_entities(known, entities(by_id.values(), wanted), wanted, now)
    return WriteBatch(memories=(*(row.memory() for row in rows), *changed), drop=tuple(gone))


def _changed_entities(
    kept: Iterable[Memory], known: Mapping[str, Memory], wanted: Container[str], now: datetime
) -> list[Memory]:
    """Return the entities that differ from the stored ones; nobody mentions a retired one."""
    stored = {entity.id: entity for entity in kept}
    lost = [
        replace(entity, retired_at=now)
        for entity in stored.values()
        if entity.retired_at is None and entity.id not in known and entity.id in wanted
    ]
    return [*(entity for entity in known.values() if stored.get(entity.id) != entity), *lost]


async def _name_similarity(
    read: Iterable[TurnReading], index: EntityIndex, context: JobContext
) -> Similarity | None:
    """Return a similarity of the names that only a vector could match; None if there are none."""
    if not context.options.embedding or not context.space:
        return None
    names = dict[str, None]()
    for mention in (mention for reading in read for mention in reading.mentions):
        if unsure := index.only_by_vector(mention):
            names |= dict.fromkeys((mention.name, *unsure))
    if not names:
        return None
    embedded = await context.embed(list(names))
    vectors = dict(zip(names, embedded.vectors, strict=False))

    def similarity(name: str, other: str) -> float:
        first, second = vectors.get(name), vectors.get(other)
        return 0.0 if first is None or second is None else float(np.dot(first, second))

    return similarity


def derived_again(context: JobContext, scope: str) -> WriteBatch:
    with context.snapshot() as snapshot:
        readings = map(TurnReading.of, snapshot.memories(scope, f"{READING}/"))
        known, kept = entities(readings), list(snapshot.memories(scope, f"{ENTITY}/"))
    every = {entity.id for entity in kept}
    return WriteBatch(memories=tuple(_changed_entities(kept, known, every, context.now)))


class GraphIndex:
    """Readings and entities, as stored. A view of a ``WorkingSet``; not thread-safe."""

    beginnings = (f"{READING}/", f"{ENTITY}/")

    def __init__(self) -> None:
        self.entities: dict[str, Memory] = {}
        self._readings: dict[str, TurnReading] = {}
        self._having = defaultdict[int | str, dict[str, None]](dict)  # by turn and by entity

    def put(self, memory: Memory, snapshot: object = None) -> None:
        """Add or replace a memory; one that cannot be read is removed."""
        self.drop(memory.id)
        if memory.id.startswith(f"{ENTITY}/"):
            self.entities[memory.id] = memory
            return
        try:
            reading = self._readings[memory.id] = TurnReading.of(memory)
        except ValueError:
            return
        for key in _keys(reading):
            self._having[key][memory.id] = None

    def drop(self, id: str) -> None:
        self.entities.pop(id, None)
        if reading := self._readings.pop(id, None):
            for key in _keys(reading):
                self._having[key].pop(id, None)

    def around(self, readings: Sequence[TurnReading]) -> tuple[list[TurnReading], list[Memory]]:
        """Return the readings and entities that new readings of turns can change."""
        of_turns = self._of(reading.turn for reading in readings)
        touched = (*readings, *of_turns)
        wanted = {mention.entity for reading in touched for mention in reading.mentions}
        others = [reading for reading in self._of(sorted(wanted)) if reading not in of_turns]
        known = [self.entities[id] for id in sorted(wanted) if id in self.entities]
        return [*of_turns, *others], known

    def _of(self, keys: Iterable[int | str]) -> list[TurnReading]:
        ids = dict.fromkeys(id for key in keys for id in self._having.get(key, ()))
        return [self._readings[id] for id in ids]


def _keys(reading: TurnReading) -> list[int | str]:
    return [reading.turn, *(mention.entity for mention in reading.mentions)]
