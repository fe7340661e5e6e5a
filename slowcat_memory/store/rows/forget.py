"""Deletes for good the rows that forget requests cover, table by table.

All requests are carried out in one pass: ``forget_select`` reads the log and the memories once, and
then one loop over ``TABLES`` deletes, or cleans, the rows that name deleted records. ``NamedBy``
declares there how the rows of a table name their sources; this file has one rule for each way.

With a turn its chunk, every memory made from it, and all their vectors are deleted. A context and
an index key quote the turns that they were made from, so one forgotten source deletes them, though
their memory stays; its vectors, made with that context, are deleted too.
"""

from collections.abc import Callable, Sequence
from typing import Any

from msgspec.structs import replace

from slowcat_memory.records import (
    CommandEntry,
    Context,
    Forget,
    Forgotten,
    Key,
    LedgerEntry,
    Run,
    Session,
    Task,
)
from slowcat_memory.store.blocks import removal
from slowcat_memory.store.disk import codec, keys
from slowcat_memory.store.disk.tables import EPOCH, ERASE_DUE, TABLES, NamedBy, Table
from slowcat_memory.store.disk.transaction import Transaction
from slowcat_memory.store.rows import bookkeeping
from slowcat_memory.store.rows.forget_select import Deletion, select
from slowcat_memory.store.rows.subjects import drop_vectors

Clean = Callable[[Any, Deletion], Any]


def forget(requests: Sequence[Forget], tx: Transaction) -> Forgotten:
    """Delete every row that checked requests cover, and all traces of it in other rows."""
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
    """Write tombstones for turns and for memories that requests name.

    The other memories may be made again, differently. Those deleted by scope or time get an epoch
    mark instead, so that a backup cannot restore them (see ``care.restore``).
    """
    tombstones = [keys.turn_tombstone(turn) for turn in gone.turns]
    tombstones += [keys.memory_tombstone(s, m) for s, m in gone.memories if gone.is_named(s, m)]
    for key in tombstones:
        tx.put("tombstones", key, codec.seal(key))
    epoch = tx.meta(EPOCH, 0) + 1
    for scope, memory in gone.unnamed:
        tx.write_record("tombstones", keys.epoch_mark(scope, memory), epoch)
    tx.set_meta(EPOCH, epoch)


def _made_from_turn(record: Context | Key | Task, gone: Deletion) -> bool:
    return not gone.turns.keys().isdisjoint(record.sources)


def _of_memory(record: Context | Key, gone: Deletion) -> bool:
    return (record.scope, record.memory) in gone.memories


def _names_work(record: Task | Run, gone: Deletion) -> bool:
    """Return whether a task's id, which may contain words, names deleted data."""
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


def _drop_events(table: Table, gone: Deletion, tx: Transaction) -> None:
    scoped = table.key.startswith("scope")
    for id, event in gone.events().items():
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
        bookkeeping.track_unended(before, row, session, tx)


def _drop_selected(table: Table, gone: Deletion, tx: Transaction) -> None:
    for scope, id in gone.memories:
        tx.drop(table.name, keys.scoped_key(scope, id))


def _drop_subjects(table: Table, gone: Deletion, tx: Transaction) -> None:
    for scope, id in gone.subjects:
        drop_vectors(scope, id, tx)


def _drop_scopes(table: Table, gone: Deletion, tx: Transaction) -> None:
    """Delete manifests and numbered changes: nothing depends on them, and ids may be words."""
    for scope in gone.scopes:
        if table.key == "scope":
            tx.drop(table.name, keys.name_key(scope))
        else:
            bookkeeping.drop_changes(scope, bookkeeping.LATEST, tx)


def _clean_ids(table: Table, gone: Deletion, tx: Transaction) -> None:
    clean: Clean = _cleaned_ledger if table.name == "ledger" else _cleaned_command
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
    """Return a command's row without deleted ids: an id may contain words."""
    if gone.is_whole(entry.scope):
        return None
    made, hidden = (
        tuple(id for id in ids if (entry.scope, id) not in gone.memories)
        for ids in (entry.made, entry.hidden)
    )
    others = tuple(other for other in entry.others if other not in gone.memories)
    turns = tuple(turn for turn in entry.turns if turn not in gone.turns)
    lost = (made, hidden, others, turns) != (entry.made, entry.hidden, entry.others, entry.turns)
    return replace(
        entry,
        turn=0 if entry.turn in gone.turns else entry.turn,
        made=made,
        hidden=hidden,
        others=others,
        turns=turns,
        state="erased" if lost and not (made or hidden or others or turns) else entry.state,
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
