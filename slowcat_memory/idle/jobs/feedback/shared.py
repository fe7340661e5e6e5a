"""What jobs that judge queries share: which turns asked, what was told of them, and keys to keep."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

import numpy as np

from slowcat_memory.core.feedback.votes import surplus
from slowcat_memory.core.memory.chunk import chunk_id, turn_of
from slowcat_memory.core.memory.kinds import findable
from slowcat_memory.core.query.speakers import without_names
from slowcat_memory.idle.job import JobContext
from slowcat_memory.records import Key, LedgerEntry, Made, Memory, Turn, Vector, WriteBatch
from slowcat_memory.store import Snapshot

ASKED = "asked"  # kind of the keys
LOOKED_AT = 500  # turns that a plan reads at once: milliseconds
# Left out for what it is, not for what was asked: nothing to judge.
NOT_JUDGED = frozenset(("heard", "duplicate", "over", "gone"))


def said_since(snapshot: Snapshot, after: int) -> tuple[list[Turn], int]:
    """Read the turns behind a cursor.

    Args:
        snapshot: The store.
        after: Log id behind which to look.

    Returns:
        Some turns, in order, and the log id up to which that is all.
    """
    turns = list(islice(snapshot.turns(after=after), LOOKED_AT))
    return turns, turns[-1].id if turns else after


def is_query(turn: Turn) -> bool:
    """Tell whether a turn is a person's, and not said to the memory itself."""
    return turn.role == "user" and not turn.aside and bool(turn.text)


def readable(snapshot: Snapshot, scope: str, id_: str) -> Memory | None:
    """Read a memory that may be judged.

    Args:
        snapshot: The store.
        scope: Its namespace.
        id_: Its id.

    Returns:
        The memory; None when it is gone, retired, never searched for, an aside, or must not leave this
        machine: where the LLM runs is not known here.
    """
    memory = snapshot.read(scope, id_)
    if memory is None or memory.retired_at or memory.local_only or not findable(memory):
        return None
    turn = snapshot.turn(turn_of(id_))
    return None if turn is not None and turn.aside else memory


def told(snapshot: Snapshot, entry: LedgerEntry) -> Iterator[tuple[Memory, bool]]:
    """List what was weighed for a turn and can be judged.

    Memories of a namespace that people share are left out: a key keeps the words of one person.

    Args:
        snapshot: The store.
        entry: The turn's row of the ledger.

    Yields:
        Each memory, and whether it was put before the LLM; those first.
    """
    own = [(offer.memory, True) for offer in entry.offers if offer.scope in ("", entry.scope)]
    rest = [(one.memory, False) for one in entry.left_out if one.reason not in NOT_JUDGED]
    for id_, offered in own + rest:
        memory = readable(snapshot, entry.scope, id_)
        if memory is not None and entry.turn not in memory.sources:
            yield memory, offered


def private(snapshot: Snapshot, turn: Turn) -> bool:
    """Tell whether a turn's own words are hidden, or must not leave this machine."""
    return readable(snapshot, turn.scope, chunk_id(turn.id)) is None


async def keep(
    turn: Turn,
    judged: Mapping[str, float],
    speakers: Iterable[str],
    sources: tuple[int, ...],
    made: Made,
    kept: int,
    context: JobContext,
) -> WriteBatch:
    """Make keys of a judged query.

    Args:
        turn: The turn that asked.
        judged: What was thought of memories, by id, -1 to 1; 0 says nothing.
        speakers: Who speaks in them: their names are no part of a query's vector.
        sources: Log ids of the turns that the judgement was made from.
        made: Who judged.
        kept: How many judgements a memory keeps.
        context: Embeds, and reads those that are there.

    Returns:
        The keys, their vectors, and those that go.
    """
    said = {id_: weight for id_, weight in judged.items() if weight}
    if not said:
        return WriteBatch()
    embedded = await context.embed([without_names(turn.text, speakers)])
    keys = tuple(
        Key(
            scope=turn.scope,
            memory=id_,
            id=f"{id_}?a{turn.id}",
            kind=ASKED,
            text=turn.text,
            weight=weight,
            sources=sources,
            made=made,
        )
        for id_, weight in said.items()
    )
    with context.snapshot() as snapshot:
        drop = tuple(one for key in keys for one in _surplus(snapshot, key, kept))
    gone = {id_ for _, id_ in drop}
    keys = tuple(key for key in keys if key.id not in gone)
    vectors = tuple(
        Vector(scope=key.scope, memory=key.id, values=values, draft=True)
        for values in embedded.vectors[:1]
        for key in keys
    )
    return WriteBatch(keys=keys, drop_keys=drop, vectors=vectors, embedder=context.space)


def _surplus(snapshot: Snapshot, key: Key, kept: int) -> Iterator[tuple[str, str]]:
    """List the judgements of a memory that are too many with a new one."""
    there = [one for one in snapshot.keys(key.scope, key.memory) if one.kind == ASKED]
    every = [*(one for one in there if one.id != key.id), key]
    weights = np.array([one.weight for one in every])
    asked = np.array([max(one.sources, default=0) for one in every])
    for place in surplus(weights, asked, kept).tolist():
        yield every[place].scope, every[place].id
