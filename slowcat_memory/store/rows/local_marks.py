"""Marks (local-only, muted), as rows are written: a derived memory gets the strictest mark of its origins.

A person's mark is changed by ``WriteBatch.marks`` and ``mutes`` alone. When a mark changes, everything that was
made from it follows in the same transaction, however indirectly; what is made later inherits it
when it is written. ``core.disclosure`` has the rule.
"""

import re
from collections.abc import Iterable, Iterator
from functools import partial

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
from slowcat_memory.records import Memory, Turn
from slowcat_memory.store.disk import keys
from slowcat_memory.store.disk.envelope import LZ4
from slowcat_memory.store.disk.transaction import Transaction
from slowcat_memory.store.rows.pending import memory_or_chunk, turn_at, write_memory

REPLIES = 8  # log positions behind a user's turn that are searched for its reply
_CROSSING = (f"{CHUNK}/", f"{NOTE}/")  # kinds that may be made from a memory of another namespace


def inherit(memory: Memory, tx: Transaction) -> Memory:
    """Return a memory that is to be written with its marks: a person's, or those of its origins."""
    before = tx.read(Memory, "memories", keys.scoped_key(memory.scope, memory.id))
    found = dict[tuple[str, str], Memory | None]()

    def find(scope: str, id: str) -> Memory | None:
        if (scope, id) not in found:
            found[scope, id] = _find(memory, scope, id, tx)
        return found[scope, id]

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
    row = tx.read(Memory, "memories", keys.scoped_key(*asked)) if turn.reply_to else None
    local, muted = (row is not None and mark.on(row) for mark in (LOCAL_ONLY, MUTED))
    if turn.local_only or local or muted:
        memory = chunk(turn)
        origins = (*memory.derived_from, asked) if local or muted else memory.derived_from
        own = LOCAL_ONLY.by_person(memory)
        marked = with_mark(replace(memory, derived_from=origins), turn.local_only or local, own)
        write_memory(with_mark(marked, muted, False, MUTED), tx)


def change_marks(
    marks: Iterable[tuple[str, str, bool]], tx: Transaction, mark: Mark = LOCAL_ONLY
) -> list[Memory]:
    """Apply a person's marks; return every memory that changes with them."""
    changed = dict[tuple[str, str], Memory]()
    for scope, id, on in marks:
        memory = memory_or_chunk(scope, id, tx)
        if memory is None:
            continue
        for one in (with_mark(memory, on, on, mark), *_replies(memory, tx)):
            write_memory(one, tx)
            changed[one.scope, one.id] = one
    for one in spread(changed.values(), tx, mark):
        changed[one.scope, one.id] = one
    return list(changed.values())


def spread(changed: Iterable[Memory], tx: Transaction, mark: Mark = LOCAL_ONLY) -> list[Memory]:
    """Correct the marks of all that was made from memories; return what changed with them."""
    reached = {origin_of(one): one for one in changed}
    waiting = [*reached.values()]
    while waiting:
        made = {origin_of(one): one for one in _made_from(waiting, tx)}
        waiting = [one for key, one in made.items() if key not in reached]
        reached = made | reached
    corrected = corrected_marks(reached.values(), partial(_is_marked, tx, mark), mark)
    for one in corrected:
        write_memory(one, tx)
    return corrected


def _made_from(memories: Iterable[Memory], tx: Transaction) -> Iterator[Memory]:
    """Yield what was made from memories; of other namespaces only chunks and notes can be.

    Rows are searched for the origins' bytes, and only the few that have them are unpacked.
    """
    wanted, scopes = {origin_of(one) for one in memories}, {one.scope for one in memories}
    names = {id.encode() for _, id in wanted}
    names |= {msgspec.msgpack.encode(turn) for _, id in wanted if (turn := turn_of(id))}
    search = re.compile(b"|".join(map(re.escape, names))).search
    for scope in scopes.union(keys.scopes(tx.cursor("memories"))):
        for kind in ("",) if scope in scopes else _CROSSING:
            prefix = keys.scope_prefix(scope) + kind.encode()
            for key, value in tx.rows_with("memories", prefix):
                if search(value) or LZ4 in value[1:2]:
                    memory = tx.read(Memory, "memories", key)
                    if memory is not None and not wanted.isdisjoint(origins(memory)):
                        yield memory


def _find(memory: Memory, scope: str, id: str, tx: Transaction) -> Memory | None:
    """Return an origin of a memory. Only a note may be made from a turn of another namespace."""
    found = tx.read(Memory, "memories", keys.scoped_key(scope, id))
    if found is None and memory.kind == NOTE and turn_of(id):
        turn = turn_at(turn_of(id), tx)
        return None if turn is None or turn.scope == scope else memory_or_chunk(turn.scope, id, tx)
    return found


def _is_marked(tx: Transaction, mark: Mark, origin: Origin) -> bool | None:
    """Return whether a memory that ``spread`` did not reach is marked, None if there is none.

    A chunk without a row has no mark.
    """
    scope, id = origin
    turn = turn_at(turn_of(id), tx)
    scope = turn.scope if turn else scope
    found = tx.read(Memory, "memories", keys.scoped_key(scope, id)) if scope else None
    if found is None:
        return False if turn_of(id) else None
    return mark.on(found)


def _replies(memory: Memory, tx: Transaction) -> Iterator[Memory]:
    """Yield the chunks of the replies to a user's turn, as derived from it."""
    turn = turn_of(memory.id)
    for id in range(turn + 1, turn + 1 + REPLIES) if turn and memory.role == "user" else ():
        reply = turn_at(id, tx)
        if reply is None or reply.reply_to != turn or reply.scope != memory.scope:
            continue
        stored = memory_or_chunk(reply.scope, chunk_id(id), tx)
        origin = (memory.scope, memory.id)
        if stored is not None and origin not in stored.derived_from:
            yield replace(stored, derived_from=(*stored.derived_from, origin))
