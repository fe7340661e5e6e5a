"""Writes a transcript's session to the log, once (see ``session_match``)."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, tzinfo

from msgspec.structs import replace

from slowcat_memory.core.memory import chunk_id
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.records import Cursor, EdgeKind, Event, SessionEdge, Turn, WriteBatch
from slowcat_memory.store import Ack
from slowcat_memory.transfer import session_match
from slowcat_memory.transfer.session_match import Match, Overlaps
from slowcat_memory.transfer.transcript import PACE, TranscriptSession, Utterance

REASON = "import"
BATCH = 500  # turns of a transaction, at most
# Fields that an utterance and its turn have alike.
_ALIKE = {*Utterance.__struct_fields__} & {*Turn.__struct_fields__} - {"speaker", "at"}


def ingest(
    memory: MemoryEngine,
    scope: str,
    session: TranscriptSession,
    *,
    zone: tzinfo | None = None,
    again: bool = False,
    overlaps: Overlaps | None = None,
) -> list[Ack]:
    """Log what is new of a session, in transactions of ``BATCH`` turns, and mark its turns.

    A transcript's turns keep their ids in ``Turn.origin``; an agent's turn replies to the user's
    turn before it. Waits for the disk after each transaction; a killed import goes on after the
    last. Returns an ack for each event, none when all turns are in the log already.

    Args:
        zone: Of times without a zone; None for the memory's.
        again: As in ``session_match.find``.
        overlaps: What was in the log before; turns of it, by time and words, are not new.

    Raises:
        StoreError: The store cannot be written.
        ValueError: A turn is too large for the store.
    """
    times = moments(session, zone or memory.zone)
    with memory.snapshot() as snapshot:
        match = session_match.find(snapshot, scope, session, again=again)
        if overlaps is not None:
            match = overlaps.without(snapshot, scope, session, times, match)
    marks = any(said.pinned or said.muted for said in session.utterances)
    acks, logged = list[Ack](), dict[int, int]()
    for places in _batches(match.new):
        events = _events(memory, scope, session, match, places, times, logged)
        cursor = _cursor(match, session, places, marked=not marks)
        written = memory.append_all(events, cursor)
        written[-1].wait()
        begun = places[0] == match.new[0]  # with an edge in front
        turns = written[begun:][: len(places)]
        logged |= dict(zip(places, (ack.id for ack in turns), strict=True))
        acks += written
    if marks and (acks or match.unmarked):
        _mark(memory, scope, session, match, logged)
    return acks


def _batches(new: Sequence[int]) -> Iterator[Sequence[int]]:
    return (new[at : at + BATCH] for at in range(0, len(new), BATCH))


def _cursor(
    match: Match, session: TranscriptSession, places: Sequence[int], *, marked: bool
) -> Cursor | None:
    """Return how far the session is imported after a batch; None when that is no beginning of it."""
    if places[-1] == match.new[-1]:
        return session_match.done(match, session, marked=marked)
    if not isinstance(match.new, range):
        return None
    so_far = replace(session, utterances=session.utterances[: places[-1] + 1])
    return session_match.done(match, so_far, marked=marked)


def _mark(
    memory: MemoryEngine,
    scope: str,
    session: TranscriptSession,
    match: Match,
    new: dict[int, int],
) -> None:
    """Pin and mute what the transcript says; a kill before the end has it done again.

    ``new`` has the log ids of the new turns, by their places.
    """
    logged = dict(new)
    if match.unmarked:
        with memory.snapshot() as snapshot:
            logged = session_match.in_log(snapshot, match, session) | new
    for place, turn in logged.items():
        said = session.utterances[place]
        if said.pinned or said.muted:
            memory.mark(scope, chunk_id(turn), pinned=said.pinned or None, muted=said.muted or None)
    cursor = session_match.done(match, session, marked=True)
    memory.apply(REASON, WriteBatch(cursor=cursor))


def _events(
    memory: MemoryEngine,
    scope: str,
    session: TranscriptSession,
    match: Match,
    places: Sequence[int],
    times: Sequence[datetime],
    logged: dict[int, int],
) -> list[Event]:
    """Return the events of one batch; ``logged`` has the log ids of the turns before it."""
    names = {"user": memory.config.memory.user_name, "assistant": memory.config.memory.agent_name}
    events = list[Event]()
    if places[0] == match.new[0]:
        kind: EdgeKind = "resume" if match.row else "start"
        events.append(_edge(match.id, scope, kind, times[places[0]]))
    before = max((at for at in logged if session.utterances[at].role == "user"), default=None)
    asked: int | None = None  # the user's latest turn in this batch
    for number, i in enumerate(places):
        said = session.utterances[i]
        reply = 0 if before is None else logged[before]
        if said.role == "user":
            asked = number
        if asked is not None:
            reply = asked - number  # see ``Store.append_all``
        events.append(_turn(said, match.id, scope, names[said.role], times[i], reply))
    if places[-1] == match.new[-1]:
        events.append(_edge(match.id, scope, "end", times[-1]))
    return events


def _edge(session: str, scope: str, kind: EdgeKind, at: datetime) -> SessionEdge:
    return SessionEdge(session=session, scope=scope, kind=kind, at=at, reason=REASON)


def _turn(
    said: Utterance, session: str, scope: str, default: str, at: datetime, reply_to: int
) -> Turn:
    return Turn(
        session=session,
        scope=scope,
        speaker=said.speaker or default,
        at=at,
        reply_to=reply_to,
        **{name: getattr(said, name) for name in _ALIKE},
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
