"""Shared by the jobs that judge queries: queries, what was recalled, and the keys."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from slowcat_memory.core.commands.reaction import reaction
from slowcat_memory.core.disclosure import is_withheld
from slowcat_memory.core.memory import chunk_id, findable, turn_of
from slowcat_memory.core.query.understand import without_names
from slowcat_memory.idle.job import JobContext
from slowcat_memory.records import Key, LedgerEntry, Made, Memory, Turn, Vector, WriteBatch
from slowcat_memory.store import Snapshot

JUDGED_QUERY = "asked"  # kind of the keys
LOOKED_AT = 500  # turns that a plan reads at once: milliseconds
REACTION_WORDS = 12  # "no, I meant the one we booked" is understood only with what came before
# Memories rejected for a reason unrelated to the query.
NOT_JUDGED = frozenset(("heard", "duplicate", "over", "gone"))


def turns_since(snapshot: Snapshot, after: int) -> tuple[list[Turn], int]:
    """Return some turns behind a log id, in order, and the log id up to which they are complete."""
    turns = list(islice(snapshot.turns(after=after), LOOKED_AT))
    return turns, turns[-1].id if turns else after


def is_query(turn: Turn) -> bool:
    """Return whether a turn is a user's, and no voice command."""
    return turn.role == "user" and not turn.aside and bool(turn.text)


def judgeable(snapshot: Snapshot, scope: str, id_: str) -> Memory | None:
    """Return a memory that may be judged.

    None if it is gone, retired, never searched for, an aside, or local-only: it is not known here
    where the LLM runs.
    """
    memory = snapshot.read(scope, id_)
    if memory is None or memory.retired_at or is_withheld(memory) or not findable(memory):
        return None
    turn = snapshot.turn(turn_of(id_))
    return None if turn is not None and turn.aside else memory


def candidates(snapshot: Snapshot, entry: LedgerEntry) -> Iterator[tuple[Memory, bool]]:
    """Yield the judgeable memories ranked for a turn, and whether each was put into the prompt.

    Offered ones come first. Memories of shared namespaces are excluded: a key keeps one person's
    words.
    """
    own = [(offer.memory, True) for offer in entry.offers if offer.scope in ("", entry.scope)]
    rest = [(one.memory, False) for one in entry.left_out if one.reason not in NOT_JUDGED]
    for id_, offered in own + rest:
        memory = judgeable(snapshot, entry.scope, id_)
        if memory is not None and entry.turn not in memory.sources:
            yield memory, offered


def is_private(snapshot: Snapshot, turn: Turn) -> bool:
    """Return whether a turn's own words are hidden or local-only."""
    return judgeable(snapshot, turn.scope, chunk_id(turn.id)) is None


def before_reaction(snapshot: Snapshot, turn: Turn) -> Turn | None:
    """Return the turn before a short one, or a reaction, of its session.

    None for any other turn, which is judged by its own words, and if the turn before is private.
    """
    if len(turn.text.split()) > REACTION_WORDS and reaction(turn.text) is None:
        return None
    id_ = snapshot.turn_before(turn.scope, turn.session, turn.id)
    before = snapshot.turn(id_) if id_ else None
    return None if before is None or before.aside or is_private(snapshot, before) else before


async def judgements(
    turn: Turn,
    judged: Mapping[str, float],
    speakers: Iterable[str],
    sources: tuple[int, ...],
    made: Made,
    kept: int,
    context: JobContext,
) -> WriteBatch:
    """Return the keys that keep a query's judgements, their vectors, and the keys they displace.

    Args:
        judged: Judgement by memory id, -1 to 1; 0 carries no information.
        speakers: Speakers of the memories: their names are no part of a query's vector.
        sources: Log ids of the turns that the judgement was made from.
    """
    weights = {id_: weight for id_, weight in judged.items() if weight}
    if not weights:
        return WriteBatch()
    embedded = await context.embed([without_names(turn.text, speakers)])
    keys = tuple(
        Key(
            scope=turn.scope,
            memory=id_,
            id=f"{id_}?a{turn.id}",
            kind=JUDGED_QUERY,
            text=turn.text,
            weight=weight,
            sources=sources,
            made=made,
        )
        for id_, weight in weights.items()
    )
    with context.snapshot() as snapshot:
        drop = tuple(one for key in keys for one in _displaced(snapshot, key, kept))
    gone = {id_ for _, id_ in drop}
    keys = tuple(key for key in keys if key.id not in gone)
    vectors = tuple(
        Vector(scope=key.scope, memory=key.id, values=values)
        for values in embedded.vectors[:1]
        for key in keys
    )
    return WriteBatch(keys=keys, drop_keys=drop, vectors=vectors, embedder=context.space)


def _displaced(snapshot: Snapshot, key: Key, kept: int) -> Iterator[tuple[str, str]]:
    """Yield (scope, id) of a memory's judgements that exceed ``kept`` with a new one."""
    there = [one for one in snapshot.keys(key.scope, key.memory) if one.kind == JUDGED_QUERY]
    every = [*(one for one in there if one.id != key.id), key]
    weakest_first = sorted(every, key=lambda one: (abs(one.weight), max(one.sources, default=0)))
    for one in weakest_first[: max(0, len(every) - kept)]:
        yield one.scope, one.id
