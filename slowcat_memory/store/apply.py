"""Turns each kind of write into rows: a record in, changes in a ``Transaction`` out.

Nothing here touches the disk. Forgotten data stays deleted: a memory made from a forgotten turn, or
a vector of a forgotten memory, is skipped, because the step that made it may have begun before the
forget (see ``bookkeeping``).

A vector was made of one text, so it is deleted when that text changes; the same batch may have the
new one. Contexts and keys are deleted with their memory. A memory made from a local-only one is
written as local-only (see "marks" below).
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from slowcat_memory.core.disclosure import (
    LOCAL_ONLY,
    MUTED,
    Mark,
    Origin,
    corrected_marks,
    has_marked_origin,
    origin_of,
    origins,
    with_mark,
)
from slowcat_memory.core.memory import CHUNK, NOTE, chunk, chunk_id, turn_of
from slowcat_memory.core.text.normalize import digest
from slowcat_memory.records import (
    Context,
    Cursor,
    Event,
    Key,
    Memory,
    TokenCodes,
    Turn,
    Vector,
    WriteBatch,
)
from slowcat_memory.store import bookkeeping
from slowcat_memory.store.disk import codec
from slowcat_memory.store.disk.page_reader import LZ4
from slowcat_memory.store.disk.tables import EMBEDDERS, NEXT_ID
from slowcat_memory.store.disk.transaction import Transaction

V = TypeVar("V", Vector, TokenCodes)
REPLIES = 8  # log positions behind a user's turn that are searched for its reply
_CROSSING = (f"{CHUNK}/", f"{NOTE}/")  # kinds that may be made from a memory of another namespace


def append_events(events: Sequence[Event], cursor: Cursor | None, tx: Transaction) -> None:
    """Write numbered events in log order, their sessions, and a cursor.

    An event is late when another process has committed a later one: whoever has read the log up to
    there is told of it.

    Raises:
        ValueError: A key cannot be made, or a record is too large.
    """
    for given in events:
        if tx.get("log", codec.id_key(given.id)) is not None:
            continue  # LMDB said that its commit failed, but it has reached the disk
        event, before = bookkeeping.in_own_session(given, tx)
        tx.write_record("log", codec.id_key(event.id), event)
        scoped = codec.scoped_id_key(event.scope, event.id)
        tx.put("log_by_scope", scoped, codec.seal(scoped))
        if isinstance(event, Turn):
            log_marked(event, tx)
        session = codec.name_key(event.session)
        after = bookkeeping.fold_session(before, event)
        tx.write_record("sessions", session, after)
        if before is None or before.ended != after.ended:
            bookkeeping.list_unended({event.session: after.ended is None}, tx)
    next_id = tx.meta(NEXT_ID, 1)
    if late := [event for event in events if event.id < next_id]:
        bookkeeping.log_late(late, tx)
    if events:
        tx.set_meta(NEXT_ID, max(next_id, events[-1].id + 1))
    bookkeeping.move_cursor(cursor, tx)


def apply_batch(batch: WriteBatch, tx: Transaction) -> None:
    """Write everything that one step changes: first its drops, then its puts.

    Raises:
        ValueError: A key cannot be made, or a record is too large.
    """
    finished = bookkeeping.finish_task(batch, tx)
    bookkeeping.log_run(batch, finished, tx)
    bookkeeping.log_call(batch, tx)
    if not finished:
        return
    for scope, memory in batch.drop:
        _drop_memory(scope, memory, tx)
    marked = _put_memories(batch, tx)
    for scope, id in batch.drop_keys:
        _drop_key(scope, id, tx)
    for context in batch.contexts:
        _put_context(context, tx)
    for key in batch.keys:
        _put_key(key, tx)
    if batch.vectors:
        _put_vectors(batch.embedder, batch.vectors, codec.encode_vector, tx)
    if batch.tokens:
        _put_vectors(batch.token_key, batch.tokens, codec.encode_tokens, tx)
    bookkeeping.log_changes(replace(batch, memories=(*batch.memories, *marked)), tx)
    bookkeeping.move_cursor(batch.cursor, tx)
    if batch.command is not None:
        tx.write_record("commands", codec.id_key(batch.command.id), batch.command)
    bookkeeping.put_tasks(batch, tx)


def _put_memories(batch: WriteBatch, tx: Transaction) -> list[Memory]:
    """Write the memories with the marks that they inherit; return those that change with them."""
    replaced = list[tuple[Memory, Memory]]()  # before and after
    for record in batch.memories:
        gone = bookkeeping.names_forgotten(record.scope, record.id, tx)
        if gone or bookkeeping.any_forgotten(record.sources, tx):
            continue
        before = bookkeeping.memory_or_chunk(record.scope, record.id, tx)
        kept = inherit(record, before, tx)
        _put_memory(kept, tx)
        if before is not None:
            replaced.append((before, kept))
    changed = list[Memory]()
    for mark, marks in ((LOCAL_ONLY, batch.marks), (MUTED, batch.mutes)):
        changed += change_marks(marks, tx, mark)
        changed += spread((new for old, new in replaced if mark.on(old) != mark.on(new)), tx, mark)
    return changed


def _put_memory(memory: Memory, tx: Transaction) -> None:
    before = bookkeeping.text_of(memory.scope, memory.id, tx) if tx.meta(EMBEDDERS, {}) else ""
    bookkeeping.write_memory(memory, tx)
    if before and bookkeeping.text_of(memory.scope, memory.id, tx) != before:
        bookkeeping.drop_vectors([(memory.scope, memory.id)], tx)


def _drop_memory(scope: str, memory: str, tx: Transaction) -> None:
    row = codec.scoped_key(scope, memory)
    tx.drop("memories", row)
    tx.drop("contexts", row)
    for key in tx.keys_with("keys", row + b"?"):
        id = codec.split_scope(key)[1].decode()
        if codec.owner_of(id) == memory:
            _drop_key(scope, id, tx)
    bookkeeping.drop_vectors([(scope, memory)], tx)


def _put_context(context: Context, tx: Transaction) -> None:
    if not _may_be_written(context, tx):
        return
    key = codec.scoped_key(context.scope, context.memory)
    before = tx.read(Context, "contexts", key)
    if context.text != (before.text if before else ""):
        bookkeeping.drop_vectors([(context.scope, context.memory)], tx)
    if context.text:
        tx.write_record("contexts", key, context)
    else:
        tx.drop("contexts", key)


def _put_key(key: Key, tx: Transaction) -> None:
    if codec.owner_of(key.id) != key.memory or key.id.endswith("?"):
        raise ValueError("a key's id is its memory's, a question mark, and a name without one")
    if not _may_be_written(key, tx):
        return
    row = codec.scoped_key(key.scope, key.id)
    before = tx.read(Key, "keys", row)
    if before is not None and before.text != key.text:
        bookkeeping.drop_vectors([(key.scope, key.id)], tx)
    tx.write_record("keys", row, key)


def _drop_key(scope: str, id: str, tx: Transaction) -> None:
    tx.drop("keys", codec.scoped_key(scope, id))
    bookkeeping.drop_vectors([(scope, id)], tx)


def _may_be_written(record: Context | Key, tx: Transaction) -> bool:
    """Return whether the memory exists, and no source of the record was forgotten or is muted."""
    return (
        bookkeeping.exists(record.scope, record.memory, tx)
        and not bookkeeping.names_forgotten(record.scope, record.memory, tx)
        and not bookkeeping.any_forgotten(record.sources, tx)
        and not _has_muted_source(record, tx)
    )


def _has_muted_source(record: Context | Key, tx: Transaction) -> bool:
    """Return whether a text was made from a muted turn, other than its own chunk's."""
    if not record.text:
        return False
    others = (chunk_id(turn) for turn in record.sources if turn != turn_of(record.memory))
    rows = (tx.read(Memory, "memories", codec.scoped_key(record.scope, id)) for id in others)
    return any(row is not None and row.muted for row in rows)


def _put_vectors(
    embedder: str, vectors: Sequence[V], encode: Callable[[bytes, V], bytes], tx: Transaction
) -> None:
    """Write vectors into a space; token vectors use a space like any other, with its own key."""
    known = tx.meta(EMBEDDERS, {})
    hashed = codec.embedder_hash(embedder).hex()
    if hashed not in known:
        tx.set_meta(EMBEDDERS, {**known, hashed: embedder})
    for vector in vectors:
        scope, id = vector.scope, vector.memory
        row = codec.scoped_key(scope, id)
        if not bookkeeping.exists(scope, id, tx) and tx.get("keys", row) is None:
            continue  # of what does not exist: text can be guessed from a vector
        if not vector.of or digest(bookkeeping.text_of(scope, id, tx)) == vector.of:
            key = codec.vector_key(embedder, scope, id)
            tx.put("vectors", key, encode(key, vector))


# ------------------------------------------------------------------- marks
# Local-only and muted: a derived memory gets the strictest mark of its origins. A person's mark is
# changed by ``WriteBatch.marks`` and ``mutes`` alone. When a mark changes, everything that was made
# from it follows in the same transaction, however indirectly; what is made later inherits it when it
# is written. ``core.disclosure`` has the rule.


def inherit(memory: Memory, before: Memory | None, tx: Transaction) -> Memory:
    """Return a memory that is to be written with its marks: a person's, or those of its origins."""
    find = cache(partial(_find, tx, memory.kind))
    for mark in (LOCAL_ONLY, MUTED):
        derived = has_marked_origin(memory, find, mark)
        own = mark.by_person(memory)
        own = own and not (derived and memory.made)  # a job marks what it knows to be derived
        own = own or (before is not None and mark.by_person(before))
        memory = with_mark(memory, own or derived, own, mark)
    return memory


def log_marked(turn: Turn, tx: Transaction) -> None:
    """Mark the chunk of a turn that is logged as local-only, or that replies to a marked turn.

    A voice command and its answer have none: they are never recalled.
    """
    if turn.aside:
        return
    asked = (turn.scope, chunk_id(turn.reply_to))
    row = tx.read(Memory, "memories", codec.scoped_key(*asked)) if turn.reply_to else None
    local, muted = (row is not None and mark.on(row) for mark in (LOCAL_ONLY, MUTED))
    if turn.local_only or local or muted:
        memory = chunk(turn)
        origins = (*memory.derived_from, asked) if local or muted else memory.derived_from
        own = LOCAL_ONLY.by_person(memory)
        marked = with_mark(replace(memory, derived_from=origins), turn.local_only or local, own)
        bookkeeping.write_memory(with_mark(marked, muted, False, MUTED), tx)


def change_marks(
    marks: Iterable[tuple[str, str, bool]], tx: Transaction, mark: Mark
) -> list[Memory]:
    """Apply a person's marks; return every memory that changes with them."""
    changed = dict[tuple[str, str], Memory]()
    for scope, id, on in marks:
        memory = bookkeeping.memory_or_chunk(scope, id, tx)
        if memory is None:
            continue
        for marked in (with_mark(memory, on, on, mark), *_replies(memory, tx)):
            bookkeeping.write_memory(marked, tx)
            changed[marked.scope, marked.id] = marked
    for marked in spread(changed.values(), tx, mark):
        changed[marked.scope, marked.id] = marked
    return list(changed.values())


def spread(changed: Iterable[Memory], tx: Transaction, mark: Mark) -> list[Memory]:
    """Correct the marks of all that was made from memories; return what changed with them."""
    reached = {origin_of(memory): memory for memory in changed}
    waiting = [*reached.values()]
    while waiting:
        derived = {origin_of(memory): memory for memory in _made_from(waiting, tx)}
        waiting = [memory for key, memory in derived.items() if key not in reached]
        reached = derived | reached
    corrected = corrected_marks(reached.values(), partial(_is_marked, tx, mark), mark)
    for memory in corrected:
        bookkeeping.write_memory(memory, tx)
    return corrected


def _made_from(memories: Iterable[Memory], tx: Transaction) -> Iterator[Memory]:
    """Yield what was made from memories; of other namespaces only chunks and notes can be.

    Rows are searched for the origins' bytes, and only the few that have them are unpacked.
    """
    wanted, scopes = {origin_of(row) for row in memories}, {row.scope for row in memories}
    names = {id.encode() for _, id in wanted}
    names |= {msgspec.msgpack.encode(turn) for _, id in wanted if (turn := turn_of(id))}
    search = re.compile(b"|".join(map(re.escape, names))).search
    for scope in scopes.union(tx.scopes("memories")):
        for kind in ("",) if scope in scopes else _CROSSING:
            for key, value in tx.rows_with("memories", codec.scope_prefix(scope) + kind.encode()):
                if search(value) or LZ4 in value[1:2]:
                    memory = tx.read(Memory, "memories", key)
                    if memory is not None and not wanted.isdisjoint(origins(memory)):
                        yield memory


def _find(tx: Transaction, kind: str, scope: str, id: str) -> Memory | None:
    """Return an origin of a memory of a kind. Only a note may be of a turn of another namespace."""
    memory = tx.read(Memory, "memories", codec.scoped_key(scope, id))
    if memory is None and kind == NOTE and turn_of(id):
        turn = bookkeeping.turn_at(turn_of(id), tx)
        if turn is not None and turn.scope != scope:
            return bookkeeping.memory_or_chunk(turn.scope, id, tx)
    return memory


def _is_marked(tx: Transaction, mark: Mark, origin: Origin) -> bool | None:
    """Return whether a memory that ``spread`` did not reach is marked, None if there is none.

    A chunk without a row has no mark.
    """
    scope, id = origin
    turn = bookkeeping.turn_at(turn_of(id), tx)
    scope = turn.scope if turn else scope
    memory = tx.read(Memory, "memories", codec.scoped_key(scope, id)) if scope else None
    if memory is None:
        return False if turn_of(id) else None
    return mark.on(memory)


def _replies(memory: Memory, tx: Transaction) -> Iterator[Memory]:
    """Yield the chunks of the replies to a user's turn, as derived from it."""
    turn = turn_of(memory.id)
    for id in range(turn + 1, turn + 1 + REPLIES) if turn and memory.role == "user" else ():
        reply = bookkeeping.turn_at(id, tx)
        if reply is None or reply.reply_to != turn or reply.scope != memory.scope:
            continue
        stored = bookkeeping.memory_or_chunk(reply.scope, chunk_id(id), tx)
        origin = (memory.scope, memory.id)
        if stored is not None and origin not in stored.derived_from:
            yield replace(stored, derived_from=(*stored.derived_from, origin))
