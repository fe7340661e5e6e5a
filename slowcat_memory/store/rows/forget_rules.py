"""One rule for each way in which a table's rows name what is deleted; see ``tables.NamedBy``."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from msgspec.structs import replace

from slowcat_memory.core.memory import chunk_id, turn_of
from slowcat_memory.records import (
    CallEntry,
    CommandEntry,
    Context,
    Key,
    LedgerEntry,
    Manifest,
    Run,
    Session,
    Task,
)
from slowcat_memory.store.blocks.reader import BlockReader, DamagedRow, block_of, remove_events
from slowcat_memory.store.disk import keys
from slowcat_memory.store.disk.tables import EPOCH, NamedBy, Table
from slowcat_memory.store.disk.transaction import Transaction
from slowcat_memory.store.rows import bookkeeping
from slowcat_memory.store.rows.forget_select import Deletion
from slowcat_memory.store.rows.pending import Subject, drop_vectors, exists


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


def add_rows(
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


def drop_rows(table: Table, part: Slice, tx: Transaction) -> None:
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
    if part.blocks:
        remove_events(table.name, part.events.keys(), part.blocks, tx)
    if part.last and lost:
        blocks = {block_of(keys.id_key(id), tx) for id in lost} - {0}
        remove_events(table.name, lost, blocks, tx)


def _fold_sessions(table: Table, part: Slice, tx: Transaction) -> None:
    if not part.sessions:
        return
    rows = {session: part.gone.sessions[session] for session in part.sessions}
    since = keys.id_key(part.gone.upto + 1)  # the selection has those before
    for _, event in BlockReader(tx.get).events(tx.cursor, since):
        if not isinstance(event, DamagedRow) and event.session in rows:
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
    bookkeeping.list_unended(is_open, tx)


def _drop_memories(table: Table, part: Slice, tx: Transaction) -> None:
    for scope, id in (*part.memories, *part.chunks()):
        tx.drop(table.name, keys.scoped_key(scope, id))


def _drop_subjects(table: Table, part: Slice, tx: Transaction) -> None:
    drop_vectors((*part.subjects, *part.chunks()), tx)


def _drop_scopes(table: Table, part: Slice, tx: Transaction) -> None:
    """Delete manifests and numbered changes: nothing depends on them, and ids may be words.

    The indexes of the other namespaces have nothing of it, and stay in use: so their manifests say.
    """
    for scope in part.gone.scopes if part.first else ():
        if table.key == "scope":
            tx.drop(table.name, keys.name_key(scope))
        else:
            bookkeeping.drop_changes(scope, bookkeeping.LATEST, tx)
    if part.first and table.key == "scope":
        epoch = tx.meta(EPOCH, 0)
        for key in list(tx.keys(table.name)):
            other = tx.read(Manifest, table.name, key)
            if other and other.forget_epoch == epoch - 1:
                tx.write_record(table.name, key, replace(other, forget_epoch=epoch))


IsAway = Callable[[str, str], bool]
"""Returns whether a memory, by scope and id, is deleted."""


def _clean_ids(table: Table, part: Slice, tx: Transaction) -> None:
    if not part.last:
        return
    clean = CLEANED[table.name]
    is_away = partial(_is_away, part.gone, tx)
    for key, entry in part.gone.read_records(tx, table.name):
        cleaned = clean(entry, is_away, part.gone)
        if cleaned is None:
            tx.drop(table.name, key)
        elif cleaned != entry:
            tx.write_record(table.name, key, cleaned)


def _is_away(gone: Deletion, tx: Transaction, scope: str, id: str) -> bool:
    """Return whether a memory is deleted; a resumed deletion does not know all that were."""
    if id in gone.memory_ids or turn_of(id) in gone.ids:
        return True
    return gone.resumed and not exists(scope, id, tx)


def _cleaned_ledger(entry: LedgerEntry, is_away: IsAway, gone: Deletion) -> LedgerEntry | None:
    if entry.turn in gone.ids:
        return None
    return bookkeeping.without(entry, partial(is_away, entry.scope))


def _cleaned_call(entry: CallEntry, is_away: IsAway, gone: Deletion) -> CallEntry | None:
    if gone.is_whole(entry.scope):
        return None
    kept = tuple(id for id in entry.memories if not is_away(entry.scope, id))
    return replace(entry, memories=kept)


def _cleaned_command(entry: CommandEntry, is_away: IsAway, gone: Deletion) -> CommandEntry | None:
    """Return a command's row without deleted ids: an id may contain words."""
    if gone.is_whole(entry.scope):
        return None
    made, hidden = (
        tuple(id for id in ids if not is_away(entry.scope, id))
        for ids in (entry.made, entry.hidden)
    )
    others = tuple(other for other in entry.others if not is_away(*other))
    turns = tuple(turn for turn in entry.turns if turn not in gone.ids)
    lost = (made, hidden, others, turns) != (entry.made, entry.hidden, entry.others, entry.turns)
    return replace(
        entry,
        turn=0 if entry.turn in gone.ids else entry.turn,
        made=made,
        hidden=hidden,
        others=others,
        turns=turns,
        state="erased" if lost and not (made or hidden or others or turns) else entry.state,
    )


CLEANED: dict[str, Callable[[Any, IsAway, Deletion], Any]] = {
    "ledger": _cleaned_ledger,
    "calls": _cleaned_call,
    "commands": _cleaned_command,
}

RULES: dict[NamedBy, Callable[[Table, Slice, Transaction], None]] = {
    NamedBy.EVENT: _drop_events,
    NamedBy.PACKED_EVENTS: _repack,
    NamedBy.SESSION: _fold_sessions,
    NamedBy.SELECTION: _drop_memories,
    NamedBy.SUBJECT: _drop_subjects,
    NamedBy.IDS: _clean_ids,
    NamedBy.SCOPE: _drop_scopes,
}
