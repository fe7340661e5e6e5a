"""Turn readings to entities and relations: a pure function, independent of the order of work.

What each turn says is asserted in the order of the log, by `relations.assert_relation`. Where a reading
was taken back (an LLM's replaced a rule's, or the user said that it is wrong), what is believed from
then on follows from the others; what was believed before stays in the history.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory.core.extraction.predicates import is_functional
from slowcat_memory.core.graph.names import names
from slowcat_memory.core.graph.readings import Mention, ReadStatement, TurnReading
from slowcat_memory.core.graph.relations import ALWAYS, Relation, assert_relation, believed, retired
from slowcat_memory.core.memory.kinds import ENTITY
from slowcat_memory.core.text.normalize import fold
from slowcat_memory.records import Made, Memory

SEPARATOR = "; "
ATTRIBUTE = "attr."
Group = tuple[str, ...]  # subject and predicate, and the object where there may be several
# True of all time, if at all: what is said later corrects, and does not change, what was said before.
TIMELESS = frozenset({"birthday", "born_in", "gender", "name"})


class _Told(Struct, frozen=True):
    statement: ReadStatement
    reading: TurnReading


def group_of(statement: ReadStatement) -> Group:
    """Return what the statements have in common that can contradict one another."""
    if is_functional(statement.predicate):
        return statement.subject, statement.predicate
    return statement.subject, statement.predicate, fold(statement.object)


# ------------------------------------------------------------------- entities


def entities(readings: Iterable[TurnReading], only: set[str] | None = None) -> dict[str, Memory]:
    """Return the entities that readings mention, as memories, by id.

    Of each attribute the newest value counts; every other name is kept.

    Args:
        readings: All of a namespace, in any order.
        only: Ids of the entities that are wanted; None for all.
    """
    found: dict[str, list[tuple[Mention, TurnReading]]] = defaultdict(list)
    for reading in _in_order(one for one in readings if one.retired_at is None):
        for mention in reading.mentions:
            if mention.entity and (only is None or mention.entity in only):
                found[mention.entity].append((mention, reading))
    return {id: _entity(id, mentions) for id, mentions in found.items()}


def _entity(id: str, mentions: Sequence[tuple[Mention, TurnReading]]) -> Memory:
    first, reading = mentions[0]
    name, also, attributes, sources = (
        first.name,
        dict[str, str](),
        dict[str, str](),
        dict[int, None](),
    )
    made: Made = reading.made
    for mention, told in mentions:
        new = {
            key: value for key, value in mention.attributes.items() if attributes.get(key) != value
        }
        if fold(mention.name) not in also or new:
            sources |= dict.fromkeys(told.sources or (told.turn,))
        also.setdefault(fold(mention.name), mention.name)
        attributes |= mention.attributes
        if _words(mention) > len(names(name, first.type)[0].words):
            name = mention.name
        made = told.made if told.made.model else made
    others = [other for other in also.values() if fold(other) != fold(name)]
    facets = {"name": name, "type": first.type}
    facets |= {"also": SEPARATOR.join(others)} if others else {}
    facets |= {f"{ATTRIBUTE}{key}": value for key, value in sorted(attributes.items())}
    return Memory(
        id=id,
        kind=f"{ENTITY}/{first.type}",
        scope=reading.scope,
        speaker=reading.speaker,
        text=f"{name} ({first.type})",
        valid_from=reading.said,
        recorded_at=reading.at,
        sources=tuple(sources),
        facets=facets,
        made=made,
    )


def _words(mention: Mention) -> int:
    """Return how many words a fuller name has: "Anna Weber" for "Anna"; 0 for "my sister Anna"."""
    reduced = names(mention.name, mention.type)[0]
    return 0 if reduced.roles or "of" in reduced.words else len(reduced.words)


def attributes_of(entity: Memory) -> dict[str, str]:
    """Return the attributes of an entity's memory."""
    return {
        name.removeprefix(ATTRIBUTE): value
        for name, value in entity.facets.items()
        if name.startswith(ATTRIBUTE)
    }


def names_of(entity: Memory) -> tuple[str, ...]:
    """Return the names of an entity's memory, the fullest one first."""
    also = entity.facets.get("also", "")
    return (entity.facets.get("name", ""), *(also.split(SEPARATOR) if also else ()))


# ------------------------------------------------------------------- relations


def relations(readings: Iterable[TurnReading], only: set[Group] | None = None) -> list[Relation]:
    """Return the relations that readings state, with both times: what is believed, and what was.

    Args:
        readings: All of a namespace, those that were taken back included, in any order.
        only: The groups that are wanted; None for all.
    """
    groups: dict[Group, list[_Told]] = defaultdict(list)
    for reading in _in_order(readings):
        for statement in reading.statements:
            group = group_of(statement)
            if only is None or group in only:
                groups[group].append(_Told(statement, reading))
    return [row for told in groups.values() for row in _history(told)]


def _in_order(readings: Iterable[TurnReading]) -> list[TurnReading]:
    return sorted(readings, key=lambda one: (one.at, one.turn, one.id))


def _history(told: Sequence[_Told]) -> list[Relation]:
    """Replay one group's statements, moment by moment."""
    gone = {one.reading.retired_at for one in told if one.reading.retired_at is not None}
    rows: dict[str, Relation] = {}
    for at in sorted({one.reading.at for one in told} | gone):
        if at in gone:
            stand = [one for one in told if one.reading.at <= at and not _over(one.reading, at)]
            rows |= _restated(rows, _learned({}, stand), at)
        else:
            rows = _learned(rows, [one for one in told if one.reading.at == at])
    return list(rows.values())


def _over(reading: TurnReading, at: datetime) -> bool:
    return reading.retired_at is not None and reading.retired_at <= at


def _learned(rows: dict[str, Relation], told: Iterable[_Told]) -> dict[str, Relation]:
    rows = dict(rows)
    for one in told:
        new = _relation(one, believed(rows.values()))
        if new is not None:
            made = assert_relation(rows.values(), new)
            rows |= {row.id: row for row in made}
    return rows


def _restated(
    rows: dict[str, Relation], fresh: dict[str, Relation], at: datetime
) -> dict[str, Relation]:
    """Return the rows that differ from now on; what is the same goes on as it was."""
    had = {_content(row): row for row in believed(rows.values())}
    want = {_content(row): row for row in believed(fresh.values())}
    ended = [retired(row, at) for key, row in had.items() if key not in want]
    begun = [replace(row, recorded_at=at) for key, row in want.items() if key not in had]
    return {row.id: row for row in (*ended, *begun)}


def _content(row: Relation) -> tuple[object, ...]:
    return fold(row.object), row.valid_from, row.valid_to, row.sources, row.quote


def _relation(told: _Told, known: Sequence[Relation]) -> Relation | None:
    """Give a statement its times; None for one that says nothing by what is known."""
    said, reading = told.statement, told.reading
    others = [row for row in known if fold(row.object) != fold(said.object)]
    same = [row for row in known if fold(row.object) == fold(said.object)]
    until = said.until or (reading.said if said.over else None)
    since = said.since or (ALWAYS if said.predicate in TIMELESS else reading.said)
    if until is not None and said.since is None:
        holds = any(row.valid_to is None and row.valid_from <= until for row in same)
        if others and not holds and said.until is None:
            return None  # "I no longer work there", after the next one was told
        ends = (
            row.valid_to for row in others if row.valid_to is not None and row.valid_to <= until
        )
        since = max(ends, default=ALWAYS)
    elif said.corrects:
        since = min((row.valid_from for row in others if row.valid_to is None), default=since)
    if until is not None and until <= since:
        return None
    return Relation(
        scope=reading.scope,
        subject=said.subject,
        predicate=said.predicate,
        object=said.object,
        text=said.text,
        valid_from=since,
        valid_to=until,
        recorded_at=reading.at,
        sources=reading.sources or (reading.turn,),
        quote=said.quote,
        confidence=said.confidence,
        speaker=reading.speaker,
        made=reading.made,
    )


class StoredGraph(Struct, frozen=True):
    """The graph of a namespace as it is stored.

    Attributes:
        readings: All of them, those that were taken back included.
        entities: Of kind "entity/…".
        relations: Of kind "relation/…".
    """

    readings: Sequence[TurnReading]
    entities: Sequence[Memory]
    relations: Sequence[Memory]


class Changes(Struct, frozen=True):
    """What to write.

    Attributes:
        put: Memories.
        drop: (scope, id) of relations that never held, by what is known now.
    """

    put: tuple[Memory, ...]
    drop: tuple[tuple[str, str], ...]


def new_readings(kept: StoredGraph, new: Iterable[TurnReading], now: datetime) -> list[TurnReading]:
    """Return the readings to write: new ones, and those that they replace, retired.

    An LLM's reading replaces a rule's of the same turn, unless it states nothing where the rule's does.
    """
    standing: dict[int, list[TurnReading]] = {}
    for reading in kept.readings:
        if reading.retired_at is None:
            standing.setdefault(reading.turn, []).append(reading)
    made = list[TurnReading]()
    for reading in new:
        before = standing.get(reading.turn, [])
        same = next((one for one in before if one.id == reading.id), None)
        gone = [
            one
            for one in before
            if one.id != reading.id and (reading.statements or not one.statements)
        ]
        made += [replace(one, retired_at=now) for one in gone]
        made.append(replace(reading, at=same.at if same else now if gone else reading.at))
    return made


def graph_changes(kept: StoredGraph, new: Sequence[TurnReading] | None, now: datetime) -> Changes:
    """Return how entities and relations differ from the stored ones.

    Args:
        kept: The stored graph.
        new: From `new_readings`; None to derive everything again, as after something was forgotten.
        now: The time.
    """
    by_id = {one.id: one for one in kept.readings}
    touched = (
        list(kept.readings) if new is None else [*new, *(by_id[n.id] for n in new if n.id in by_id)]
    )
    by_id |= {one.id: one for one in new or ()}
    groups = {group_of(said) for one in touched for said in one.statements}
    wanted = {one.entity for reading in touched for one in reading.mentions}
    rows = {row.id: row.memory() for row in relations(by_id.values(), groups)}
    had = [one for one in kept.relations if new is None or _group(Relation.of(one)) in groups]
    there = {one.id: one for one in (*had, *kept.entities)}
    known = entities(by_id.values(), None if new is None else wanted)
    lost = [
        replace(one, retired_at=now)
        for one in kept.entities
        if one.retired_at is None and one.id not in known and (new is None or one.id in wanted)
    ]
    made = (*(one.memory() for one in new or ()), *known.values(), *rows.values())
    return Changes(
        put=(*(one for one in made if there.get(one.id) != one), *lost),
        drop=tuple((one.scope, one.id) for one in had if one.id not in rows),
    )


def _group(row: Relation) -> tuple[str, ...]:
    group = row.subject, row.predicate
    return group if is_functional(row.predicate) else (*group, fold(row.object))
