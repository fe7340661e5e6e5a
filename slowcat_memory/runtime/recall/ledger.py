"""A turn's row of the ledger: from what recall weighed, and back to what it was asked.

The row holds ids, scores and times, no text: what was asked and what was offered are read from the
log when somebody wants to know, so that forgetting them empties the ledger too.
"""

from msgspec.structs import replace

from slowcat_memory.core.memory.chunk import chunk_id
from slowcat_memory.core.query.recall_gate import GateOptions, judge
from slowcat_memory.core.query.understand import AskOptions, DialogueTurn, with_context
from slowcat_memory.core.render.memory_block import Packed
from slowcat_memory.records import LedgerEntry, Offer, Turn
from slowcat_memory.runtime.recall.query import Recollection
from slowcat_memory.store import Snapshot

MOST = 20  # memories that a row tells of, offered or not
MOST_VISIBLE = 50


def entry(turn: Turn, found: Recollection, packed: Packed) -> LedgerEntry:
    """Write down what recall did for a turn: 0.2 ms, not while the turn waits.

    Args:
        turn: The user's turn, numbered.
        found: What recall returned.
        packed: What was injected of it.

    Returns:
        The row.
    """
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
    if found.weighed is None:
        return row
    recalled = {hit.memory.id for hit in found.hits}
    offered = {offer.memory for offer in row.offers}
    candidates = found.weighed.scored.found
    return replace(
        row,
        left_out=found.weighed.left_out(recalled, offered, MOST - len(offered)),
        visible=tuple(candidates.excluded[:MOST_VISIBLE]),
        candidates=len(candidates.ids),
    )


def _elsewhere(scope: str, turn: Turn) -> str:
    return "" if scope == turn.scope else scope


def dialogue_before(snapshot: Snapshot, turn: Turn) -> tuple[DialogueTurn, ...]:
    """Read the turns that a query could lean on.

    Args:
        snapshot: The store.
        turn: The turn that asked.

    Returns:
        The two turns before it in its session, oldest first.
    """
    said: list[DialogueTurn] = []
    id_ = turn.id
    while len(said) < 2 and (id_ := snapshot.turn_before(turn.scope, turn.session, id_)):
        if earlier := snapshot.turn(id_):
            said.append(DialogueTurn(earlier.text, earlier.at, chunk_id(id_)))
    return tuple(reversed(said))


def asked(
    snapshot: Snapshot, turn: Turn, options: AskOptions, gate: GateOptions, language: str
) -> str:
    """Make again what was searched for at a turn.

    Args:
        snapshot: The store.
        turn: The turn that asked.
        options: What is read out of a query.
        gate: Which turns need no memory.
        language: Of the gate's words.

    Returns:
        The turn's words without a greeting, with those that a follow-up leans on; "" for a turn
        that needs no memory.
    """
    text = judge(turn.text, language).query if gate.enabled else turn.text
    dialogue = dialogue_before(snapshot, turn) if options.follow_up else ()
    return with_context(text, dialogue, turn.at)[0].text if text and dialogue else text
