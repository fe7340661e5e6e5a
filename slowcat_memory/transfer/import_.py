"""Imports files in steps that can be interrupted: at most ``BATCH`` turns a transaction.

A session that cannot be stored is reported, and the others are imported. A file is read whole before
anything of it is written (``transfer.reading``), within the limits of ``transfer.sources``.
"""

from collections.abc import Callable
from datetime import UTC, datetime, tzinfo
from pathlib import Path

from msgspec import Struct, field

from slowcat_memory.core.memory import chunk_id
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.errors import TranscriptError
from slowcat_memory.records import EdgeKind, Event, SessionEdge, Turn, WriteBatch
from slowcat_memory.runtime.namespaces.registry import check_scope, scope_of_user
from slowcat_memory.transfer import session_match
from slowcat_memory.transfer.reading import Options, Reading, readings
from slowcat_memory.transfer.session_match import Match, Overlaps
from slowcat_memory.transfer.transcript import PACE, Note, Report, TranscriptSession, Utterance, utc

Progress = Callable[[int, int], object]
REASON = "import"
BATCH = 500  # turns of a transaction, at most
# Fields that an utterance and its turn have alike.
_ALIKE = {*Utterance.__struct_fields__} & {*Turn.__struct_fields__} - {"speaker", "at"}


class Imported(Struct):
    """The result of an import; ``sessions`` counts those that are new, or longer than before."""

    sessions: int = 0
    turns: int = 0
    notes: int = 0
    known_turns: int = 0
    scopes: set[str] = field(default_factory=set)


class Where(Struct, frozen=True, kw_only=True):
    """Where an import goes, and what of a file it takes.

    Attributes:
        scope: The namespace; "" for the scope that a line was exported from, else ``own``.
        own: That of lines that name none; "" for the configured one.
        again: Also import what was imported before and forgotten since.
        undated: When a conversation without any date began; None for when the file was changed.
    """

    scope: str = ""
    own: str = ""
    again: bool = False
    undated: datetime | None = None


def import_file(
    memory: MemoryEngine,
    path: Path,
    *,
    scope: str = "",
    again: bool = False,
    on_error: Report,
    progress: Progress = lambda turns, of_turns: None,
) -> Imported:
    """Import every session of a file, folder or archive that is not in the log yet. Blocks.

    Args:
        memory: Where to.
        path: A file, a folder or a zip archive.
        scope: As in ``Where``, like ``again``.
        on_error: Called with an error for each unreadable line, and each session that cannot be
            stored.
        progress: Called after each session with the turns so far, and those of the file. If it
            raises, the sessions done are kept.

    Raises:
        TranscriptError: The file cannot be read.
        StoreError: The store cannot be written.
    """
    where = Where(scope=scope, again=again)
    options = Options(scoped=not scope, zone=memory.zone)
    done = Imported()
    for reading in readings(path, options, on_error, lambda error: None):
        for error in reading.faults:
            on_error(error)
        import_reading(memory, reading, where, done, on_error=on_error, progress=progress)
    return done


def import_reading(
    memory: MemoryEngine,
    reading: Reading,
    where: Where,
    done: Imported,
    *,
    on_error: Report,
    progress: Progress = lambda turns, of_turns: None,
) -> None:
    """Import a file, and add to what is ``done``. Blocks.

    Raises:
        StoreError: The store cannot be written.
    """
    own, turns = where.own or scope_of_user(memory.config.memory.user_id), 0
    overlaps = Overlaps()
    for chat in reading.transcripts(where.undated):
        scope = check_scope(where.scope or chat.scope or own)
        done.scopes.add(scope)
        for note in chat.notes:
            _keep_note(memory, scope, note)
        done.notes += len(chat.notes)
        for session in chat.sessions:
            try:
                ids = ingest(memory, scope, session, again=where.again, overlaps=overlaps)
            except ValueError as error:
                on_error(TranscriptError(f"session {session.id}: {error}"))
            else:
                new = len(ids)
                done.sessions += bool(new)
                done.turns += new
                done.known_turns += len(session.utterances) - new
            turns += len(session.utterances)
            progress(turns, reading.turns)


def _keep_note(memory: MemoryEngine, scope: str, note: Note) -> None:
    kept = memory.remember(
        note.text,
        scope,
        speaker=note.speaker,
        pinned=note.pinned,
        importance=note.importance,
        at=utc(note.at, memory.zone) if note.at else None,
        local_only=note.local_only,
    )
    if note.muted:
        memory.edit(scope, kept.id, muted=True)


def ingest(
    memory: MemoryEngine,
    scope: str,
    session: TranscriptSession,
    *,
    again: bool = False,
    overlaps: Overlaps | None = None,
) -> list[int]:
    """Log what is new of a session, in transactions of ``BATCH`` turns, and mark its turns.

    A transcript's turns keep their ids in ``Turn.origin``; an agent's turn replies to the user's
    turn before it. Waits for the disk after each transaction; a killed import goes on after the
    last. Returns the numbers of the new turns, none when all are in the log already.

    Args:
        again: As in ``session_match.find``.
        overlaps: What was in the log before; turns of it, by time and words, are not new.

    Raises:
        StoreError: The store cannot be written.
        ValueError: A turn is too large for the store.
    """
    times, every = moments(session, memory.zone), session.utterances
    with memory.snapshot() as snapshot:
        match = session_match.find(snapshot, scope, session, again=again)
        if overlaps is not None:
            match = overlaps.without(snapshot, scope, session, times, match)
    names = {"user": memory.config.memory.user_name, "assistant": memory.config.memory.agent_name}
    marks = any(said.pinned or said.muted for said in every)
    logged, asked = dict[int, int](), -1

    def edge(kind: EdgeKind, place: int) -> list[Event]:
        at = times[place]
        return [SessionEdge(session=match.id, scope=scope, kind=kind, at=at, reason=REASON)]

    for start in range(0, len(match.new), BATCH):
        places = match.new[start : start + BATCH]
        is_last = places[-1] == match.new[-1]
        events = edge("resume" if match.row else "start", places[0]) if not start else []
        for number, place in enumerate(places):
            said = every[place]
            asked = place if said.role == "user" else asked
            # A negative one counts from this event, see ``Store.append_all``.
            reply = logged.get(asked) or (places.index(asked) - number if asked >= 0 else 0)
            turn = Turn(
                session=match.id,
                scope=scope,
                speaker=said.speaker or names[said.role],
                at=times[place],
                reply_to=reply,
                **{name: getattr(said, name) for name in _ALIKE},
            )
            events.append(turn)
        events += edge("end", places[-1]) if is_last else []
        # The cursor says how far the session is imported, if that is a beginning of it.
        imported = every if is_last else every[: places[-1] + 1]
        is_begin = is_last or isinstance(match.new, range)
        cursor = session_match.done(match, imported, marked=not marks) if is_begin else None
        ack = memory.append(*events, cursor=cursor)
        ack.wait()
        first = ack.id - len(events) + 1 + (not start)  # behind the session's edge
        logged |= {place: first + number for number, place in enumerate(places)}
    if marks and (logged or match.unmarked):
        _mark(memory, scope, session, match, logged)
    return list(logged.values())


def _mark(
    memory: MemoryEngine, scope: str, session: TranscriptSession, match: Match, new: dict[int, int]
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
            memory.edit(scope, chunk_id(turn), pinned=said.pinned or None, muted=said.muted or None)
    cursor = session_match.done(match, session.utterances, marked=True)
    memory.apply(REASON, WriteBatch(cursor=cursor))


def moments(session: TranscriptSession, zone: tzinfo) -> list[datetime]:
    """Return the turns' times in UTC; one without a time is ten seconds after the one before."""
    times: list[datetime] = []
    for said in session.utterances:
        if said.at is None and times:
            times.append(times[-1] + PACE)
        else:
            times.append(utc(said.at or session.started or datetime.now(UTC), zone))
    return times
