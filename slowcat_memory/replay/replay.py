"""Derives all data again from the log, with a simulated clock; and repeats the recall of a turn.

Theory of operation. In a copy of the store, everything that jobs made is deleted; turns, notes,
pins, voice commands and edits stay. The log is then walked event by event, and at each session's
end all jobs run what is due at that simulated time. The difference is one batch, written in one
transaction, so a kill leaves the old state or the new. The log itself never changes.
"""

import asyncio
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar, cast

from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory import records
from slowcat_memory.core.disclosure import has_marked_origin
from slowcat_memory.core.memory import BLOCK, ICEBREAKER, chunk_id, family
from slowcat_memory.core.proactive.policy import USED, outcome_of
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.engine.search import recall_before
from slowcat_memory.errors import StoreError, TranscriptError
from slowcat_memory.records import Context, Cursor, Key, LedgerEntry, Memory, Turn, WriteBatch
from slowcat_memory.runtime.recall.query import (
    Query,
    asked_text,
    dialogue_before,
    heard_words,
    ledger_entry,
)
from slowcat_memory.runtime.recall.time_travel import StoreThen
from slowcat_memory.store import Snapshot, Store
from slowcat_memory.store.disk.folder import REPLAYING

WAIT_S = 30.0  # of simulated time for each wait
REPLAY = "replay"  # the writer's name
KEPT_CURSORS = (ICEBREAKER, "tuning")
BEGINNING = datetime(1, 1, 2, tzinfo=UTC)
R = TypeVar("R", Memory, Context, Key)
Record = Memory | Context | Key
Derived = dict[tuple[type, str, str], Record]  # by kind of record, scope and id


class Rederived(Struct, frozen=True, kw_only=True):
    """The changes that deriving again would make."""

    batch: WriteBatch  # the difference, to be written
    backup: Path | None = None  # of the store before
    new: tuple[Memory, ...] = ()  # memories that are new or have another text
    gone: tuple[Memory, ...] = ()  # memories that are no longer made
    same: int = 0  # number of unchanged memories
    sessions: int = 0  # number of sessions processed

    @property
    def changes(self) -> bool:
        batch = self.batch
        return any((batch.memories, batch.drop, batch.contexts, batch.keys, batch.drop_keys))


def rederive(
    engine: MemoryEngine,
    jobs: Sequence[str] | None = None,
    progress: Callable[[int], object] = lambda done: None,
    *,
    dry_run: bool = False,
) -> Rederived:
    """Derive everything again in a copy of the store, without changing the store. Blocks.

    ``engine.apply(REPLAY, made.batch)`` writes the difference. Takes as long as the idle work of
    all sessions, and the store's size once more on disk.

    Args:
        engine: In this process, open for writing, with its idle work off.
        jobs: Names of the only jobs to repeat; None for all.
        progress: Called with the number of sessions done.
        dry_run: Make no backup, because the difference will not be written.

    Raises:
        KeyError: There is no such job.
        StoreError: There is no space for a copy, or tasks were left: the LLM is unreachable.
    """
    engine.flush()
    backup = None if dry_run else engine.upkeep.backup()
    with engine.snapshot() as snapshot:
        before = _derived(snapshot, jobs)
        every = (m for scope in snapshot.scopes() for m in snapshot.memories(scope))
        kept = {_place(memory) for memory in every} - before.keys()
    with _copy(engine) as copy:
        _strip(copy, before, jobs)
        sessions = _walk(engine, copy, jobs, progress)
        with copy.snapshot() as snapshot:
            made = _derived(snapshot, jobs)
            after = {at: record for at, record in made.items() if at not in kept}
            gone = [record for at, record in before.items() if at not in after]
            put = [record for at, record in after.items() if not _same(before.get(at), record)]
            space = engine.embedding.report.key
            vectors = tuple(_vectors(snapshot, space, map(_place, put)))
    memories, new = _of(Memory, after.values()), _of(Memory, put)
    return Rederived(
        batch=replace(_batch(put, gone), vectors=vectors, embedder=space),
        backup=backup,
        new=new,
        gone=_of(Memory, gone),
        same=len(memories) - len(new),
        sessions=sessions,
    )


def _place(record: Record) -> tuple[type, str, str]:
    id_ = record.memory if isinstance(record, Context) else record.id
    return type(record), record.scope, id_


def _of(kind: type[R], every: Iterable[Record]) -> tuple[R, ...]:
    return tuple(record for record in every if isinstance(record, kind))


def _batch(put: Sequence[Record], gone: Sequence[Record]) -> WriteBatch:
    lost = (replace(context, text="") for context in _of(Context, gone))
    return WriteBatch(
        memories=_of(Memory, put),
        drop=tuple((memory.scope, memory.id) for memory in _of(Memory, gone)),
        contexts=(*_of(Context, put), *lost),
        keys=_of(Key, put),
        drop_keys=tuple((key.scope, key.id) for key in _of(Key, gone)),
    )


@contextmanager
def _copy(engine: MemoryEngine) -> Iterator[Store]:
    folder = engine.config.folder / REPLAYING
    shutil.rmtree(folder, ignore_errors=True)  # left by a killed process
    folder.mkdir(mode=0o700)
    try:
        engine.upkeep.copy_for_replay()
        with Store.open(folder, options=engine.config.store) as copy:
            yield copy
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _derived(snapshot: Snapshot, jobs: Sequence[str] | None) -> Derived:
    """Read all derived records, except those a user has changed or hidden since."""
    scopes = snapshot.scopes()
    hidden = {
        hidden
        for entry in snapshot.commands()
        if entry.state in ("done", "asked")
        for hidden in entry.all_hidden
    }
    every = (
        record
        for scope in scopes
        for read in (snapshot.memories, snapshot.contexts, snapshot.keys)
        for record in read(scope)
        if record.made is not None and (jobs is None or record.made.job in jobs)
    )
    return {_place(record): record for record in every if not _touched(record, snapshot, hidden)}


def _touched(record: Record, snapshot: Snapshot, hidden: set[tuple[str, str]]) -> bool:
    """Return whether a user has changed or hidden a memory."""
    if not isinstance(record, Memory):
        return False
    if family(record.kind) == ICEBREAKER and outcome_of(record) == USED:
        return True
    local = record.local_only and not has_marked_origin(record, snapshot.memory)
    return record.pinned or local or (record.scope, record.id) in hidden


def _strip(copy: Store, derived: Derived, jobs: Sequence[str] | None) -> None:
    """Delete derived records from the copy, and reset the cursors of its jobs."""
    copy.apply(REPLAY, _batch((), list(derived.values())))
    with copy.snapshot() as snapshot:
        tasks = [task for task in snapshot.tasks() if jobs is None or task.job in jobs]
        cursors = [
            cursor
            for cursor in snapshot.cursors()
            if (owner := cursor.name.removeprefix("asked/").partition("/")[0])
            and (owner not in KEPT_CURSORS if jobs is None else owner in jobs)
        ]
    for task in tasks:
        copy.apply(REPLAY, WriteBatch(done=task.id))
    for cursor in cursors:
        copy.apply(REPLAY, WriteBatch(cursor=Cursor(name=cursor.name, position=0)))
    copy.flush(None)


class _SimulatedClock:
    """The clock of a replay: durations are measured by it too, for nothing else moves it."""

    def __init__(self, then: StoreThen) -> None:
        self._then = then

    def __call__(self) -> datetime:
        return self._then.now

    def boot_s(self) -> float:
        return self().timestamp()


def _walk(
    engine: MemoryEngine, copy: Store, jobs: Sequence[str] | None, progress: Callable[[int], object]
) -> int:
    then, done = StoreThen(copy, BEGINNING), 0

    async def sleep(seconds: float) -> None:
        then.now += timedelta(seconds=max(seconds, WAIT_S))  # simulated time
        await asyncio.sleep(0)

    thinking = engine.idle.over(cast(Any, then), _SimulatedClock(then), sleep)
    wanted = [job.name for job in thinking.jobs] if jobs is None else list(jobs)

    def think() -> None:
        _edit(copy, then.now)
        if rest := thinking.until_done(wanted):
            raise StoreError(
                f"{rest} tasks could not be done, and nothing was changed",
                hint="Is the LLM's server there?",
            )

    with copy.snapshot() as snapshot:
        for event in snapshot.events():
            then.advance(event)
            if isinstance(event, records.SessionEdge) and event.kind == "end":
                think()
                done += 1
                progress(done)
    then.now = max(then.now, engine.clock())
    think()
    return done


def _edit(copy: Store, now: datetime) -> None:
    """Retire blocks that jobs wrote where a user had written one by then."""
    with copy.snapshot() as snapshot:
        every = [m for s in snapshot.scopes() for m in snapshot.memories(s, f"{BLOCK}/")]
    edits = {(m.scope, m.kind): m.recorded_at for m in every if not (m.made or m.retired_at)}
    over = [
        replace(m, retired_at=at)
        for m in every
        if m.made and not m.retired_at and (at := edits.get((m.scope, m.kind))) and at <= now
    ]
    copy.apply(REPLAY, WriteBatch(memories=tuple(over))).wait(None)


def _same(record: Record | None, other: Record) -> bool:
    """Compare two records, ignoring the times of recording and retiring."""
    if not isinstance(record, Memory) or not isinstance(other, Memory):
        return record == other
    times = {"recorded_at": other.recorded_at, "retired_at": other.retired_at}
    retired = bool(record.retired_at) == bool(other.retired_at)
    return retired and replace(record, **times) == other


def _vectors(
    snapshot: Snapshot, space: str, places: Iterable[tuple[type, str, str]]
) -> Iterator[records.Vector]:
    for _, scope, id_ in places if space else ():
        if vector := snapshot.vector(space, scope, id_):
            yield vector


# ------------------------------------------------------------------- one turn

# The index is rebuilt from the data before the turn, so that word weights are those of the time; the
# options are those of the engine's configuration. There is no deadline. The query is the turn's own
# words, after the two turns before it. A turn of several speakers was one query at the time; only its
# last part is used here.

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
        config = engine.config
        asked = asked_text(snapshot, turn, config.ask, config.gate, config.memory.language)
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
    recall = recall_before(engine, turn, query)
    now = ledger_entry(turn, recall, engine.blocks.pack(recall, turn.at))
    with engine.snapshot() as snapshot:
        rows = [(row.scope, id_) for row in (then, now) if row for id_ in row.memories]
        memories = {id_: memory for at, id_ in rows if (memory := snapshot.read(at, id_))}
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
    turns = snapshot.turns(turn.scope, after=first - 1, upto=turn.id - 1)
    return [chunk_id(other.id) for other in turns if other.session == turn.session]
