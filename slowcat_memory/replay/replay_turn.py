"""Repeats the recall of a logged turn, to compare the result of that time with the present one.

The index is rebuilt from the data before the turn, so that word weights are those of the time;
the options are those of the engine's configuration. There is no deadline. The query is the turn's
own words, after the two turns before it. A turn of several speakers was one query at the time; only
its last part is used here.
"""

from collections.abc import Iterator

from msgspec import Struct

from slowcat_memory.core.memory import chunk_id
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.engine.search import recall_before
from slowcat_memory.errors import TranscriptError
from slowcat_memory.records import LedgerEntry, Memory, Turn
from slowcat_memory.runtime.recall.query import (
    Query,
    asked_text,
    dialogue_before,
    heard_words,
    ledger_entry,
)
from slowcat_memory.store import Snapshot

MOST_TURNS = 200_000  # their index takes 20 s and 1 GB


class Replayed(Struct, frozen=True, kw_only=True):
    """The recall of a turn, at its time and now."""

    turn: Turn
    asked: str  # the query: the turn's words, and the earlier turns that a follow-up depends on
    then: LedgerEntry | None  # the ledger's row; None when there is none, or no longer
    now: LedgerEntry  # the row that would be written
    memories: dict[str, Memory]  # the memories of both rows that still exist, by id


def replay_turn(engine: MemoryEngine, number: int) -> Replayed:
    """Repeat the recall of a user's turn on the data before it. Blocks.

    Takes a second and 60 MB for 10,000 turns. The engine must be in this process, and may be
    read-only.

    Raises:
        TranscriptError: It is no user's turn, or its scope has too many turns.
    """
    with engine.snapshot() as snapshot:
        turn = _turn(snapshot, number)
        then = snapshot.ledger(number)
        dialogue = dialogue_before(snapshot, turn)
        asked = asked_text(
            snapshot, turn, engine.config.ask, engine.config.gate, engine.config.memory.language
        )
        visible = then.visible if then else _said_in_session(snapshot, turn)
        heard = heard_words(snapshot, then) if then else frozenset()
    query = Query(
        text=turn.text,
        scope=turn.scope,
        now=turn.at,
        exclude=frozenset(visible),
        exclude_words=heard,
        dialogue=dialogue,
    )
    found = recall_before(engine, turn, query)
    now = ledger_entry(turn, found, engine.blocks.pack(found, turn.at))
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


def _said_in_session(snapshot: Snapshot, turn: Turn) -> list[str]:
    """Return the chunks of earlier turns of the session, which presumably were in the context."""
    session = snapshot.session(turn.session)
    first = session.first_turn if session else turn.id
    said = snapshot.turns(turn.scope, after=first - 1, upto=turn.id - 1)
    return [chunk_id(one.id) for one in said if one.session == turn.session]


def _memories(snapshot: Snapshot, *rows: LedgerEntry | None) -> Iterator[Memory]:
    for row in filter(None, rows):
        for memory_id in row.memories:
            if memory := snapshot.read(row.scope, memory_id):
                yield memory
