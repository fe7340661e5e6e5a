"""A transcript's session to the log, once.

A session keeps one id in the log however often its file is read, so that a file which was imported
half, or has grown since, goes on where it stopped. What a person has forgotten out of the middle
stays forgotten.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, tzinfo

from slowcat_memory.core.memory import chunk_id
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.records import Cursor, Event, Session, SessionEdge, Turn, WriteBatch
from slowcat_memory.store import Ack, Snapshot
from slowcat_memory.transfer.formats import PACE
from slowcat_memory.transfer.transcript import TranscriptSession, Utterance

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

    A transcript's turns keep their ids in ``Turn.origin``; an agent's turn replies to the last
    turn of a person before it.

    Args:
        session: From ``read``.
        zone: Of times that name none; None for the engine's.

    Returns:
        An ack for each event; none when all of it is in the log already.

    Raises:
        StoreError: It cannot be taken.
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
    """Tell under which id a session of a transcript is in the log.

    Returns:
        Its own id when it was exported from this very scope; else one that its scope, its name and
        its first words yield, the same every time.
    """
    if session.scope == scope:
        return session.id
    first = session.utterances[0] if session.utterances else None
    words = [scope, session.id, first and [first.speaker, first.text, str(first.at)]]
    return f"import-{hashlib.blake2b(json.dumps(words).encode(), digest_size=6).hexdigest()}"


def _new(snapshot: Snapshot, row: Session, session: TranscriptSession) -> range:
    """Find the turns that come after the last one that the log has."""
    last, every = snapshot.turn(row.last_turn), len(session.utterances)
    known = [i for i, said in enumerate(session.utterances) if last and _same(said, last, session)]
    return range(known[-1] + 1 if known else every, every)


def _same(said: Utterance, turn: Turn, session: TranscriptSession) -> bool:
    """Return whether an utterance is a turn of the log.

    An export numbers turns as its store did: this one, or one that this one's turns came from.
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
    )


def moments(session: TranscriptSession, zone: tzinfo) -> list[datetime]:
    """Say when each turn of a session was.

    Args:
        session: From ``read``.

    Returns:
        Times in UTC; a turn without one comes ten seconds after the turn before it.
    """
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
    """Place a time.

    Args:
        at: A time, naive when it names no zone.

    Returns:
        The time in UTC.
    """
    return (at if at.tzinfo else at.replace(tzinfo=zone)).astimezone(UTC)


def pins(session: TranscriptSession, acks: Sequence[Ack]) -> list[str]:
    """Name the memories that were pinned where the session comes from.

    Args:
        acks: What ``ingest`` returned for it.
    """
    return _chunks({said.origin for said in session.utterances if said.pinned}, acks)


def local_only(session: TranscriptSession, acks: Sequence[Ack]) -> list[str]:
    """Name the memories that stayed on the machine where the session comes from.

    Args:
        acks: What ``ingest`` returned for it.
    """
    return _chunks({said.origin for said in session.utterances if said.local_only}, acks)


def _chunks(origins: set[str], acks: Sequence[Ack]) -> list[str]:
    turns = (ack.event for ack in acks if isinstance(ack.event, Turn))
    return [chunk_id(turn.id) for turn in turns if turn.origin in origins]
