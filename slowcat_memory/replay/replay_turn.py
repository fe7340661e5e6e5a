"""A turn of the log, recalled again as of then: what was offered, and what would be.

The index is made anew of what was there before the turn, so that words weigh what they weighed; the
options are those of today's configuration, or of the one that is to be tried. There is no deadline.
The query is the turn's own words, after the two turns before it; a turn to which several people
spoke was one query then and is its last part now.
"""

from collections.abc import Iterator

from msgspec import Struct

from slowcat_memory.core.memory.chunk import chunk_id
from slowcat_memory.core.text.normalize import fingerprint
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.engine.search import recall_before
from slowcat_memory.errors import TranscriptError
from slowcat_memory.records import LedgerEntry, Memory, Turn
from slowcat_memory.runtime.recall import ledger
from slowcat_memory.runtime.recall.query import Query
from slowcat_memory.runtime.recall.scoring import LeftOutReason
from slowcat_memory.store import Snapshot

MOST_TURNS = 200_000  # their index takes 20 s and 1 GB, which is enough for a look


class Replayed(Struct, frozen=True, kw_only=True):
    """A turn, then and now.

    Attributes:
        turn: The turn.
        asked: What was searched for: its words, and those it leans on.
        then: The ledger's row, None when there is none, or no longer.
        now: The row that would be written.
        memories: Those of both rows that still exist, by id.
    """

    turn: Turn
    asked: str
    then: LedgerEntry | None
    now: LedgerEntry
    memories: dict[str, Memory]


def replay_turn(engine: MemoryEngine, number: int) -> Replayed:
    """Recall a turn again, from what was there before it. Blocks.

    Takes a second and 60 MB for 10,000 turns.

    Args:
        engine: Open, readonly will do.
        number: Log id of a person's turn.

    Returns:
        What was, and what would be.

    Raises:
        TranscriptError: There is no such turn, or too much was said before it.
    """
    with engine.snapshot() as snapshot:
        turn = _turn(snapshot, number)
        then = snapshot.ledger(number)
        dialogue = ledger.dialogue_before(snapshot, turn)
        asked = ledger.asked(
            snapshot, turn, engine.config.ask, engine.config.gate, engine.config.memory.language
        )
        visible = then.visible if then else _said_in_session(snapshot, turn)
        heard = frozenset(_heard(snapshot, then)) if then else frozenset[str]()
    query = Query(
        text=turn.text,
        scope=turn.scope,
        now=turn.at,
        exclude=frozenset(visible),
        exclude_words=heard,
        dialogue=dialogue,
    )
    found = recall_before(engine, turn, query)
    now = ledger.entry(turn, found, engine.pack(found, turn.at))
    with engine.snapshot() as snapshot:
        memories = {memory.id: memory for memory in _memories(snapshot, then, now)}
    return Replayed(turn=turn, asked=asked, then=then, now=now, memories=memories)


def _turn(snapshot: Snapshot, number: int) -> Turn:
    turn = snapshot.turn(number)
    if turn is None or turn.role != "user":
        raise TranscriptError(
            f"{number} is no turn of a person", hint="`show --last 20` lists them"
        )
    if sum(session.turns for session in snapshot.sessions(turn.scope)) > MOST_TURNS:
        raise TranscriptError(
            f"scope {turn.scope} holds more than {MOST_TURNS:,} turns: too many to replay"
        )
    return turn


def _heard(snapshot: Snapshot, row: LedgerEntry) -> Iterator[str]:
    """Tell which words stood in the context then, as far as they kept a memory out."""
    for one in row.left_out:
        if one.reason == LeftOutReason.ALREADY_VISIBLE and (
            memory := snapshot.read(row.scope, one.memory)
        ):
            yield fingerprint(memory.text)


def _said_in_session(snapshot: Snapshot, turn: Turn) -> list[str]:
    """Take what was said in the session before for what stood in the context."""
    session = snapshot.session(turn.session)
    first = session.first_turn if session else turn.id
    said = snapshot.turns(turn.scope, after=first - 1, upto=turn.id - 1)
    return [chunk_id(one.id) for one in said if one.session == turn.session]


def _memories(snapshot: Snapshot, *rows: LedgerEntry | None) -> Iterator[Memory]:
    for row in filter(None, rows):
        for memory_id in row.memories:
            if memory := snapshot.read(row.scope, memory_id):
                yield memory
