"""Writes a transcript's session to the log, once (see ``session_match``)."""

from collections.abc import Iterator
from datetime import UTC, datetime, tzinfo

from slowcat_memory.core.memory import chunk_id
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.records import Event, SessionEdge, Turn, WriteBatch
from slowcat_memory.store import Ack
from slowcat_memory.transfer import session_match
from slowcat_memory.transfer.transcript import PACE, TranscriptSession, Utterance

REASON = "import"


def ingest(
    engine: MemoryEngine,
    scope: str,
    session: TranscriptSession,
    *,
    zone: tzinfo | None = None,
    again: bool = False,
) -> list[Ack]:
    """Log what is new of a session in one transaction, and mark its turns. Waits for the disk.

    A transcript's turns keep their ids in ``Turn.origin``; an agent's turn replies to the user's
    turn before it. Returns an ack for each event, none when all turns are in the log already.

    Args:
        zone: Of times without a zone; None for the engine's.
        again: As in ``session_match.find``.

    Raises:
        StoreError: The store cannot be written.
        ValueError: A turn is too large for the store.
    """
    with engine.snapshot() as snapshot:
        match = session_match.find(snapshot, scope, session, again=again)
    marks = any(said.pinned for said in session.utterances)
    events = list(_events(engine, scope, session, match, zone or engine.zone))
    acks: list[Ack] = []
    if events:
        acks = engine.append_all(events, session_match.done(match, session, marked=not marks))
        acks[-1].wait()
    if marks and (events or match.unmarked):
        _mark(engine, scope, session, match, [ack.id for ack in acks[1:-1]])
    return acks


def _mark(
    engine: MemoryEngine,
    scope: str,
    session: TranscriptSession,
    match: session_match.Match,
    turns: list[int],
) -> None:
    """Pin what the transcript says; a kill before the end has it done again.

    ``turns`` are the log ids of the new ones.
    """
    logged = dict(zip(match.new, turns, strict=True)) if turns else {}
    if match.unmarked:
        with engine.snapshot() as snapshot:
            logged = session_match.in_log(snapshot, match, session) | logged
    for place, turn in logged.items():
        if session.utterances[place].pinned:
            engine.mark(scope, chunk_id(turn), pinned=True)
    cursor = session_match.done(match, session, marked=True)
    engine.apply(REASON, WriteBatch(cursor=cursor))


def _events(
    engine: MemoryEngine,
    scope: str,
    session: TranscriptSession,
    match: session_match.Match,
    zone: tzinfo,
) -> Iterator[Event]:
    new, id_ = match.new, match.id
    if not new:
        return
    names = {"user": engine.config.memory.user_name, "assistant": engine.config.memory.agent_name}
    times = moments(session, zone)
    kind = "resume" if match.row else "start"
    yield SessionEdge(session=id_, scope=scope, kind=kind, at=times[new[0]], reason=REASON)  # type: ignore[arg-type]
    asked: int | None = None
    for number, i in enumerate(new):
        said = session.utterances[i]
        if said.role == "user":
            asked = number
        back = 0 if asked is None else asked - number  # see ``Store.append_all``
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
        doubted=said.doubted,
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
