"""Writes a transcript's session to the log, once.

A session has the same id in the log each time its file is read, so importing a file again continues
where it stopped. Turns forgotten in the middle stay forgotten.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, tzinfo

from slowcat_memory.core.memory import chunk_id
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.records import Cursor, Event, Session, SessionEdge, Turn, WriteBatch
from slowcat_memory.store import Ack, Snapshot
from slowcat_memory.transfer.transcript import PACE, TranscriptSession, Utterance

REASON = "import"


def ingest(
    engine: MemoryEngine,
    scope: str,
    session: TranscriptSession,
    *,
    cursor: Cursor | None = None,
    zone: tzinfo | None = None,
) -> list[Ack]:
    """Log a session in one transaction: its start, its turns, its end. Does not wait for the disk.

    A transcript's turns keep their ids in ``Turn.origin``; an agent's turn replies to the user's
    turn before it. Returns an ack for each event, none when all turns are in the log already.

    Args:
        zone: Of times without a zone; None for the engine's.

    Raises:
        StoreError: The store cannot be written.
    """
    id_ = log_id(scope, session)
    with engine.snapshot() as snapshot:
        row = snapshot.session(id_)
        new = _new(snapshot, row, session) if row else range(len(session.utterances))
    events = list(_events(engine, scope, id_, session, new, row, zone or engine.zone))
    if events:
        return engine.append_all(events, cursor)
    if cursor is not None:
        engine.apply(REASON, WriteBatch(cursor=cursor))
    return []


def log_id(scope: str, session: TranscriptSession) -> str:
    """Return a session's id in the log.

    Its own id if it was exported from this scope, else a hash of scope, name and first turn.
    """
    if session.scope == scope:
        return session.id
    first = session.utterances[0] if session.utterances else None
    words = [scope, session.id, first and [first.speaker, first.text, str(first.at)]]
    return f"import-{hashlib.blake2b(json.dumps(words).encode(), digest_size=6).hexdigest()}"


def _new(snapshot: Snapshot, row: Session, session: TranscriptSession) -> range:
    """Return the positions after the last turn in the log."""
    last, every = snapshot.turn(row.last_turn), len(session.utterances)
    known = [i for i, said in enumerate(session.utterances) if last and _same(said, last, session)]
    return range(known[-1] + 1 if known else every, every)


def _same(said: Utterance, turn: Turn, session: TranscriptSession) -> bool:
    """Return whether an utterance is this turn.

    An exported utterance is identified by the turn's id if it comes from this store, else by its
    origin.
    """
    if not session.scope:
        return said.origin == turn.origin
    return said.origin in (str(turn.id), turn.origin) and said.text == turn.text


def _events(
    engine: MemoryEngine,
    scope: str,
    id_: str,
    session: TranscriptSession,
    new: Sequence[int],
    row: Session | None,
    zone: tzinfo,
) -> Iterator[Event]:
    if not new:
        return
    names = {"user": engine.config.memory.user_name, "assistant": engine.config.memory.agent_name}
    times = moments(session, zone)
    kind = "resume" if row else "start"
    yield SessionEdge(session=id_, scope=scope, kind=kind, at=times[new[0]], reason=REASON)  # type: ignore[arg-type]
    asked: int | None = None
    for i in new:
        said = session.utterances[i]
        if said.role == "user":
            asked = i
        back = 0 if asked is None else asked - i  # see ``Store.append_all``
        yield _turn(said, id_, scope, names[said.role], times[i], back)
    yield SessionEdge(session=id_, scope=scope, kind="end", at=times[-1], reason=REASON)


def _turn(
    said: Utterance, session: str, scope: str, default: str, at: datetime, reply_to: int
) -> Turn:
    return Turn(
        session=session,
        scope=scope,
        speaker=said.speaker or default,
        role=said.role,
        text=said.text,
        at=at,
        reply_to=reply_to,
        interrupted=said.interrupted,
        aside=said.aside,
        tools=said.tools,
        channel=said.channel,
        cut=said.cut,
        origin=said.origin,
        local_only=said.local_only,
    )


def moments(session: TranscriptSession, zone: tzinfo) -> list[datetime]:
    """Return the turns' times in UTC; one without a time is ten seconds after the one before."""
    times: list[datetime] = []
    for utterance in session.utterances:
        if utterance.at is not None:
            times.append(utc(utterance.at, zone))
        elif times:
            times.append(times[-1] + PACE)
        else:
            times.append(utc(session.started or datetime.now(UTC), zone))
    return times


def utc(at: datetime, zone: tzinfo) -> datetime:
    return (at if at.tzinfo else at.replace(tzinfo=zone)).astimezone(UTC)


def pins(session: TranscriptSession, acks: Sequence[Ack]) -> list[str]:
    """Return the ids of the memories pinned in the transcript; ``acks`` come from ``ingest``."""
    return _chunks({said.origin for said in session.utterances if said.pinned}, acks)


def _chunks(origins: set[str], acks: Sequence[Ack]) -> list[str]:
    turns = (ack.event for ack in acks if isinstance(ack.event, Turn))
    return [chunk_id(turn.id) for turn in turns if turn.origin in origins]
