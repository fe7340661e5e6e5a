"""Builds entities and relations from readings: a pure function, independent of the order of work.

The statements of each turn are asserted in log order by `core.validity.assert_relation`. When a reading
was retracted (an LLM's replaced a rule's, or the user rejected it), current beliefs are derived
from the remaining readings; earlier beliefs stay in the history.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory.core.extraction.mentions import Mention
from slowcat_memory.core.extraction.predicates import statement_of
from slowcat_memory.core.extraction.slots import (
    TIMELESS,
    ending_of,
    ends,
    exclude,
    slot_names,
    slot_of,
)
from slowcat_memory.core.graph.names import names
from slowcat_memory.core.graph.readings import ReadStatement, TurnReading
from slowcat_memory.core.memory import ENTITY, RELATION
from slowcat_memory.core.text.normalize import fold
from slowcat_memory.core.validity import (
    ALWAYS,
    NEWS,
    as_of,
    assert_relation,
    end_relation,
    revised,
)
from slowcat_memory.records import Ending, Memory

SEPARATOR = "; "
ATTRIBUTE = "attr."
CONFIDENCE = ("high", "medium", "low")
Group = tuple[str, ...]  # a subject and the slot of its relations


class _Stated(Struct, frozen=True):
    statement: ReadStatement
    reading: TurnReading

    @property
    def order(self) -> tuple[datetime, int, str, bool]:
        """Of assertion: what a turn says to be over ends before what it says to hold."""
        at = self.reading
        return at.at, at.turn, at.id, not self.statement.over


def group_of(statement: ReadStatement) -> Group:
    """Return the key shared by statements that can contradict each other."""
    return statement.subject, *slot_of(statement)


def groups_of(statements: Iterable[ReadStatement]) -> set[Group]:
    """Return the groups of the statements that are no endings."""
    return {group_of(one) for one in statements if not one.is_ending}


def touches(statement: ReadStatement, group: Group) -> bool:
    """Return whether an ending may end relations of a group."""
    if not statement.is_ending or statement.subject != group[0]:
        return False
    predicates = statement.ends[0].predicates
    return not predicates or group[1] in slot_names(predicates)


# ------------------------------------------------------------------- entities


def entities(readings: Iterable[TurnReading], only: set[str] | None = None) -> dict[str, Memory]:
    """Return the entities that readings mention, as memories, by id.

    The newest value of each attribute counts; all names are kept, and the highest confidence.

    Args:
        readings: All of a namespace, in any order.
        only: Ids of the wanted entities; None for all.
    """
    found: dict[str, list[tuple[Mention, TurnReading]]] = defaultdict(list)
    for reading in _in_order(one for one in readings if one.retired_at is None):
        for mention in reading.mentions:
            if mention.entity and (only is None or mention.entity in only):
                found[mention.entity].append((mention, reading))
    return {id: _entity(id, mentions) for id, mentions in found.items()}


def _entity(id: str, mentions: Sequence[tuple[Mention, TurnReading]]) -> Memory:
    first, reading = mentions[0]
    name, aliases, attributes = first.name, dict[str, str](), dict[str, str]()
    sources, made = dict[int, None](), reading.made
    tried = set[tuple[str, str]]()  # a name that is not longer now will not be later
    for mention, source in mentions:
        if fold(mention.name) not in aliases or _adds_attributes(mention, attributes):
            sources |= dict.fromkeys(source.sources or (source.turn,))
        aliases.setdefault(fold(mention.name), mention.name)
        attributes |= mention.attributes
        if (spoken := (mention.name, mention.type)) not in tried:
            tried.add(spoken)
            if _words(mention) > len(names(name, first.type)[0].words):
                name = mention.name
        made = source.made if source.made.model else made
    others = [alias for key, alias in aliases.items() if key != fold(name)]
    facets = {"name": name, "type": first.type}
    facets |= {"also": SEPARATOR.join(others)} if others else {}
    sure = {mention.confidence for mention, _ in mentions} - {""}
    facets |= {"confidence": min(sure, key=CONFIDENCE.index)} if sure else {}
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


def _adds_attributes(mention: Mention, known: Mapping[str, str]) -> bool:
    return any(known.get(key) != value for key, value in mention.attributes.items())


def _words(mention: Mention) -> int:
    """Return the number of words of a full name; 0 for a description ("my sister Anna")."""
    reduced = names(mention.name, mention.type)[0]
    return 0 if reduced.roles or "of" in reduced.words else len(reduced.words)


def attributes_of(entity: Memory) -> dict[str, str]:
    return {
        name.removeprefix(ATTRIBUTE): value
        for name, value in entity.facets.items()
        if name.startswith(ATTRIBUTE)
    }


def names_of(entity: Memory) -> tuple[str, ...]:
    """Return an entity's names, the fullest first."""
    also = entity.facets.get("also", "")
    return (entity.facets.get("name", ""), *(also.split(SEPARATOR) if also else ()))


# ------------------------------------------------------------------- relations


def relations(readings: Iterable[TurnReading], only: set[Group] | None = None) -> list[Memory]:
    """Return the relations that readings state, current and former, with both times.

    Args:
        readings: All of a namespace, including retracted ones, in any order.
        only: The wanted groups; None for all.
    """
    groups: dict[Group, list[_Stated]] = defaultdict(list)
    endings: dict[str, list[_Stated]] = defaultdict(list)
    for reading in _in_order(readings):
        for statement in reading.statements:
            if statement.is_ending:
                endings[statement.subject].append(_Stated(statement, reading))
            elif only is None or group_of(statement) in only:
                groups[group_of(statement)].append(_Stated(statement, reading))
    return [
        row
        for group, said in groups.items()
        for row in _history(_with_endings(group, said, endings.get(group[0], ())))
    ]


def _with_endings(
    group: Group, said: Iterable[_Stated], endings: Iterable[_Stated]
) -> list[_Stated]:
    """Return a group's statements, and the endings that concern them, in order."""
    concerning = (one for one in endings if touches(one.statement, group))
    return sorted((*said, *concerning), key=lambda one: one.order)


def _in_order(readings: Iterable[TurnReading]) -> list[TurnReading]:
    return sorted(readings, key=lambda one: (one.at, one.turn, one.id))


def _history(said: Sequence[_Stated]) -> list[Memory]:
    """Replay one group's statements in time order."""
    gone = {one.reading.retired_at for one in said if one.reading.retired_at is not None}
    rows: dict[str, Memory] = {}
    for at in sorted({one.reading.at for one in said} | gone):
        if at in gone:
            stand = [one for one in said if one.reading.at <= at and not _over(one.reading, at)]
            rows |= _restated(rows, _asserted({}, stand), at)
        else:
            rows = _asserted(rows, [one for one in said if one.reading.at == at])
    return list(rows.values())


def _over(reading: TurnReading, at: datetime) -> bool:
    return reading.retired_at is not None and reading.retired_at <= at


def _asserted(rows: dict[str, Memory], said: Iterable[_Stated]) -> dict[str, Memory]:
    rows = dict(rows)
    for one in said:
        known = as_of(rows.values(), None)
        made = _ended(one, known) if one.statement.over else []
        others = [row for row in known if exclude(one.statement, row.statement)]
        if not made and (new := _relation(one, known, others)) is not None:
            made = assert_relation(known, new, others)
        rows |= {row.id: row for row in made}
    return rows


def _ended(one: _Stated, known: Iterable[Memory]) -> list[Memory]:
    """Return the changes of the relations that a statement says to be over."""
    statement, reading = one.statement, one.reading
    what = ending_of(statement)
    if statement.is_ending:
        what = Ending(statement.subject, statement.ends[0].predicates, statement.object)
    until, changed = statement.until or reading.said, list[Memory]()
    for row in known:
        end = until if row.valid_from < until else reading.said
        if ends(what, row.statement, row.text) and (row.valid_to is None or row.valid_to > end):
            changed += end_relation(row, end, reading.at, reading.sources or (reading.turn,))
    return changed


def _restated(rows: dict[str, Memory], fresh: dict[str, Memory], at: datetime) -> dict[str, Memory]:
    """Return the rows with changes from ``at`` on; unchanged rows continue."""
    had = {_content(row): row for row in as_of(rows.values(), None)}
    want = {_content(row): row for row in as_of(fresh.values(), None)}
    ended = [replace(row, retired_at=at) for key, row in had.items() if key not in want]
    begun = [revised(row, recorded_at=at) for key, row in want.items() if key not in had]
    return {row.id: row for row in (*ended, *begun)}


def _content(row: Memory) -> tuple[object, ...]:
    one = row.statement
    return fold(one.object), row.valid_from, row.valid_to, row.sources, one.quote


def _relation(one: _Stated, known: Iterable[Memory], others: Sequence[Memory]) -> Memory | None:
    """Return a statement as a relation; None for old news and for an empty interval."""
    statement, reading = one.statement, one.reading
    if statement.is_ending or not statement.object:
        return None
    if others and _is_old_news(statement, reading, known):
        return None
    since, until = _interval(statement, reading, others)
    if until is not None and until <= since:
        return None
    return revised(
        Memory(
            id="",
            kind=f"{RELATION}/{statement.predicate}",
            scope=reading.scope,
            speaker=reading.speaker,
            text=statement.text,
            valid_from=since,
            valid_to=until,
            recorded_at=reading.at,
            sources=reading.sources or (reading.turn,),
            statement=replace(statement_of(statement), over=False, corrects=False),
            made=reading.made,
        )
    )


def _is_old_news(statement: ReadStatement, reading: TurnReading, known: Iterable[Memory]) -> bool:
    """Return whether "I no longer work there" follows a mention of the next job."""
    if not statement.over or statement.since is not None or statement.until is not None:
        return False
    same = [row for row in known if fold(row.statement.object) == fold(statement.object)]
    return not any(row.valid_to is None and row.valid_from <= reading.said for row in same)


def _interval(
    statement: ReadStatement, reading: TurnReading, others: Sequence[Memory]
) -> tuple[datetime, datetime | None]:
    """Return when a statement is true; unstated limits follow from what it excludes."""
    until = statement.until or (reading.said if statement.over else None)
    if until is not None and statement.since is None:
        ends = [row.valid_to for row in others if row.valid_to and row.valid_to <= until]
        return max(ends, default=ALWAYS), until
    since = statement.since or (ALWAYS if statement.predicate in TIMELESS else reading.said)
    if since < reading.said and any(_is_nearly_as_old(row, since, reading.said) for row in others):
        since = reading.said
    if statement.corrects:  # true since the corrected relation was believed to be
        since = min((row.valid_from for row in others if row.valid_to is None), default=since)
    return since, until


def _is_nearly_as_old(row: Memory, since: datetime, said: datetime) -> bool:
    """Return whether a relation was stated shortly after a conflicting one is said to begin."""
    return row.valid_to is None and since < row.valid_from <= min(said, since + NEWS)


# ------------------------------------------------------------------- changes to write


class StoredGraph(Struct, frozen=True):
    """A namespace's graph as stored; ``readings`` includes retracted ones."""

    readings: Sequence[TurnReading]
    entities: Sequence[Memory]
    relations: Sequence[Memory]


class Changes(Struct, frozen=True):
    """Memories to write, and (scope, id) of relations to delete, which never held."""

    put: tuple[Memory, ...]
    drop: tuple[tuple[str, str], ...]


def new_readings(kept: StoredGraph, new: Iterable[TurnReading], now: datetime) -> list[TurnReading]:
    """Return the readings to write: new ones, and the ones they replace, retired.

    An LLM's reading replaces a rule's of the same turn, unless it is empty and the rule's is not.
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
    """Return the changes to the stored graph; with ``new`` None, everything is derived again."""
    by_id = {one.id: one for one in kept.readings}
    touched = (
        list(kept.readings) if new is None else [*new, *(by_id[n.id] for n in new if n.id in by_id)]
    )
    by_id |= {one.id: one for one in new or ()}
    said = [one for reading in touched for one in reading.statements]
    groups, endings = groups_of(said), [one for one in said if one.is_ending]
    wanted = {one.entity for reading in touched for one in reading.mentions}
    had = list[Memory]()
    for one in kept.relations:
        group = group_of_relation(one)
        if new is None or group in groups or any(touches(end, group) for end in endings):
            groups.add(group)
            had.append(one)
    rows = relations(by_id.values(), groups)
    there = {one.id: one for one in (*had, *kept.entities)}
    known = entities(by_id.values(), None if new is None else wanted)
    lost = [
        replace(one, retired_at=now)
        for one in kept.entities
        if one.retired_at is None and one.id not in known and (new is None or one.id in wanted)
    ]
    put = (*(one.memory() for one in new or ()), *known.values(), *rows)
    ids = {one.id for one in put}
    return Changes(
        put=(*(one for one in put if there.get(one.id) != one), *lost),
        drop=tuple((one.scope, one.id) for one in had if one.id not in ids),
    )


def group_of_relation(row: Memory) -> Group:
    """Return the key that a relation shares with the statements that it follows from."""
    return row.statement.subject, *slot_of(row.statement)
