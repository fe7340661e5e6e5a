"""Rows about other rows: sessions, cursors, tasks, runs, the ledger, changes, manifests."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from slowcat_memory.core.memory import chunk_id, session_in
from slowcat_memory.errors import StoreError
from slowcat_memory.records import (
    Cursor,
    Event,
    LedgerEntry,
    Manifest,
    Run,
    Session,
    Task,
    TrustedTime,
    Turn,
    Vector,
    WriteBatch,
)
from slowcat_memory.store.disk import keys
from slowcat_memory.store.disk.tables import CLOCK, EPOCH, LAST_CALL, LAST_CHANGE, LAST_RUN, UNENDED
from slowcat_memory.store.disk.transaction import Transaction
from slowcat_memory.store.rows.subjects import any_forgotten, names_forgotten

LATEST = 2**64 - 1


def in_own_session(event: Event, tx: Transaction) -> tuple[Event, Session | None]:
    """Return an event in a session of its own scope, and the session's row before it.

    A session belongs to one scope. In another one the same id gets the scope's name, so that two
    people's sessions of one name stay apart in every table.
    """
    row = tx.read(Session, "sessions", keys.name_key(event.session))
    if row is None or row.scope == event.scope:
        return event, row
    event = replace(event, session=session_in(event.session, event.scope))
    return event, tx.read(Session, "sessions", keys.name_key(event.session))


def fold_session(row: Session | None, event: Event) -> Session:
    """Return a session's row after its next event in log order; ``row`` is None before the first.

    So after a forget, folding the remaining events gives the row as if the others had never been.
    """
    if row is None:
        row = Session(id=event.session, scope=event.scope, started=event.at, last=event.at)
    if isinstance(event, Turn):
        if row.reason == "crash":  # another process ended it, and its own still talks
            row = replace(row, ended=None, reason="")
        return _with_turn(row, event)
    if event.kind == "end":
        return replace(row, ended=event.at, reason=event.reason)
    return replace(row, ended=None, reason="")


def _with_turn(row: Session, turn: Turn) -> Session:
    return replace(
        row,
        last=turn.at,
        turns=row.turns + 1,
        first_turn=row.first_turn or turn.id,
        last_turn=turn.id,
    )


def track_unended(before: Session | None, after: Session | None, id: str, tx: Transaction) -> None:
    """Update the list of sessions that have not ended, which saves reading every session.

    ``before`` and ``after`` are the session's row, None when there is none.
    """
    was, is_now = (row is not None and row.ended is None for row in (before, after))
    if was == is_now:
        return
    others = [session for session in tx.meta(UNENDED, []) if session != id]
    tx.set_meta(UNENDED, [*others, id] if is_now else others)


def move_cursor(cursor: Cursor | None, tx: Transaction) -> None:
    if cursor is not None:
        tx.write_record("cursors", keys.name_key(cursor.name), cursor)


def finish_task(batch: WriteBatch, tx: Transaction) -> bool:
    """Delete the task that a step has finished.

    Returns False when the task does not exist: the outcome was written before, or is about
    something forgotten meanwhile, and must not be written.
    """
    if not batch.done:
        return True
    key = keys.name_key(batch.done)
    task = tx.read(Task, "tasks", key)
    tx.drop("tasks", key)
    return task is not None and not any_forgotten(task.sources, tx)


def put_tasks(batch: WriteBatch, tx: Transaction) -> None:
    """Write a step's new tasks, except those about forgotten data, and those that are there."""
    for task in batch.tasks:
        key = keys.name_key(task.id)
        found = None if batch.retask else tx.read(Task, "tasks", key)
        if (found is None or _is_outdated(found, task)) and not any_forgotten(task.sources, tx):
            tx.write_record("tasks", key, task)


def _is_outdated(found: Task, new: Task) -> bool:
    """Return whether a task was given up and is about something else now, as a longer session."""
    return found.state == "dead" and (found.sources, found.note) != (new.sources, new.note)


def log_run(batch: WriteBatch, finished: bool, tx: Transaction) -> None:
    """Number a step's run and write it.

    ``finished`` means that its task existed; else its id may name forgotten data and is omitted.
    """
    if batch.run is None:
        return
    number = tx.meta(LAST_RUN, 0) + 1
    tx.set_meta(LAST_RUN, number)
    keep_name = finished and not any(_is_lost(task, batch.run, tx) for task in batch.tasks)
    run = replace(batch.run, id=number, task=batch.run.task if keep_name else "")
    tx.write_record("runs", keys.id_key(number), run)


def log_call(batch: WriteBatch, tx: Transaction) -> None:
    """Number a call by another program and write it, without ids of forgotten memories."""
    if batch.call is None:
        return
    call = batch.call
    number = tx.meta(LAST_CALL, 0) + 1
    tx.set_meta(LAST_CALL, number)
    kept = tuple(one for one in call.memories if not names_forgotten(call.scope, one, tx))
    tx.write_record("calls", keys.id_key(number), replace(call, id=number, memories=kept))


def _is_lost(task: Task, run: Run, tx: Transaction) -> bool:
    return task.id == run.task and any_forgotten(task.sources, tx)


def write_ledger(entry: LedgerEntry, tx: Transaction) -> None:
    """Write a turn's ledger entry without its references to forgotten memories."""
    if any_forgotten((entry.turn,), tx):
        return
    kept = without(entry, lambda memory: names_forgotten(entry.scope, memory, tx))
    tx.write_record("ledger", keys.id_key(entry.turn), kept)


def without(entry: LedgerEntry, gone: Callable[[str], bool]) -> LedgerEntry:
    return replace(
        entry,
        offers=tuple(offer for offer in entry.offers if not gone(offer.memory)),
        left_out=tuple(one for one in entry.left_out if not gone(one.memory)),
        visible=tuple(memory for memory in entry.visible if not gone(memory)),
    )


def trim(table: str, keep: int, tx: Transaction) -> None:
    """Delete a ring's oldest rows beyond ``keep``, when this transaction adds any.

    ``tx`` must already have everything else of the LMDB transaction.
    """
    fresh = tx.new_keys(table)
    if not fresh or tx.count(table) + len(fresh) <= keep:
        return
    oldest_first = sorted(fresh.union(tx.keys(table)))
    for key in oldest_first[: max(0, len(oldest_first) - keep)]:
        tx.drop(table, key)


def log_changes(batch: WriteBatch, tx: Transaction) -> None:
    """Write the ids of the memories that a step changes, under a change number.

    So an index only reads changes made after its build. Publishing an index deletes the rows of the
    changes that it contains.
    """
    changed: dict[str, dict[str, None]] = defaultdict(dict)
    for scope, memory in batch.drop:
        changed[scope][memory] = None
    for record in batch.memories:
        changed[record.scope][record.id] = None
    for context in batch.contexts:
        changed[context.scope][context.memory] = None
    for key in batch.keys:
        changed[key.scope][key.memory] = None
    for scope, id in batch.drop_keys:
        changed[scope][keys.owner_of(id)] = None
    for vector in batch.vectors:
        changed[vector.scope][_subject(vector, tx)] = None
    if changed:
        _write_changes(changed, tx)


def _write_changes(changed: Mapping[str, Iterable[str]], tx: Transaction) -> None:
    number = tx.meta(LAST_CHANGE, 0) + 1
    tx.set_meta(LAST_CHANGE, number)
    for scope, ids in changed.items():
        kept = [id for id in ids if not names_forgotten(scope, id, tx)]  # an id may be words
        tx.write_record("changes", keys.scoped_id_key(scope, number), kept)


def log_late(events: Sequence[Event], tx: Transaction) -> None:
    """Have everybody read late events who has read the log up to behind them.

    Indexes take their turns for changed memories, and cursors go back.
    """
    changed = defaultdict[str, list[str]](list)
    for event in events:
        if isinstance(event, Turn) and not event.aside:
            changed[event.scope].append(chunk_id(event.id))
    if changed:
        _write_changes(changed, tx)
    first = events[0].id
    for key in tx.keys_with("cursors", b""):
        cursor = tx.read(Cursor, "cursors", key)
        if cursor is not None and cursor.in_log and cursor.position >= first:
            tx.write_record("cursors", key, replace(cursor, position=first - 1))


def _subject(vector: Vector, tx: Transaction) -> str:
    """Return the memory of a vector, which may be an index key's."""
    own = keys.scoped_key(vector.scope, vector.memory)
    return vector.memory if tx.get("keys", own) is None else keys.owner_of(vector.memory)


def drop_changes(scope: str, upto: int, tx: Transaction) -> None:
    """Delete a namespace's numbered changes up to a number; those of ``tx`` itself stay."""
    prefix, cursor = keys.scope_prefix(scope), tx.cursor("changes")
    if not cursor.set_range(prefix):
        return
    for key in cursor.iternext(values=False):
        if not key.startswith(prefix) or keys.id_of(key) > upto:
            return
        tx.drop("changes", key)


def publish(manifest: Manifest, tx: Transaction) -> None:
    """Write the manifest of a sealed index.

    Raises:
        StoreError: Something was forgotten since the build began, so the index may contain it.
    """
    if manifest.forget_epoch != tx.meta(EPOCH, 0):
        raise StoreError(
            f"index {manifest.generation} was built before something was forgotten",
            hint="Build it again.",
        )
    tx.write_record("manifest", keys.name_key(manifest.scope), manifest)
    drop_changes(manifest.scope, manifest.changes, tx)


def write_trusted_time(time: TrustedTime, tx: Transaction) -> None:
    tx.set_meta(CLOCK, msgspec.to_builtins(time))
