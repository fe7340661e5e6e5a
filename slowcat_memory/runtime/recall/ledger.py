"""A turn's row of the ledger, made of the retrieval trace; and the query that a row belongs to.

The row holds ids, scores and times, no text: query and offers are read from the log when they are
looked at, so that forgetting them empties the ledger too.
"""

from msgspec.structs import replace

from slowcat_memory.core.memory import chunk_id
from slowcat_memory.core.query.recall_gate import GateOptions, judge
from slowcat_memory.core.query.understand import AskOptions, DialogueTurn, with_context
from slowcat_memory.core.render.memory_block import Packed
from slowcat_memory.records import LedgerEntry, Offer, Turn
from slowcat_memory.runtime.recall.query import Recollection
from slowcat_memory.store import Snapshot

MOST = 20  # memories in a row, offered or not
MOST_VISIBLE = 50


def entry(turn: Turn, found: Recollection, packed: Packed) -> LedgerEntry:
    """Return the row of a numbered turn: what recall found, and was injected. Takes 0.2 ms."""
    row = LedgerEntry(
        turn=turn.id,
        scope=turn.scope,
        session=turn.session,
        at=turn.at,
        stage=found.stage,
        offers=tuple(
            Offer(m.id, hit.score, hit.views, hit.probability, _elsewhere(m.scope, turn))
            for hit in packed.hits
            for m in (hit.memory,)
        ),
        tokens=packed.tokens,
        timings=found.timings,
    )
    if found.trace is None:
        return row
    recalled = {hit.memory.id for hit in found.hits}
    offered = {offer.memory for offer in row.offers}
    candidates = found.trace.candidates
    return replace(
        row,
        left_out=found.trace.left_out(recalled, offered, MOST - len(offered)),
        visible=tuple(candidates.excluded[:MOST_VISIBLE]),
        candidates=len(candidates.ids),
    )


def _elsewhere(scope: str, turn: Turn) -> str:
    return "" if scope == turn.scope else scope


def dialogue_before(snapshot: Snapshot, turn: Turn) -> tuple[DialogueTurn, ...]:
    """Return the two turns before a turn in its session, which it may refer to, oldest first."""
    found: list[DialogueTurn] = []
    id_ = turn.id
    while len(found) < 2 and (id_ := snapshot.turn_before(turn.scope, turn.session, id_)):
        if earlier := snapshot.turn(id_):
            found.append(DialogueTurn(earlier.text, earlier.at, chunk_id(id_)))
    return tuple(reversed(found))


def asked(
    snapshot: Snapshot, turn: Turn, options: AskOptions, gate: GateOptions, language: str
) -> str:
    """Return what was searched for at a turn.

    That is the turn's words without a greeting, and with those that a follow-up takes over from the
    dialogue; "" for a turn that needs no memory.
    """
    text = judge(turn.text, language).query if gate.enabled else turn.text
    dialogue = dialogue_before(snapshot, turn) if options.follow_up else ()
    return with_context(text, dialogue, turn.at) if text and dialogue else text
