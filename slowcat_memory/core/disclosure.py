"""Disclosure: which memories may be shown to whom, and what a derived memory inherits.

Every text of a memory that leaves (blocks, session heads, spoken and tool answers, graphs) is that
of a ``Disclosed`` memory. Only this module makes them, so that a renderer cannot be given a memory
that nobody checked.

A memory is local-only if a person marked it, or if anything that it was made from is local-only:
its turns (``sources``), and the memories in ``derived_from``. Whether it is muted follows in the
same way: a muted memory is kept and listed, and reaches no LLM and no spoken answer.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import NamedTuple, cast

from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory.core.memory import FACT, NOTE, QUARANTINED, chunk_id, family, turn_of
from slowcat_memory.records import Disclosed, Memory

Origin = tuple[str, str]  # (scope, id); the scope of a turn's chunk is "": turn ids are global
Find = Callable[[str, str], Memory | None]  # returns a stored memory by scope and id
_BETWEEN = "; "  # ids in a summary's facet "covers"
_NAMED = frozenset({"name", "entities"})  # facets with the user's name
_SIDES = ("subject", "object")  # of a statement, which may be the user
_LISTED = frozenset({NOTE, FACT})


class Called(NamedTuple):
    """A name that a scope's user had in memories, and the present one."""

    scope: str
    before: str
    now: str


class Mark(NamedTuple):
    """A mark that derived memories inherit, by its fields in ``Memory``."""

    field: str
    inherited: str

    def on(self, memory: Memory) -> bool:
        return bool(getattr(memory, self.field))

    def by_person(self, memory: Memory) -> bool:
        return self.on(memory) and not getattr(memory, self.inherited)


LOCAL_ONLY = Mark("local_only", "local_inherited")
MUTED = Mark("muted", "muted_inherited")


class Reader(Struct, frozen=True):
    """Who receives texts, and where the texts go.

    Attributes:
        scopes: Namespaces that they may read; none for guests.
        local: The texts stay on this machine: the LLM that reads them runs here.
        called: Names to replace in memories, see ``renamed``.
        muted: Muted memories are included: a person reads a list of memories, and no LLM does.
    """

    scopes: frozenset[str] = frozenset()
    local: bool = False
    called: tuple[Called, ...] = ()
    muted: bool = False


def may_read(memory: Memory, reader: Reader) -> bool:
    """Return whether a memory may be shown to a reader. Takes less than a microsecond."""
    return (
        memory.scope in reader.scopes
        and (reader.local or not memory.local_only)
        and (reader.muted or not memory.muted)
        and memory.kind != QUARANTINED
    )


def disclose(memory: Memory, reader: Reader) -> Disclosed | None:
    """Return a memory for a reader, None if it must not be shown.

    For another machine it has no context, whose text may come from other turns.
    """
    if not may_read(memory, reader):
        return None
    if reader.called:
        memory = renamed(memory, reader.called)
    hides = memory.context and not reader.local
    return cast(Disclosed, replace(memory, context="") if hides else memory)


def present_name(name: str, scope: str, called: Iterable[Called]) -> str:
    """Return the present name for an earlier one of a scope's user; other names stay."""
    return next((row.now for row in called if (row.scope, row.before) == (scope, name)), name)


def renamed(memory: Memory, called: Iterable[Called]) -> Memory:
    """Return a memory with the user's present name, in derived texts too; what was said stays."""
    for scope, before, now in called:
        texts = f"{memory.speaker} {memory.text} {memory.context}"
        if scope != memory.scope or before not in texts:
            continue
        put = partial(re.compile(rf"\b{re.escape(before)}\b").sub, now.replace("\\", ""))
        speaker = now if memory.speaker == before else memory.speaker
        memory = replace(memory, speaker=speaker, context=put(memory.context))
        if memory.made is None or turn_of(memory.id):
            continue
        facets, claim = memory.facets, memory.statement
        facets = facets | {key: put(facets[key]) for key in _NAMED & facets.keys()}
        claim = replace(claim, **{side: put(getattr(claim, side)) for side in _SIDES})
        memory = replace(memory, text=put(memory.text), facets=facets, statement=claim)
    return memory


def is_withheld(memory: Memory) -> bool:
    """Return whether what any LLM may read must not be made from a memory."""
    return memory.local_only or memory.muted


def is_listed(memory: Memory) -> bool:
    """Return whether a memory counts when memories are listed: facts, notes, and pinned ones."""
    return memory.pinned or family(memory.kind) in _LISTED


def is_uncertain(memory: Memory) -> bool:
    """Return whether a fact may be a joke or a misunderstanding: it is not stated as true."""
    return memory.statement.confidence == "low"


# ------------------------------------------------------------------- inheritance


def origins(memory: Memory) -> Iterator[Origin]:
    """Yield what a memory was made from, except itself.

    A summary's parts and an icebreaker's source are facets.
    """
    own = turn_of(memory.id)
    yield from (("", chunk_id(turn)) for turn in memory.sources if turn != own)
    covered = memory.facets.get("covers", "").split(_BETWEEN)
    listed = ((memory.scope, id) for id in (*covered, memory.facets.get("source", "")) if id)
    for scope, id in (*memory.derived_from, *listed):
        yield ("", id) if turn_of(id) else (scope, id)


def origin_of(memory: Memory) -> Origin:
    """Return how ``origins`` names a memory."""
    return ("", memory.id) if turn_of(memory.id) else (memory.scope, memory.id)


def has_marked_origin(memory: Memory, find: Find, mark: Mark = LOCAL_ONLY) -> bool:
    """Return whether a memory was made from a marked one, by the marks of its origins.

    These have what they inherit, as every row is marked when it is written.
    """
    sources = (find(scope or memory.scope, id) for scope, id in origins(memory))
    return any(origin is not None and mark.on(origin) for origin in sources)


def corrected_marks(
    memories: Iterable[Memory],
    elsewhere: Callable[[Origin], bool | None],
    mark: Mark = LOCAL_ONLY,
) -> list[Memory]:
    """Return the memories whose mark differs from what follows from their origins, corrected.

    A mark that a person set stays; an inherited one goes when no origin is marked any more, and
    stays when an origin was deleted, whose mark nobody can change. Takes time in proportion to the
    memories and their origins.

    Args:
        elsewhere: Whether an origin that is not among the memories is marked; None if it does not
            exist.
    """
    every = {origin_of(memory): memory for memory in memories}
    made_from: defaultdict[Origin, list[Origin]] = defaultdict(list)
    for key, memory in every.items():
        for origin in origins(memory):
            made_from[origin].append(key)
    own = {key for key, memory in every.items() if mark.by_person(memory)}
    others = {origin: elsewhere(origin) for origin in made_from if origin not in every}
    deleted = (key for origin, on in others.items() if on is None for key in made_from[origin])
    reached = own | {key for key in deleted if getattr(every[key], mark.inherited)}
    reached |= {origin for origin, on in others.items() if on}
    waiting = [*reached]
    while waiting:
        fresh = [key for key in made_from[waiting.pop()] if key not in reached]
        reached.update(fresh)
        waiting += fresh
    marked = (with_mark(memory, key in reached, key in own, mark) for key, memory in every.items())
    return [new for new, old in zip(marked, every.values(), strict=True) if new != old]


def with_mark(memory: Memory, on: bool, by_person: bool, mark: Mark = LOCAL_ONLY) -> Memory:
    """Return a memory with another mark, itself if it has that mark already."""
    inherited = on and not by_person
    if (mark.on(memory), getattr(memory, mark.inherited)) == (on, inherited):
        return memory
    return replace(memory, **{mark.field: on, mark.inherited: inherited})
