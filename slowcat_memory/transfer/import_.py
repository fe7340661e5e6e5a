"""Imports files in steps that can be interrupted: at most ``BATCH`` turns a transaction.

A session that cannot be stored is reported, and the others are imported. A file is read whole before
anything of it is written (``transfer.reading``), within its limits.
"""

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, tzinfo
from itertools import accumulate, count

from msgspec import Struct

from slowcat_memory.core.memory import chunk_id, session_in
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.engine.notes import first_id
from slowcat_memory.errors import TranscriptError
from slowcat_memory.records import Cursor, EdgeKind, Event, Session, SessionEdge, Turn, WriteBatch
from slowcat_memory.runtime.namespaces.registry import check_scope, scope_of_user
from slowcat_memory.store import Snapshot
from slowcat_memory.transfer.reading import FileReading
from slowcat_memory.transfer.transcript import PACE, Report, TranscriptSession, Utterance, utc

Progress = Callable[[int, int], object]
REASON = "import"
BATCH = 500  # turns of a transaction, at most
ID_BYTES = 200  # longest id that is taken over from a file; table keys hold at most 511
KEY_BYTES = 6  # of a turn's hash: among 100,000 turns one in 30,000 imports would lose one
# Fields that an utterance and its turn have alike.
_ALIKE = {*Utterance.__struct_fields__} & {*Turn.__struct_fields__} - {"speaker", "at"}


class Imported(Struct):
    """The result of an import; ``sessions`` counts those that are new, or longer than before."""

    sessions: int = 0
    turns: int = 0
    notes: int = 0
    known_turns: int = 0
    scopes: set[str] = set()


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


def import_reading(
    memory: MemoryEngine,
    reading: FileReading,
    where: Where,
    done: Imported,
    *,
    on_error: Report,
    progress: Progress = lambda turns, of_turns: None,
) -> None:
    """Import a file, and add to what is ``done``. Blocks.

    Args:
        progress: Called after each session with the turns so far, and those of the file. If it
            raises, the sessions done are kept.

    Raises:
        StoreError: The store cannot be written.
    """
    own, turns = where.own or scope_of_user(memory.config.memory.user_id), 0
    logs: dict[str, Log] = {}
    for chat in reading.transcripts(where.undated):
        scope = check_scope(where.scope or chat.scope or own)
        done.scopes.add(scope)
        with memory.snapshot() as snapshot:
            if scope not in logs:
                logs[scope] = Log(snapshot, scope, again=where.again)
            forgotten = [snapshot.is_forgotten(scope, first_id(scope, n.text)) for n in chat.notes]
        for note, gone in zip(chat.notes, forgotten, strict=True):
            if where.again or not gone:
                kept = memory.remember(
                    note.text,
                    scope,
                    speaker=note.speaker,
                    pinned=note.pinned,
                    importance=note.importance,
                    at=note.at and utc(note.at, memory.zone),
                    local_only=note.local_only,
                )
                memory.edit(scope, kept.id, muted=note.muted or None)
                done.notes += 1
        for session in chat.sessions:
            try:
                ids = ingest(memory, scope, session, log=logs[scope])
            except ValueError as error:
                on_error(TranscriptError(f"session {session.id}: {error}"))
            else:
                new = len(ids)
                done.sessions += bool(new)
                done.turns += new
                done.known_turns += len(session.utterances) - new
            turns += len(session.utterances)
            progress(turns, reading.turns)


class Match(Struct, frozen=True, kw_only=True):
    """A session of a file and its counterpart in the log.

    Attributes:
        id: Its id in the log.
        row: Its row, None if nothing of it is in the log.
        keys: By what its turns are known again, as in ``Log``.
        imported: The keys of those that were imported before, or of all that its cursor has.
        logged: The log ids of those that are in the log, by their places.
        new: The places of those to import.
    """

    id: str
    row: Session | None
    keys: Sequence[str]
    imported: Sequence[str]
    logged: dict[int, int]
    new: Sequence[int]


class Log:
    """What the log of a scope had of a file's turns before the file is imported.

    A turn is known by its time and words, beyond its session by its speaker too, without a time by
    its session and words: once for each such turn in the log, and for each that was imported, as a
    cursor for each session says. So a file that has grown, another export of the same chat and an
    import that was stopped go on where they must, and what was forgotten stays forgotten.
    """

    def __init__(self, snapshot: Snapshot, scope: str, *, again: bool = False) -> None:
        """Know the sessions; their turns are read when they are needed.

        Args:
            again: Forget what was imported of sessions of which nothing is in the log.
        """
        self._scope, self._again = scope, again
        self._rows = {row.id: row for row in snapshot.sessions(scope)}
        self._read_of: dict[str, tuple[list[str], list[Turn]]] = {}
        self._turns = defaultdict[tuple[datetime | str, str], list[Turn]](list)
        self._imported, self._taken, self._used = Counter[str](), set[int](), set[str]()

    def match(
        self, snapshot: Snapshot, session: TranscriptSession, times: Sequence[datetime]
    ) -> Match:
        """Find what is new of a session; each of its turns takes away one that is like it.

        Args:
            times: Of its turns, in UTC.
        """
        every = session.utterances
        dated = [at for at, utterance in zip(times, every, strict=True) if utterance.at]
        for other in self._rows.values():
            if dated and other.started <= max(dated) and other.last >= min(dated):
                self._read(snapshot, other.id)
        name = next(name for name in self._names(session) if self._is(snapshot, name, session))
        self._used.add(name)
        row, keys, logged, new = self._row(name), _keys(name, every), dict[int, Turn](), list[int]()
        for place, (key, utterance) in enumerate(zip(keys, every, strict=True)):
            alike = self._turns[times[place] if utterance.at else name, utterance.text]
            free = [turn for turn in alike if turn.id not in self._taken]
            own = (turn for turn in free if row and turn.session == row.id)
            # Another export of a chat may begin elsewhere, and name its speakers differently.
            others = (t for t in free if not row or utterance.speaker in ("", t.speaker))
            turn = next(own, None) or next(others, None)
            if turn is not None:
                self._taken.add(turn.id)
                logged[place] = turn
            # What is in the log for others was imported for them.
            if self._imported[key] > (0 if turn else len(free)):
                self._imported[key] -= 1
            elif turn is None:
                new.append(place)
        if row is None and logged:  # it begins in the middle of a session that is there
            row = self._rows[next(iter(logged.values())).session]
        id = row.id if row else name
        imported, _ = self._read(snapshot, id)
        if row and logged and not imported:  # talked, not imported: what is missing was forgotten
            new = [place for place in new if place > max(logged)]
        ids = {place: turn.id for place, turn in logged.items()}
        return Match(id=id, row=row, keys=keys, imported=imported, logged=ids, new=new)

    def _names(self, session: TranscriptSession) -> Iterator[str]:
        """Yield the ids that a session may have, without its scope.

        Its own if it was exported from this scope, else a hash of scope, name and first words. A
        number tells sessions apart that begin alike. The number of an unnamed session with dates is
        no part of its name: sessions may be added before it.
        """
        if session.scope == self._scope and len(session.id.encode()) <= ID_BYTES:
            yield session.id
        first = session.utterances[0] if session.utterances else None
        name = "" if session.numbered and first and first.at else session.id
        begin = [self._scope, name, first and [first.text, str(first.at)]]
        for number in count(1):
            yield f"import-{_hash([*begin, number])}"

    def _is(self, snapshot: Snapshot, name: str, session: TranscriptSession) -> bool:
        """Return whether a session may have a name: nobody has it, or one with half of its words."""
        if name in self._used:
            return False
        row, every = self._row(name), session.utterances
        imported, turns = self._read(snapshot, row.id if row else name)
        shared = max(
            (Counter(imported) & Counter(_keys(name, every))).total(),
            (Counter(turn.text for turn in turns) & Counter(item.text for item in every)).total(),
        )
        most = max(len(imported), len(turns))
        return 2 * shared >= min(most, len(every)) and bool(shared or not most)

    def _row(self, name: str) -> Session | None:
        return self._rows.get(name) or self._rows.get(session_in(name, self._scope))

    def _read(self, snapshot: Snapshot, id: str) -> tuple[list[str], list[Turn]]:
        """Return the keys of a session's cursor, and its turns in the log; both are known now."""
        if id not in self._read_of:
            row, turns = self._rows.get(id), list[Turn]()
            cursor = snapshot.cursor(_cursor_name(self._scope, id))
            keys = cursor.note.split() if cursor and (row or not self._again) else []
            if row is not None:
                logged = snapshot.turns(self._scope, row.first_turn - 1, row.last_turn)
                turns = [turn for turn in logged if turn.session == id]
            for turn in turns:
                self._turns[turn.at, turn.text].append(turn)
                self._turns[_plain(self._scope, id), turn.text].append(turn)
            self._imported.update(keys)
            self._read_of[id] = keys, turns
        return self._read_of[id]


def _keys(name: str, utterances: Sequence[Utterance]) -> list[str]:
    return [_hash([str(utterance.at or name), utterance.text]) for utterance in utterances]


def _plain(scope: str, id: str) -> str:
    """Return a session's id without the scope that the store may have added."""
    return id.removesuffix(session_in("", scope))


def _cursor_name(scope: str, id: str) -> str:
    return f"import/{_hash([scope, _plain(scope, id)])}"  # an id may contain words


def _hash(value: object) -> str:
    return hashlib.blake2b(json.dumps(value).encode(), digest_size=KEY_BYTES).hexdigest()


def ingest(
    memory: MemoryEngine,
    scope: str,
    session: TranscriptSession,
    *,
    log: Log | None = None,
) -> list[int]:
    """Log what is new of a session, in transactions of ``BATCH`` turns, and mark its turns.

    A transcript's turns keep their ids in ``Turn.origin``; an agent's turn replies to the user's
    turn before it. Waits for the disk after each transaction; a killed import goes on after the
    last. Returns the numbers of the new turns, none when all are in the log already.

    Args:
        log: What is in the log of the file that the session is of.

    Raises:
        StoreError: The store cannot be written.
        ValueError: A turn is too large for the store.
    """
    times, every = moments(session, memory.zone), session.utterances
    with memory.snapshot() as snapshot:
        match = (log or Log(snapshot, scope)).match(snapshot, session, times)
    names = {"user": memory.config.memory.user_name, "assistant": memory.config.memory.agent_name}
    logged, stored, keys = dict[int, int](), dict(match.logged), [*match.imported]
    asks = (place if utterance.role == "user" else -1 for place, utterance in enumerate(every))
    latest = [*accumulate(asks, max)]  # the user's turn that each turn is, or replies to
    marked = [
        place
        for place, utterance in enumerate(every)
        if (utterance.pinned or utterance.muted) and match.keys[place] not in match.imported
    ]

    def cursor() -> Cursor:
        name = _cursor_name(scope, match.id)
        return Cursor(name=name, position=len(keys), note=" ".join(keys), in_log=False)

    def edge(kind: EdgeKind, place: int) -> list[Event]:
        at = times[place]
        return [SessionEdge(session=match.id, scope=scope, kind=kind, at=at, reason=REASON)]

    for start in range(0, len(match.new), BATCH):
        places = match.new[start : start + BATCH]
        events = edge("resume" if match.row else "start", places[0]) if not start else []
        for number, place in enumerate(places):
            utterance = every[place]
            asked = latest[place]
            # A negative one counts from this event, see ``Store.append_all``.
            reply = places.index(asked) - number if asked in places else stored.get(asked, 0)
            turn = Turn(
                session=match.id,
                scope=scope,
                speaker=utterance.speaker or names[utterance.role],
                at=times[place],
                reply_to=reply,
                **{name: getattr(utterance, name) for name in _ALIKE},
            )
            events.append(turn)
        events += edge("end", places[-1]) if places[-1] == match.new[-1] else []
        keys += [match.keys[place] for place in places]
        # What has marks is imported when it has them.
        ack = memory.append(*events, cursor=None if marked else cursor())
        ack.wait()
        first = ack.id - len(events) + 1 + (not start)  # behind the session's edge
        logged |= {place: first + number for number, place in enumerate(places)}
        stored |= logged
    for place in filter(stored.__contains__, marked):
        pinned, muted = every[place].pinned or None, every[place].muted or None
        memory.edit(scope, chunk_id(stored[place]), pinned=pinned, muted=muted)
    if marked:
        keys += [match.keys[place] for place in marked if place not in logged]
        memory.apply(REASON, WriteBatch(cursor=cursor()))
    return list(logged.values())


def moments(session: TranscriptSession, zone: tzinfo) -> list[datetime]:
    """Return the turns' times in UTC; one without a time is ten seconds after the one before."""
    times: list[datetime] = []
    for utterance in session.utterances:
        at = utterance.at or (times[-1] + PACE if times else session.started or datetime.now(UTC))
        times.append(utc(at, zone))
    return times
