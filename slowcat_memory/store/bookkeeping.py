"""Rows about other rows: sessions, cursors, tasks, runs, the ledger, changes, manifests."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from msgspec.structs import replace

from slowcat_memory.core.memory import chunk, chunk_id, indexed_text, session_in, turn_of
from slowcat_memory.errors import StoreDamagedError, StoreError
from slowcat_memory.records import (
    Context,
    Cursor,
    Event,
    Key,
    LedgerEntry,
    Manifest,
    Memory,
    Session,
    Task,
    Turn,
    Vector,
    WriteBatch,
)
from slowcat_memory.store.blocks import EVENTS, BlockReader
from slowcat_memory.store.disk import codec, tables
from slowcat_memory.store.disk.transaction import Rows, Transaction

Subject = tuple[str, str]  # scope, id
LATEST = 2**64 - 1


def in_own_session(event: Event, tx: Transaction) -> tuple[Event, Session | None]:
    """Return an event in a session of its own scope, and the session's row before it.

    A session belongs to one scope. In another one the same id gets the scope's name, so that two
    people's sessions of one name stay apart in every table.
    """
    row = tx.read(Session, "sessions", codec.name_key(event.session))
    if row is None or row.scope == event.scope:
        return event, row
    event = replace(event, session=session_in(event.session, event.scope))
    return event, tx.read(Session, "sessions", codec.name_key(event.session))


def fold_session(row: Session | None, event: Event) -> Session:
    """Return a session's row after its next event in log order; ``row`` is None before the first.

    So after a forget, folding the remaining events gives the row as if the others had never been.
    """
    if row is None:
        row = Session(id=event.session, scope=event.scope, started=event.at, last=event.at)
    if isinstance(event, Turn):
        if row.reason == "crash":  # another process ended it, and its own still talks
            row = replace(row, ended=None, reason="")
        return replace(
            row,
            last=event.at,
            turns=row.turns + 1,
            first_turn=row.first_turn or event.id,
            last_turn=event.id,
        )
    if event.kind == "end":
        return replace(row, ended=event.at, reason=event.reason)
    return replace(row, ended=None, reason="")


def list_unended(is_open: Mapping[str, bool], tx: Transaction) -> None:
    """Update the list of sessions that have not ended, which saves reading every session."""
    known = tx.meta(tables.UNENDED, [])
    kept = [session for session in known if is_open.get(session, True)]
    kept += [session for session, still in is_open.items() if still and session not in known]
    if kept != known:
        tx.set_meta(tables.UNENDED, kept)


def move_cursor(cursor: Cursor | None, tx: Transaction) -> None:
    if cursor is not None:
        tx.write_record("cursors", codec.name_key(cursor.name), cursor)


def finish_task(batch: WriteBatch, tx: Transaction) -> bool:
    """Delete the task that a step has finished.

    Returns False when the task does not exist: the outcome was written before, or is about
    something forgotten meanwhile, and must not be written.
    """
    if not batch.done:
        return True
    key = codec.name_key(batch.done)
    task = tx.read(Task, "tasks", key)
    tx.drop("tasks", key)
    return task is not None and not any_forgotten(task.sources, tx)


def put_tasks(batch: WriteBatch, tx: Transaction) -> None:
    """Write a step's new tasks, except those about forgotten data, and those that are there."""
    for task in batch.tasks:
        key = codec.name_key(task.id)
        known = None if batch.retask else tx.read(Task, "tasks", key)
        if known is not None:  # one that was given up may be about something else now
            if known.state != "dead" or (known.sources, known.note) == (task.sources, task.note):
                continue
        if not any_forgotten(task.sources, tx):
            tx.write_record("tasks", key, task)


def _next_number(counter: str, tx: Transaction) -> int:
    number = int(tx.meta(counter, 0)) + 1
    tx.set_meta(counter, number)
    return number


def log_run(batch: WriteBatch, finished: bool, tx: Transaction) -> None:
    """Number a step's run and write it.

    ``finished`` means that its task existed; else its id may name forgotten data and is omitted.
    """
    if batch.run is None:
        return
    number = _next_number(tables.LAST_RUN, tx)
    lost = (t for t in batch.tasks if t.id == batch.run.task and any_forgotten(t.sources, tx))
    run = replace(batch.run, id=number, task=batch.run.task if finished and not any(lost) else "")
    tx.write_record("runs", codec.id_key(number), run)


def log_call(batch: WriteBatch, tx: Transaction) -> None:
    """Number a call by another program and write it, without ids of forgotten memories."""
    if batch.call is None:
        return
    call = batch.call
    number = _next_number(tables.LAST_CALL, tx)
    kept = tuple(memory for memory in call.memories if not names_forgotten(call.scope, memory, tx))
    tx.write_record("calls", codec.id_key(number), replace(call, id=number, memories=kept))


def write_ledger(entry: LedgerEntry, tx: Transaction) -> None:
    """Write a turn's ledger entry without its references to forgotten memories."""
    if any_forgotten((entry.turn,), tx):
        return
    kept = without(entry, lambda memory: names_forgotten(entry.scope, memory, tx))
    tx.write_record("ledger", codec.id_key(entry.turn), kept)


def without(entry: LedgerEntry, gone: Callable[[str], bool]) -> LedgerEntry:
    return replace(
        entry,
        offers=tuple(offer for offer in entry.offers if not gone(offer.memory)),
        left_out=tuple(row for row in entry.left_out if not gone(row.memory)),
        visible=tuple(memory for memory in entry.visible if not gone(memory)),
    )


def trim(table: str, keep: int, tx: Transaction) -> None:
    """Delete a ring's oldest rows beyond ``keep``, when this transaction adds any.

    ``tx`` must already have everything else of the LMDB transaction.
    """
    fresh = tx.puts(table).keys()
    if not fresh or tx.count(table) + len(fresh) <= keep:
        return
    oldest_first = sorted(fresh | tx.keys(table))
    for key in oldest_first[: max(0, len(oldest_first) - keep)]:
        tx.drop(table, key)


def changed_by(batch: WriteBatch, owner: Callable[[Vector], str]) -> dict[str, list[str]]:
    """Return the memories that a step changes, by namespace.

    ``owner`` returns the memory of a vector, which may be an index key's.
    """
    subjects = (
        *batch.drop,
        *((memory.scope, memory.id) for memory in batch.memories),
        *((context.scope, context.memory) for context in batch.contexts),
        *((key.scope, key.memory) for key in batch.keys),
        *((scope, codec.owner_of(id)) for scope, id in batch.drop_keys),
        *((vector.scope, owner(vector)) for vector in batch.vectors),
    )
    changed = defaultdict[str, list[str]](list)
    for scope, id in dict.fromkeys(subjects):
        changed[scope].append(id)
    return changed


def log_changes(batch: WriteBatch, tx: Transaction) -> None:
    """Write the ids of the memories that a step changes, under a change number.

    So an index only reads changes made after its build. Publishing an index deletes the rows of the
    changes that it contains.
    """

    def owner(vector: Vector) -> str:
        own = codec.scoped_key(vector.scope, vector.memory)
        return vector.memory if tx.get("keys", own) is None else codec.owner_of(vector.memory)

    if changed := changed_by(batch, owner):
        _write_changes(changed, tx)


def _write_changes(changed: Mapping[str, Iterable[str]], tx: Transaction) -> None:
    number = _next_number(tables.LAST_CHANGE, tx)
    for scope, ids in changed.items():
        kept = [id for id in ids if not names_forgotten(scope, id, tx)]  # an id may be words
        tx.write_record("changes", codec.scoped_id_key(scope, number), kept)


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


def drop_changes(scope: str, upto: int, tx: Transaction) -> None:
    """Delete a namespace's numbered changes up to a number; those of ``tx`` itself stay."""
    for key in tx.keys("changes", codec.scope_prefix(scope)):
        if codec.id_of(key) > upto:
            return
        tx.drop("changes", key)


def publish(manifest: Manifest, tx: Transaction) -> None:
    """Write the manifest of a sealed index.

    Raises:
        StoreError: Something was forgotten since the build began, so the index may contain it.
    """
    if manifest.forget_epoch != tx.meta(tables.EPOCH, 0):
        raise StoreError(
            f"index {manifest.generation} was built before something was forgotten",
            hint="Build it again.",
        )
    tx.write_record("manifest", codec.name_key(manifest.scope), manifest)
    drop_changes(manifest.scope, manifest.changes, tx)


# ------------------------------------------------------------------- subjects of derived rows
# Forgotten data stays deleted: the step that made a row may have begun before the forget.


def exists(scope: str, memory: str, rows: Rows) -> bool:
    """Return whether a memory, or a chunk's turn, exists."""
    turn = turn_of(memory)
    if turn and any(rows.get(table, codec.id_key(turn)) is not None for table in EVENTS):
        return True
    return rows.get("memories", codec.scoped_key(scope, memory)) is not None


def turn_at(id: int, tx: Transaction) -> Turn | None:
    """Return a turn of the log; None for another event, or a damaged one."""
    try:
        event = BlockReader(tx).event(codec.id_key(id)) if id else None
    except StoreDamagedError:
        return None
    return event if isinstance(event, Turn) else None


def memory_or_chunk(scope: str, id: str, tx: Transaction) -> Memory | None:
    """Return a memory, or the chunk of a turn that has no row yet; None for a voice command's."""
    memory = tx.read(Memory, "memories", codec.scoped_key(scope, id))
    if memory is None and (turn := turn_at(turn_of(id), tx)) and turn.scope == scope:
        return None if turn.aside else chunk(turn)
    return memory


def write_memory(memory: Memory, tx: Transaction) -> None:
    """Write a memory. A chunk's context has a row of its own, so it is not included."""
    row = replace(memory, context="") if turn_of(memory.id) else memory
    tx.write_record("memories", codec.scoped_key(memory.scope, memory.id), row)


def text_of(scope: str, id: str, tx: Transaction) -> str:
    """Return the text of a memory or key to be embedded, its context included.

    "" when there is none, or it is damaged.
    """
    row = codec.scoped_key(scope, id)
    if key := tx.read(Key, "keys", row):
        return key.text
    memory = memory_or_chunk(scope, id, tx)
    if memory is None:
        return ""
    context = tx.read(Context, "contexts", row)
    return indexed_text(replace(memory, context=context.text) if context else memory)


def names_forgotten(scope: str, memory: str, tx: Transaction) -> bool:
    """Return whether an id is a forgotten memory's, or that of a forgotten turn's chunk."""
    if tx.get("tombstones", codec.memory_tombstone(scope, memory)) is not None:
        return True
    turn = turn_of(memory)
    return turn > 0 and any_forgotten((turn,), tx)


def any_forgotten(turns: Iterable[int], tx: Transaction) -> bool:
    """Return whether any of the turns is forgotten."""
    return any(tx.get("tombstones", codec.turn_tombstone(turn)) is not None for turn in turns)


def drop_vectors(subjects: Collection[Subject], tx: Transaction) -> None:
    """Delete all vectors of memories or keys, by every embedder, with those of tokens."""
    for embedder in tx.meta(tables.EMBEDDERS, {}).values() if subjects else ():
        for scope, id in subjects:
            tx.drop("vectors", codec.vector_key(embedder, scope, id))
