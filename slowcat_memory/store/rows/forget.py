"""Forgets for good: selects what the requests cover, then deletes it table by table.

All requests are carried out in one pass: the log and the memories are read once to select turns,
sessions and memories, and then one loop over ``TABLES`` deletes, or cleans, the rows that name any
of them. How the rows of a table name their sources is declared there (``NamedBy``); here is one
rule for each of these ways.

A turn takes with it its chunk, every memory that was made from it, and all their vectors. A context
and a key quote the turns that they were made from, so one forgotten source takes them, though their
memory stays; its vectors, made with that context, go then too.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import reduce
from typing import Any

from msgspec.structs import replace

from slowcat_memory.core.memory.chunk import chunk_id, turn_of
from slowcat_memory.errors import StoreDamagedError
from slowcat_memory.records import (
    CommandEntry,
    Context,
    Event,
    Forget,
    Forgotten,
    Key,
    LedgerEntry,
    Memory,
    Run,
    Session,
    SessionEdge,
    Task,
    Turn,
)
from slowcat_memory.store.blocks import removal
from slowcat_memory.store.blocks.reader import (
    EVENTS,
    BlockCache,
    BlockReader,
    DamagedRow,
    event_keys,
)
from slowcat_memory.store.disk import codec, keys
from slowcat_memory.store.disk.tables import EPOCH, ERASE_DUE, TABLES, NamedBy, Table
from slowcat_memory.store.disk.transaction import Transaction
from slowcat_memory.store.rows import bookkeeping
from slowcat_memory.store.rows.sessions import fold, track_unended
from slowcat_memory.store.rows.subjects import drop_vectors

Subject = tuple[str, str]  # scope, id

SUBJECT_TABLES = ("memories", "contexts", "keys")  # whose rows have vectors
RECORDS: dict[str, Any] = {
    "memories": Memory,
    "contexts": Context,
    "keys": Key,
    "ledger": LedgerEntry,
    "commands": CommandEntry,
    "tasks": Task,
    "runs": Run,
}


@dataclass(slots=True)
class Deletion:
    """What some requests delete.

    Attributes:
        whole: Namespaces that are forgotten as a whole; "" for every one.
        named: By namespace ("" for every one), the ids of memories that are asked for by name.
        turns: By log id.
        edges: By log id: of sessions that lose their last turn.
        blocks: Numbers of the blocks that hold any of these events.
        memories: (scope, id), chunks included.
        memory_ids: The ids alone.
        unnamed: Those of them that go neither by their name nor by their sources.
        sessions: What is left of each session that loses an event; None when nothing is.
        subjects: Memories and keys whose vectors go.
        scopes: Namespaces whose index holds any of it.
        tasks: Ids of tasks that go.
        damaged: (table, key) of records that cannot be read: whether a request covers them cannot
            be known, so they go too.
    """

    whole: frozenset[str] = frozenset()
    named: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    turns: dict[int, Turn] = field(default_factory=dict)
    edges: dict[int, SessionEdge] = field(default_factory=dict)
    blocks: set[int] = field(default_factory=set)
    memories: set[Subject] = field(default_factory=set)
    memory_ids: frozenset[str] = frozenset()
    unnamed: set[Subject] = field(default_factory=set)
    sessions: dict[str, Session | None] = field(default_factory=dict)
    subjects: set[Subject] = field(default_factory=set)
    scopes: set[str] = field(default_factory=set)
    tasks: set[str] = field(default_factory=set)
    damaged: list[tuple[str, bytes]] = field(default_factory=list)

    @property
    def events(self) -> dict[int, Event]:
        """Turns and edges by log id."""
        return {**self.turns, **self.edges}

    def lost_events(self) -> set[int]:
        """Return the log ids of the events that go, damaged ones included."""
        return {*self.events, *(keys.id_of(key) for name, key in self.damaged if name in EVENTS)}

    def result(self) -> Forgotten:
        """Return what is reported to the caller; not erased yet."""
        return Forgotten(turns=tuple(sorted(self.turns)), memories=tuple(sorted(self.memories)))

    def is_named(self, scope: str, memory: str) -> bool:
        """Return whether a memory is asked for by name."""
        return memory in self.named.get("", ()) or memory in self.named.get(scope, ())

    def is_whole(self, scope: str) -> bool:
        """Return whether a whole namespace is forgotten."""
        return "" in self.whole or scope in self.whole

    def read_records(self, tx: Transaction, table: str) -> Iterator[tuple[bytes, Any]]:
        """Walk keys and records of a table; the damaged ones are noted, to be deleted."""
        for key, value in tx.rows(table):
            try:
                yield key, codec.decode(RECORDS[table], key, value)
            except StoreDamagedError:
                self.damaged.append((table, key))
                if table in SUBJECT_TABLES:
                    scope, id = keys.split_scope(key)
                    self.subjects.add((scope, id.decode()))

    def read_events(self, tx: Transaction) -> Iterator[Event]:
        """Walk the log; a damaged row is noted, or a damaged block with all that point to it."""
        reader = BlockReader(tx.get, BlockCache())
        for key in event_keys(tx.cursor):
            try:
                event = reader.event(key)
            except DamagedRow as error:
                self.damaged += [*((table, key) for table in EVENTS), (error.table, error.key)]
            else:
                if event is not None:
                    yield event


# ------------------------------------------------------------------- select


def check(requests: Sequence[Forget]) -> None:
    """Raise ``ValueError`` for a request without a condition, or for no request at all."""
    if not requests or Forget() in requests:
        raise ValueError("say what to forget: no condition is given")
    if any(request == Forget(scope=request.scope) for request in requests):
        raise ValueError("to forget a whole namespace, give everything=True too")


def select(requests: Sequence[Forget], tx: Transaction) -> Deletion:
    """Return the turns, sessions and memories that checked requests cover; changes nothing."""
    gone = Deletion(whole=frozenset(r.scope for r in requests if _is_whole_scope(r)))
    selection = _Selection(requests)
    by_session: defaultdict[str, list[Event]] = defaultdict(list)
    for event in gone.read_events(tx):
        by_session[event.session].append(event)
        if isinstance(event, Turn) and selection.has_turn(event):
            gone.turns[event.id] = event
    for request in requests:
        for memory in request.memories:
            gone.named[request.scope].add(memory)
    _select_sessions(requests, by_session, gone)
    gone.memories = {(turn.scope, chunk_id(turn.id)) for turn in gone.turns.values()}
    for _, memory in gone.read_records(tx, "memories"):
        by_source = not gone.turns.keys().isdisjoint(memory.sources)
        if by_source or selection.has_memory(memory):
            gone.memories.add((memory.scope, memory.id))
            if not by_source and not gone.is_named(memory.scope, memory.id):
                gone.unnamed.add((memory.scope, memory.id))
    gone.blocks = {removal.block_of(keys.id_key(id), tx) for id in gone.lost_events()} - {0}
    gone.memory_ids = frozenset(id for _, id in gone.memories)
    gone.subjects |= gone.memories
    gone.scopes = {scope for scope, _ in gone.memories}
    gone.scopes |= {event.scope for event in gone.events.values()}
    return gone


class _Selection:
    """Matches turns and memories with requests; those for ids alone cost one look-up together."""

    def __init__(self, requests: Sequence[Forget]) -> None:
        self._turns: defaultdict[str, set[int]] = defaultdict(set)  # by scope, "" for every one
        self._memories: defaultdict[str, set[str]] = defaultdict(set)
        self._others: list[Forget] = []
        for request in requests:
            if _is_by_ids(request):
                self._turns[request.scope] |= _turn_ids(request)
                self._memories[request.scope].update(request.memories)
            else:
                self._others.append(request)
        self._other_turns = [_turn_ids(request) for request in self._others]

    def has_turn(self, turn: Turn) -> bool:
        return (
            turn.id in self._turns.get("", ())
            or turn.id in self._turns.get(turn.scope, ())
            or any(
                (turn.id in ids or not (request.turns or request.memories))
                and request.session in ("", turn.session)
                and _matches(request, turn.scope, turn.speaker, turn.at)
                for request, ids in zip(self._others, self._other_turns, strict=True)
            )
        )

    def has_memory(self, memory: Memory) -> bool:
        """Return whether a memory goes by its name or, without sources, as a turn would."""
        return (
            memory.id in self._memories.get("", ())
            or memory.id in self._memories.get(memory.scope, ())
            or any(
                _matches(request, memory.scope, memory.speaker, memory.valid_from)
                and _covers(request, memory)
                for request in self._others
            )
        )


def _turn_ids(request: Forget) -> set[int]:
    return {*request.turns, *(turn_of(memory) for memory in request.memories)}


def _is_by_ids(request: Forget) -> bool:
    others = request.speaker or request.session or request.since or request.until
    return bool(request.turns or request.memories) and not others


def _is_whole_scope(request: Forget) -> bool:
    return request == Forget(scope=request.scope, everything=True)


def _matches(request: Forget, scope: str, speaker: str, at: datetime) -> bool:
    return (
        request.scope in ("", scope)
        and request.speaker in ("", speaker)
        and (request.since is None or at >= request.since)
        and (request.until is None or at < request.until)
    )


def _covers(request: Forget, memory: Memory) -> bool:
    if request.memories or request.turns:
        return memory.id in request.memories and not request.session
    return request.everything or not (memory.sources or request.session)


def _select_sessions(
    requests: Sequence[Forget], by_session: dict[str, list[Event]], gone: Deletion
) -> None:
    """Fold every session anew that loses an event; one without a turn goes with its edges."""
    touched = {turn.session for turn in gone.turns.values()}
    for request in requests:
        if request == Forget(
            scope=request.scope, session=request.session, everything=request.everything
        ):
            named = [request.session] if request.session else list(by_session)
            touched |= {
                session
                for session in named
                if any(request.scope in ("", event.scope) for event in by_session.get(session, ()))
            }
    for session in touched:
        kept = [event for event in by_session[session] if event.id not in gone.turns]
        if any(isinstance(event, Turn) for event in kept):
            gone.sessions[session] = reduce(fold, kept, None)
        else:
            gone.sessions[session] = None
            gone.edges |= {event.id: event for event in kept if isinstance(event, SessionEdge)}


# ------------------------------------------------------------------- delete


def forget(requests: Sequence[Forget], tx: Transaction) -> Forgotten:
    """Delete every row that checked requests cover, and leave nothing of it in other rows."""
    gone = select(requests, tx)
    for table in TABLES:
        tests = [TESTS[way] for way in table.named_by if way in TESTS]
        if tests:
            _drop_records(table, tests, gone, tx)
        for way in table.named_by:
            if way in RULES:
                RULES[way](table, gone, tx)
    for name, key in gone.damaged:
        tx.drop(name, key)
    if not tx.empty():
        _bury(gone, tx)
        tx.set_meta(ERASE_DUE, True)
    return gone.result()


def _bury(gone: Deletion, tx: Transaction) -> None:
    """Write tombstones for turns and for memories that were asked for by name.

    The other memories may be made anew, differently. Those of them that went by scope or time get
    an epoch mark instead, so that a backup cannot bring them back (see ``care.restore``).
    """
    tombstones = [keys.turn_tombstone(turn) for turn in gone.turns]
    tombstones += [keys.memory_tombstone(s, m) for s, m in gone.memories if gone.is_named(s, m)]
    for key in tombstones:
        tx.put("tombstones", key, codec.seal(key))
    epoch = tx.meta(EPOCH, 0) + 1
    for scope, memory in gone.unnamed:
        tx.write_record("tombstones", keys.epoch_mark(scope, memory), epoch)
    tx.set_meta(EPOCH, epoch)


# Tests of one record, for tables that are read as a whole.


def _made_from_turn(record: Context | Key | Task, gone: Deletion) -> bool:
    return not gone.turns.keys().isdisjoint(record.sources)


def _of_memory(record: Context | Key, gone: Deletion) -> bool:
    return (record.scope, record.memory) in gone.memories


def _names_work(record: Task | Run, gone: Deletion) -> bool:
    """Return whether a task's id, which may be made of words, names something that goes."""
    if isinstance(record, Task):
        scope, key = record.scope, record.key
    elif record.task in gone.tasks:
        return True
    else:
        scope, _, key = record.task.removeprefix(f"{record.job}/").partition("/")
    ended = key in gone.sessions and gone.sessions[key] is None
    return ended or (scope, key) in gone.memories or gone.is_whole(scope)


TESTS: dict[NamedBy, Callable[[Any, Deletion], bool]] = {
    NamedBy.TURNS: _made_from_turn,
    NamedBy.MEMORY: _of_memory,
    NamedBy.WORK: _names_work,
}


def _drop_records(
    table: Table,
    tests: Sequence[Callable[[Any, Deletion], bool]],
    gone: Deletion,
    tx: Transaction,
) -> None:
    for key, record in gone.read_records(tx, table.name):
        if not any(test(record, gone) for test in tests):
            continue
        tx.drop(table.name, key)
        if isinstance(record, Context | Key):
            gone.subjects.add((record.scope, getattr(record, "id", record.memory)))
            gone.scopes.add(record.scope)
        elif isinstance(record, Task):
            gone.tasks.add(record.id)


# Rules for one table.


def _drop_events(table: Table, gone: Deletion, tx: Transaction) -> None:
    scoped = table.key.startswith("scope")
    for id, event in gone.events.items():
        tx.drop(table.name, keys.scoped_id_key(event.scope, id) if scoped else keys.id_key(id))


def _repack(table: Table, gone: Deletion, tx: Transaction) -> None:
    if table.name == "dictionaries":
        removal.drop_dictionaries(gone.lost_events(), tx)
    else:
        removal.remove_events(table.name, gone.lost_events(), gone.blocks, tx)


def _fold_sessions(table: Table, gone: Deletion, tx: Transaction) -> None:
    for session, row in gone.sessions.items():
        key = keys.name_key(session)
        before = tx.read(Session, table.name, key)
        if row is None:
            tx.drop(table.name, key)
        elif row != before:
            tx.write_record(table.name, key, row)
        track_unended(before, row, session, tx)


def _drop_selected(table: Table, gone: Deletion, tx: Transaction) -> None:
    for scope, id in gone.memories:
        tx.drop(table.name, keys.scoped_key(scope, id))


def _drop_subjects(table: Table, gone: Deletion, tx: Transaction) -> None:
    for scope, id in gone.subjects:
        drop_vectors(scope, id, tx)


def _drop_scopes(table: Table, gone: Deletion, tx: Transaction) -> None:
    """Delete manifests and numbered changes: nothing builds on them, and ids may be words."""
    for scope in gone.scopes:
        if table.key == "scope":
            tx.drop(table.name, keys.name_key(scope))
        else:
            bookkeeping.drop_changes(scope, bookkeeping.LATEST, tx)


def _clean_ids(table: Table, gone: Deletion, tx: Transaction) -> None:
    clean = {"ledger": _cleaned_ledger, "commands": _cleaned_command}[table.name]
    for key, entry in gone.read_records(tx, table.name):
        cleaned = clean(entry, gone)
        if cleaned is None:
            tx.drop(table.name, key)
        elif cleaned != entry:
            tx.write_record(table.name, key, cleaned)


def _cleaned_ledger(entry: LedgerEntry, gone: Deletion) -> LedgerEntry | None:
    if entry.turn in gone.turns:
        return None
    return bookkeeping.without(entry, lambda memory: memory in gone.memory_ids)


def _cleaned_command(entry: CommandEntry, gone: Deletion) -> CommandEntry | None:
    """Return a command's row without the ids that go: an id may be made of words."""
    if gone.is_whole(entry.scope):
        return None
    made, hidden = (
        tuple(id for id in ids if (entry.scope, id) not in gone.memories)
        for ids in (entry.made, entry.hidden)
    )
    turns = tuple(turn for turn in entry.turns if turn not in gone.turns)
    lost = (made, hidden, turns) != (entry.made, entry.hidden, entry.turns)
    return replace(
        entry,
        turn=0 if entry.turn in gone.turns else entry.turn,
        made=made,
        hidden=hidden,
        turns=turns,
        state="erased" if lost and not (made or hidden or turns) else entry.state,
    )


RULES: dict[NamedBy, Callable[[Table, Deletion, Transaction], None]] = {
    NamedBy.EVENT: _drop_events,
    NamedBy.PACKED_EVENTS: _repack,
    NamedBy.SESSION: _fold_sessions,
    NamedBy.SELECTION: _drop_selected,
    NamedBy.SUBJECT: _drop_subjects,
    NamedBy.IDS: _clean_ids,
    NamedBy.SCOPE: _drop_scopes,
}
