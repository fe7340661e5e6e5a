"""What new readings change of the entities and relations that are kept."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory.core.graph.build import entities, group_of, relations
from slowcat_memory.core.graph.build import functional as is_functional
from slowcat_memory.core.graph.readings import Reading
from slowcat_memory.core.graph.relations import Relation
from slowcat_memory.core.text.normalize import fold
from slowcat_memory.records import Memory


class Kept(Struct, frozen=True):
    """The graph of a namespace as it is kept.

    Attributes:
        readings: All that was read, what was taken back included.
        entities: Kinds "entity/…".
        relations: Kinds "relation/…".
    """

    readings: Sequence[Reading]
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


def taken(kept: Kept, new: Iterable[Reading], now: datetime) -> list[Reading]:
    """Put new readings in the place of those that they replace.

    An LLM's takes that of a rule's of the same turn, unless it has nothing to say where that has.

    Args:
        kept: What there is.
        new: What was read now.
        now: The time.

    Returns:
        Those to write: the new ones, and those that are taken back.
    """
    standing: dict[int, list[Reading]] = {}
    for reading in kept.readings:
        if reading.retired_at is None:
            standing.setdefault(reading.turn, []).append(reading)
    made = list[Reading]()
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


def changes(kept: Kept, new: Sequence[Reading] | None, now: datetime) -> Changes:
    """Work out what to write.

    Args:
        kept: What there is.
        new: From `taken`; None to work everything out anew, as after something was forgotten.
        now: The time.

    Returns:
        What differs from what is kept.
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
