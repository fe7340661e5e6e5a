"""Memories: the chunk of each turn, the kinds, and the validity at a time.

A *chunk* is indexed by several *fields*, each with a text of its own, because the indexed text
matters more than the encoder (measured on LoCoMo, R@10): the speaker's name gives the dense field
14 points and the lexical one 4; a window of neighbours gives the lexical field 7, and would cost
the dense field some.

A *kind* is a family and, behind a slash, a subtype: "block/persona", "summary/session".

A memory has two times (Snodgrass, "Developing Time-Oriented Database Applications in SQL", 1999,
chapter 10): it is true in the world from ``valid_from`` until ``valid_to``, and believed from
``recorded_at`` until ``retired_at``. Intervals include their start and exclude their end. A row that
ended or was wrong is retired, and the new knowledge is stored beside it: so "where did she live in
May?" and "what did we think in May?" both have an answer. Which statements exclude each other is
decided by ``core.extraction.slots``, which of them hold by ``core.facts.holding``.
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import TypeVar

from msgspec.structs import replace

from slowcat_memory.core.time.expressions import Interval
from slowcat_memory.records import Memory, Turn

M = TypeVar("M", bound=Memory)
ALWAYS = datetime(1, 1, 1, tzinfo=UTC)  # start, where it is unknown

CHUNK = "chunk"
BLOCK = "block"
FACT = "fact"
EPISODE = "episode"
QUARANTINED = "fact/quarantined"  # looks like a prompt injection or a link; only the audit shows it
ICEBREAKER = "icebreaker"
NOTE = "note"
SESSION_SUMMARY = "summary/session"
SUMMARY = "summary"
READING, ENTITY = "reading", "entity"
SEPARATOR = "; "  # between the other names of an entity
_GRAPH = frozenset({READING, ENTITY})  # looked up by name; recall finds their turns
_NOT_INDEXED = frozenset({BLOCK, EPISODE, ICEBREAKER, SUMMARY}) | _GRAPH
MADE_AGAIN = frozenset({SUMMARY, EPISODE, ENTITY})
"""Kinds whose ids name a time, a turn or a name: what a forget leaves is kept under the same ones."""


def session_in(session: str, scope: str) -> str:
    """Return the id of a session whose own id belongs to another scope's."""
    return f"{session}@{scope}"


def chunk_id(turn: int) -> str:
    return f"{CHUNK}/{turn}"


def turn_of(memory_id: str) -> int:
    """Return the log id of a chunk's turn, or 0 if the memory is not a chunk."""
    kind, _, number = memory_id.partition("/")
    return int(number) if kind == CHUNK and number.isdecimal() else 0


def chunk(turn: Turn) -> Memory:
    """Return the chunk of a numbered turn: a memory in the speaker's own words."""
    return Memory(
        id=chunk_id(turn.id),
        kind=CHUNK,
        scope=turn.scope,
        speaker=turn.speaker,
        text=turn.text,
        valid_from=turn.at,
        recorded_at=turn.at,
        sources=(turn.id,),
        trust=turn.role if turn.role == "user" else "agent",
        role=turn.role,
        local_only=turn.local_only,
        local_inherited=bool(turn.derived_from),
        derived_from=turn.derived_from,
        facets={"tools": " ".join(turn.tools)} if turn.tools else {},
    )


def indexed_text(memory: Memory) -> str:
    """Return the text that is embedded and indexed as the "turn" field: context, speaker, words."""
    line = f"{memory.speaker}: {memory.text}"
    return f"{memory.context}\n{line}" if memory.context else line


def family(kind: str) -> str:
    """Return the family of a kind: "block" for "block/persona"."""
    return kind.partition("/")[0]


def findable(memory: Memory) -> bool:
    """Return whether recall and search may find a memory.

    Excluded: content of the session preamble; summaries, which only answer overview questions
    (``core.query.overview``); muted and quarantined memories; facts that only point to their turn or note;
    memories that are looked up by name.
    """
    if memory.kind == QUARANTINED or memory.muted:
        return False
    if family(memory.kind) == FACT:  # sure, and without an origin that recall could find instead
        origin = memory.sources or memory.derived_from
        return not origin and memory.statement.confidence != "low"
    return family(memory.kind) not in _NOT_INDEXED


def searchable(memory: Memory) -> bool:
    """Return whether a search through retired memories may find a memory: facts are included."""
    if family(memory.kind) == FACT:
        shown = memory.kind != QUARANTINED and not memory.muted
        return shown and memory.facets.get("why") != "same"
    return findable(memory)


PINNED = "pinned"  # the type under which a pinned memory is listed too


def names_of(entity: Memory) -> tuple[str, ...]:
    """Return an entity's names, the fullest first."""
    also = entity.facets.get("also", "")
    return (entity.facets.get("name", ""), *(also.split(SEPARATOR) if also else ()))


def types_of(memory: Memory) -> tuple[str, ...]:
    """Return the types under which a listed memory appears: that of a fact or note, and "pinned"."""
    own = (memory.kind.partition("/")[2] or memory.kind,)
    types = own if family(memory.kind) in (FACT, NOTE) else ()
    return (*types, PINNED) if memory.pinned else types


# ------------------------------------------------------------------- validity


def is_believed(memory: Memory, at: datetime | None = None) -> bool:
    """Return whether a memory is believed now, or was at a moment."""
    if at is None:
        return memory.retired_at is None
    recorded = memory.recorded_at or memory.valid_from
    return recorded <= at and (memory.retired_at is None or memory.retired_at > at)


def is_true(memory: Memory, at: datetime) -> bool:
    """Return whether a memory is true at a moment, believed or not."""
    return memory.valid_from <= at and (memory.valid_to is None or memory.valid_to > at)


def held_at(memory: Memory, at: datetime) -> bool:
    """Return whether a memory was believed and true at a moment."""
    return is_believed(memory, at) and is_true(memory, at)


def as_of(memories: Iterable[M], true: datetime | None, known: datetime | None = None) -> list[M]:
    """Return the memories that were true at a moment, as believed at ``known``.

    Args:
        true: None for any moment.
        known: None for now.
    """
    rows = (memory for memory in memories if is_believed(memory, known))
    return [memory for memory in rows if true is None or is_true(memory, true)]


def holds(memory: Memory, now: datetime, asked: Sequence[Interval] = ()) -> bool:
    """Return whether a memory may be presented as true.

    False if retired, or no longer true, unless the query mentions a time at which it was.
    """
    if memory.retired_at is not None:
        return False
    until = memory.valid_to
    if until is None or until > now:
        return True
    return any(time.start < until and time.end > memory.valid_from for time in asked)


def supersede(fact: Memory, by: Memory, now: datetime, *, same: bool = False) -> Memory:
    """Return a fact as retired by another; it stays in the store.

    One that is true until a day that lies ahead is only given its end: until then it holds.

    Args:
        same: Whether they are equal; else this one was true until the other began to be.
    """
    facets = fact.facets | {"superseded_by": by.id} | ({"why": "same"} if same else {})
    if same:
        return replace(fact, retired_at=now, facets=facets)
    over = max(fact.valid_from, by.valid_from)
    ahead = over > now and bool(by.statement.date)
    return replace(fact, valid_to=over, retired_at=None if ahead else now, facets=facets)


def revive(facts: Iterable[Memory], gone: frozenset[str]) -> list[Memory]:
    """Return the facts that are valid again because ``gone``, which superseded them, is deleted."""
    dropped = ("superseded_by", "why")
    return [
        replace(
            fact,
            valid_to=None,
            retired_at=None,
            facets={name: value for name, value in fact.facets.items() if name not in dropped},
        )
        for fact in facts
        if fact.facets.get("superseded_by") in gone and fact.id not in gone
    ]
