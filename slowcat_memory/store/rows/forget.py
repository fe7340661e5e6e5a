"""Deletes for good the rows that forget requests cover, in slices of one transaction each.

``forget_select`` reads the log and the memories once. ``order`` writes the result into the store's
row of the erasure under way, which hides it; ``add_derived`` then finds the rows made from it, and
``slices`` yields the changes that delete everything, some hundred rows each. Each slice looks up
the present rows of what it deletes, so other writes may come between two slices, and a slice that
was carried out before changes nothing.

Within a slice one loop over ``TABLES`` deletes, or cleans, the rows that name deleted records.
``NamedBy`` declares there how the rows of a table name their sources; this file has one rule for
each way.

With a turn its chunk, every memory made from it, and all their vectors are deleted. A context and
an index key quote the turns that they were made from, so one forgotten source deletes them, though
their memory stays; its vectors, made with that context, are deleted too.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Any, TypeVar

from msgspec.structs import replace

from slowcat_memory.core.memory import chunk_id, turn_of
from slowcat_memory.errors import StoreDamagedError
from slowcat_memory.records import (
    CommandEntry,
    Context,
    Cursor,
    Forget,
    Key,
    LedgerEntry,
    Run,
    Session,
    Task,
)
from slowcat_memory.store.blocks import removal
from slowcat_memory.store.blocks.reader import BlockCache, BlockReader, DamagedRow, event_keys
from slowcat_memory.store.disk import codec, keys
from slowcat_memory.store.disk.tables import (
    EMBEDDERS,
    EPOCH,
    ERASE_DUE,
    PENDING,
    TABLES,
    UNENDED,
    NamedBy,
    Table,
)
from slowcat_memory.store.disk.transaction import Transaction
from slowcat_memory.store.rows import bookkeeping
from slowcat_memory.store.rows.forget_select import Deletion, Subject, add_by_source, select
from slowcat_memory.store.rows.pending import PENDING_KEY, Pending, decode, pack_ids
from slowcat_memory.store.rows.subjects import exists

EVENTS = 250  # deleted in one slice
ROWS = 1000  # derived rows deleted in one slice
IMPORTS = "import/"  # begins the cursors of imports, whose notes named files in earlier versions

Change = Callable[[Transaction], None]
T = TypeVar("T")


@dataclass(slots=True)
class Slice:
    """What one transaction deletes.

    Attributes:
        gone: The whole deletion.
        events: (scope, session) by log id.
        sessions: Those whose last deleted event is among ``events``, or was before.
        memories: Except chunks of ``events``.
        subjects: Likewise, of vectors.
        rows: (table, key) of derived rows.
        first: Whether it is the first slice; it deletes what depends on a whole namespace.
        last: Whether it is the last one; it cleans the rows that list ids.
    """

    gone: Deletion
    events: Mapping[int, Subject] = field(default_factory=dict)
    sessions: Sequence[str] = ()
    memories: Sequence[Subject] = ()
    subjects: Sequence[Subject] = ()
    rows: Sequence[tuple[str, bytes]] = ()
    blocks: set[int] = field(default_factory=set)
    first: bool = False
    last: bool = False

    def chunks(self) -> list[Subject]:
        return [(scope, chunk_id(id)) for id, (scope, _) in self.events.items()]


# ------------------------------------------------------------------- the steps


def forget(requests: Sequence[Forget], tx: Transaction) -> Deletion:
    """Delete all at once, in a store that nobody else uses."""
    gone = select(requests, tx)
    if not gone.is_empty():
        order(gone, requests, False, tx)
        add_derived(gone, tx)
        for change in slices(gone):
            change(tx)
    return gone


def order(gone: Deletion, requests: Sequence[Forget], keep_backups: bool, tx: Transaction) -> None:
    """Write the row of the erasure under way: from its commit on, what it selects is hidden."""
    before = read_pending(tx) or Pending(requests=(), keep_backups=True)  # bytes are still due
    pending = Pending(
        requests=(*before.requests, *requests),
        turns=pack_ids(sorted(gone.ids)),
        memories=tuple(sorted(gone.named)),
        scopes=tuple(sorted(gone.scopes.union(before.scopes))),
        keep_backups=keep_backups and before.keep_backups,
    )
    tx.set_meta(EPOCH, tx.meta(EPOCH, 0) + 1)
    tx.set_meta(ERASE_DUE, True)
    tx.set_meta(PENDING, pending)


def read_pending(tx: Transaction) -> Pending | None:
    """Return the erasure under way; None when there is none, or its row does not read."""
    value = tx.get("meta", PENDING_KEY)
    try:
        return None if value is None else decode(value)[0]
    except StoreDamagedError:
        return None


def add_derived(gone: Deletion, tx: Transaction) -> None:
    """Add the rows derived from what is selected, which must be hidden by now."""
    for _, memory in gone.read_records(tx, "memories"):
        add_by_source(memory, gone)
    for table in TABLES:
        tests = [TESTS[way] for way in table.named_by if way in TESTS]
        if tests and table.name != "runs":
            _add_rows(table, tests, gone, tx)
    gone.scopes |= {scope for scope, _ in gone.memories}
    gone.memory_ids = frozenset(id for _, id in gone.memories)


def slices(gone: Deletion) -> Iterator[Change]:
    """Yield the changes that delete everything, each to be committed before the next is made.

    Derived rows come first: those left by an interruption can be found as long as their sources
    are known.
    """
    yield partial(_delete, Slice(gone, first=True))
    for rows in _batches(gone.rows, ROWS):
        yield partial(_delete, Slice(gone, rows=rows))
    chunks = {(scope, chunk_id(id)) for id, (scope, _) in gone.turns.items()}
    for memories in _batches(sorted(gone.memories - chunks), ROWS):
        yield partial(_delete, Slice(gone, memories=memories))
    for subjects in _batches(sorted(gone.subjects - chunks), ROWS):
        yield partial(_delete, Slice(gone, subjects=subjects))
    for part in _by_session(gone):
        yield partial(_delete, part)
    yield partial(_delete, Slice(gone, last=True))


def _batches(items: Iterable[T], size: int) -> Iterator[tuple[T, ...]]:
    waiting = iter(items)
    while batch := tuple(islice(waiting, size)):
        yield batch


def _by_session(gone: Deletion) -> Iterator[Slice]:
    """Yield slices of events; a session's row is written with the last of its events."""
    by_session: defaultdict[str, list[int]] = defaultdict(list)
    for id, (_, session) in gone.events().items():
        by_session[session].append(id)
    ended = dict.fromkeys((*by_session, *gone.sessions))
    events = gone.events()
    ids: list[int] = []
    sessions: list[str] = []
    for session in ended:
        waiting = iter(by_session[session])
        while True:
            ids += islice(waiting, EVENTS - len(ids))
            if len(ids) < EVENTS and len(sessions) < EVENTS:
                break
            yield Slice(gone, events={id: events[id] for id in ids}, sessions=tuple(sessions))
            ids, sessions = [], []
        sessions.append(session)
    yield Slice(gone, events={id: events[id] for id in ids}, sessions=tuple(sessions))


def _delete(part: Slice, tx: Transaction) -> None:
    part.blocks = {removal.block_of(keys.id_key(id), tx) for id in part.events} - {0}
    for table in TABLES:
        _drop_rows(table, part, tx)
        for way in table.named_by:
            if way in RULES:
                RULES[way](table, part, tx)
    _bury(part, tx)
    if part.last:
        _finish(part.gone, tx)


def _bury(part: Slice, tx: Transaction) -> None:
    """Write tombstones for turns and for memories that requests name.

    The other memories may be made again, differently. Those deleted by scope or time get an epoch
    mark instead, so that a backup cannot restore them (see ``care.restore``).
    """
    gone = part.gone
    tombstones = [keys.turn_tombstone(id) for id in part.events if id in gone.turns]
    memories = (*part.memories, *part.chunks())
    tombstones += [keys.memory_tombstone(s, m) for s, m in memories if gone.is_named(s, m)]
    for key in tombstones:
        tx.put("tombstones", key, codec.seal(key))
    for scope, memory in gone.unnamed.intersection(part.memories):
        tx.write_record("tombstones", keys.epoch_mark(scope, memory), tx.meta(EPOCH, 0))


def _finish(gone: Deletion, tx: Transaction) -> None:
    """Delete damaged rows, and record that no row is left to delete."""
    for name, key in gone.damaged:
        tx.drop(name, key)
    for key in tx.keys_with("tombstones", keys.PLAIN_TOMBSTONE):
        tx.drop("tombstones", key)
        hashed = keys.hashed_tombstone(key)
        tx.put("tombstones", hashed, codec.seal(hashed))
    for key in tx.keys_with("cursors", IMPORTS.encode()):
        cursor = tx.read(Cursor, "cursors", key)
        if cursor is not None and cursor.note:
            tx.write_record("cursors", key, replace(cursor, note=""))
    if pending := read_pending(tx):
        scopes = tuple(sorted(gone.scopes.union(pending.scopes)))
        requests = pending.requests if pending.keep_backups else ()  # they may name memories
        left = replace(pending, turns=b"", memories=(), scopes=scopes, requests=requests)
        tx.set_meta(PENDING, left)


# ------------------------------------------------------------------- tables whose rows are selected


def _made_from_turn(record: Context | Key | Task, gone: Deletion) -> bool:
    return not gone.ids.isdisjoint(record.sources)


def _of_memory(record: Context | Key, gone: Deletion) -> bool:
    return gone.has_memory(record.scope, record.memory)


def _names_work(record: Task | Run, gone: Deletion) -> bool:
    """Return whether a task's id, which may contain words, names deleted data."""
    if isinstance(record, Task):
        scope, key = record.scope, record.key
    elif record.task in gone.tasks:
        return True
    else:
        scope, _, key = record.task.removeprefix(f"{record.job}/").partition("/")
    ended = key in gone.sessions and gone.sessions[key] is None
    return ended or gone.has_memory(scope, key) or gone.is_whole(scope)


TESTS: dict[NamedBy, Callable[[Any, Deletion], bool]] = {
    NamedBy.TURNS: _made_from_turn,
    NamedBy.MEMORY: _of_memory,
    NamedBy.WORK: _names_work,
}


def _add_rows(
    table: Table,
    tests: Sequence[Callable[[Any, Deletion], bool]],
    gone: Deletion,
    tx: Transaction,
) -> None:
    for key, record in gone.read_records(tx, table.name):
        if not any(test(record, gone) for test in tests):
            continue
        gone.rows[table.name, key] = None
        if isinstance(record, Context | Key):
            gone.subjects.add((record.scope, getattr(record, "id", record.memory)))
            gone.scopes.add(record.scope)
        elif isinstance(record, Task):
            gone.tasks.add(record.id)


def _drop_rows(table: Table, part: Slice, tx: Transaction) -> None:
    for name, key in part.rows:
        if name == table.name:
            tx.drop(name, key)
    if table.name == "runs" and part.first:
        for key, run in part.gone.read_records(tx, table.name):
            if _names_work(run, part.gone):
                tx.drop(table.name, key)
            elif part.gone.resumed and run.task:  # the tasks deleted before are not known
                tx.write_record(table.name, key, replace(run, task=""))


# ------------------------------------------------------------------- the other tables


def _drop_events(table: Table, part: Slice, tx: Transaction) -> None:
    scoped = table.key.startswith("scope")
    for id, (scope, _) in part.events.items():
        tx.drop(table.name, keys.scoped_id_key(scope, id) if scoped else keys.id_key(id))


def _repack(table: Table, part: Slice, tx: Transaction) -> None:
    lost = part.gone.damaged_events()
    if table.name == "dictionaries":
        if part.last:
            removal.drop_dictionaries(part.gone.ids | part.gone.edges.keys() | lost, tx)
        return
    if part.blocks:
        removal.remove_events(table.name, part.events.keys(), part.blocks, tx)
    if part.last and lost:
        blocks = {removal.block_of(keys.id_key(id), tx) for id in lost} - {0}
        removal.remove_events(table.name, lost, blocks, tx)


def _fold_sessions(table: Table, part: Slice, tx: Transaction) -> None:
    if not part.sessions:
        return
    rows = {session: part.gone.sessions[session] for session in part.sessions}
    for event in _said_since(part.gone, tx):
        if event.session in rows:
            rows[event.session] = bookkeeping.fold_session(rows[event.session], event)
    is_open: dict[str, bool] = {}
    for session, row in rows.items():
        key = keys.name_key(session)
        before = tx.read(Session, table.name, key)
        if row is None:
            tx.drop(table.name, key)
        elif row != before:
            tx.write_record(table.name, key, row)
        is_open[session] = row is not None and row.ended is None
    _list_open(is_open, tx)


def _said_since(gone: Deletion, tx: Transaction) -> Iterator[Any]:
    """Yield the events logged since the selection."""
    reader = BlockReader(tx.get, BlockCache())
    for key in event_keys(tx.cursor, keys.id_key(gone.upto + 1)):
        try:
            event = reader.event(key)
        except DamagedRow:
            continue
        if event is not None:
            yield event


def _list_open(is_open: Mapping[str, bool], tx: Transaction) -> None:
    """Update the list of sessions that have not ended; a store without the list gets none."""
    known = tx.meta(UNENDED, None)
    if known is None:
        return
    kept = [session for session in known if is_open.get(session, True)]
    kept += [session for session, still in is_open.items() if still and session not in known]
    if kept != known:
        tx.set_meta(UNENDED, kept)


def _drop_memories(table: Table, part: Slice, tx: Transaction) -> None:
    for scope, id in (*part.memories, *part.chunks()):
        tx.drop(table.name, keys.scoped_key(scope, id))


def _drop_subjects(table: Table, part: Slice, tx: Transaction) -> None:
    subjects = (*part.subjects, *part.chunks())
    for embedder in tx.meta(EMBEDDERS, {}).values() if subjects else ():
        for scope, id in subjects:
            tx.drop(table.name, keys.vector_key(embedder, scope, id))


def _drop_scopes(table: Table, part: Slice, tx: Transaction) -> None:
    """Delete manifests and numbered changes: nothing depends on them, and ids may be words."""
    for scope in part.gone.scopes if part.first else ():
        if table.key == "scope":
            tx.drop(table.name, keys.name_key(scope))
        else:
            bookkeeping.drop_changes(scope, bookkeeping.LATEST, tx)


def _clean_ids(table: Table, part: Slice, tx: Transaction) -> None:
    if not part.last:
        return
    clean = _cleaned_ledger if table.name == "ledger" else _cleaned_command
    for key, entry in part.gone.read_records(tx, table.name):
        cleaned = clean(entry, partial(_is_away, entry.scope, part.gone, tx), part.gone)
        if cleaned is None:
            tx.drop(table.name, key)
        elif cleaned != entry:
            tx.write_record(table.name, key, cleaned)


def _is_away(scope: str, gone: Deletion, tx: Transaction, id: str) -> bool:
    """Return whether a memory is deleted; a resumed deletion does not know all that were."""
    if id in gone.memory_ids or turn_of(id) in gone.ids:
        return True
    return gone.resumed and not exists(scope, id, tx)


def _cleaned_ledger(
    entry: LedgerEntry, is_away: Callable[[str], bool], gone: Deletion
) -> LedgerEntry | None:
    return None if entry.turn in gone.ids else bookkeeping.without(entry, is_away)


def _cleaned_command(
    entry: CommandEntry, is_away: Callable[[str], bool], gone: Deletion
) -> CommandEntry | None:
    """Return a command's row without deleted ids: an id may contain words."""
    if gone.is_whole(entry.scope):
        return None
    made, hidden = (
        tuple(id for id in ids if not is_away(id)) for ids in (entry.made, entry.hidden)
    )
    turns = tuple(turn for turn in entry.turns if turn not in gone.ids)
    lost = (made, hidden, turns) != (entry.made, entry.hidden, entry.turns)
    return replace(
        entry,
        turn=0 if entry.turn in gone.ids else entry.turn,
        made=made,
        hidden=hidden,
        turns=turns,
        state="erased" if lost and not (made or hidden or turns) else entry.state,
    )


RULES: dict[NamedBy, Callable[[Table, Slice, Transaction], None]] = {
    NamedBy.EVENT: _drop_events,
    NamedBy.PACKED_EVENTS: _repack,
    NamedBy.SESSION: _fold_sessions,
    NamedBy.SELECTION: _drop_memories,
    NamedBy.SUBJECT: _drop_subjects,
    NamedBy.IDS: _clean_ids,
    NamedBy.SCOPE: _drop_scopes,
}
