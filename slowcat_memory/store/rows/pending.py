"""The erasure that is under way, and which rows may still be derived: none of forgotten data.

An erasure is one row, written before anything is deleted.

From the moment that the row is written, what it names is hidden from every snapshot, and nothing
can be derived from it any more. Its rows are then deleted in slices, and after them the copies of
their bytes; only then is the row deleted. So whatever interrupts an erasure, the next open for
writing finds the row and continues.
"""

from collections.abc import Collection, Iterable, Sequence
from itertools import accumulate, pairwise
from typing import Any
from zlib import compress, decompress

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory.core.memory import chunk, indexed_text, turn_of
from slowcat_memory.core.text_caches import text_cache
from slowcat_memory.errors import StoreDamagedError
from slowcat_memory.records import Context, Forget, Key, LedgerEntry, Memory, Task, Turn
from slowcat_memory.store.blocks.reader import EVENTS, BlockReader
from slowcat_memory.store.disk import codec, keys
from slowcat_memory.store.disk.tables import EMBEDDERS, PENDING
from slowcat_memory.store.disk.transaction import Transaction

Subject = tuple[str, str]  # scope, id
PENDING_KEY = keys.name_key(PENDING)
_pack = msgspec.msgpack.Encoder().encode
_subjects = msgspec.msgpack.Decoder(list[Subject]).decode
_unpack = msgspec.msgpack.Decoder(list[int]).decode


class Pending(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An erasure that is not finished.

    Attributes:
        requests: What was asked for; the ids of turns are in ``turns``.
        turns: Log ids of the turns whose rows are being deleted, packed; b"" once they are gone.
        memories: Memories that the requests select by name, or without sources, packed; likewise.
        scopes: Namespaces whose index files may have any of it.
        keep_backups: Whether backups are rewritten without it, instead of deleted.
    """

    requests: tuple[Forget, ...]
    turns: bytes = b""
    memories: bytes = b""
    scopes: tuple[str, ...] = ()
    keep_backups: bool = False

    @property
    def deleted(self) -> bool:
        """Whether every row is deleted, and only copies of the bytes are left."""
        return not (self.turns or self.memories)


class Hidden:
    """What snapshots must not show although its rows still exist."""

    def __init__(self, turns: Iterable[int] = (), memories: Iterable[Subject] = ()) -> None:
        self.turns, self.memories = frozenset(turns), frozenset(memories)

    def __bool__(self) -> bool:
        return bool(self.turns or self.memories)

    def names(self, scope: str, id: str) -> bool:
        """Return whether an id is that of a hidden memory, or of a hidden turn's chunk."""
        return (scope, id) in self.memories or turn_of(id) in self.turns

    def covers(self, record: Any) -> bool:
        """Return whether a record is hidden, or made from or about something that is."""
        match record:
            case Memory():
                return self.names(record.scope, record.id) or self._any(record.sources)
            case Context() | Key():
                return self.names(record.scope, record.memory) or self._any(record.sources)
            case Task():
                return self._any(record.sources)
            case LedgerEntry():
                return record.turn in self.turns
        return False

    def _any(self, turns: Iterable[int]) -> bool:
        return not self.turns.isdisjoint(turns)


NOTHING = Hidden()


def pack_ids(ids: Sequence[int]) -> bytes:
    """Return sorted ids in some bits each; b"" for none."""
    steps = [after - before for before, after in pairwise((0, *ids))]
    return compress(_pack(steps)) if steps else b""


def unpack_ids(packed: bytes) -> list[int]:
    return list(accumulate(_unpack(decompress(packed)))) if packed else []


def pack_memories(memories: Iterable[Subject]) -> bytes:
    """Return (scope, id) of memories, compressed; b"" for none."""
    found = sorted(memories)
    return compress(_pack(found)) if found else b""


def unpack_memories(packed: bytes) -> list[Subject]:
    return _subjects(decompress(packed)) if packed else []


@text_cache(1)
def decode(value: bytes) -> tuple[Pending, Hidden]:
    """Return the erasure in a row's envelope, and what it hides."""
    pending = msgspec.convert(codec.decode_meta(PENDING_KEY, value), Pending)
    return pending, Hidden(unpack_ids(pending.turns), unpack_memories(pending.memories))


def hidden_by(value: bytes | None) -> Hidden:
    """Return what the row of ``meta`` hides; ``value`` is its envelope, None without one."""
    try:
        return NOTHING if value is None else decode(value)[1]
    except StoreDamagedError:
        return NOTHING


# ------------------------------------------------------------------- subjects of derived rows
# Forgotten data stays deleted: the step that made a row may have begun before the forget.


def exists(scope: str, memory: str, tx: Transaction) -> bool:
    """Return whether a memory, or a chunk's turn, exists."""
    turn = turn_of(memory)
    if turn and any(tx.get(table, keys.id_key(turn)) is not None for table in EVENTS):
        return True
    return tx.get("memories", keys.scoped_key(scope, memory)) is not None


def turn_at(id: int, tx: Transaction) -> Turn | None:
    """Return a turn of the log; None for another event, or a damaged one."""
    try:
        event = BlockReader(tx.get).event(keys.id_key(id)) if id else None
    except StoreDamagedError:
        return None
    return event if isinstance(event, Turn) else None


def memory_or_chunk(scope: str, id: str, tx: Transaction) -> Memory | None:
    """Return a memory, or the chunk of a turn that has no row yet; None for a voice command's."""
    memory = tx.read(Memory, "memories", keys.scoped_key(scope, id))
    if memory is None and (turn := turn_at(turn_of(id), tx)) and turn.scope == scope:
        return None if turn.aside else chunk(turn)
    return memory


def write_memory(memory: Memory, tx: Transaction) -> None:
    """Write a memory. A chunk's context has a row of its own, so it is not included."""
    row = replace(memory, context="") if turn_of(memory.id) else memory
    tx.write_record("memories", keys.scoped_key(memory.scope, memory.id), row)


def text_of(scope: str, id: str, tx: Transaction) -> str:
    """Return the text of a memory or key to be embedded, its context included.

    "" when there is none, or it is damaged.
    """
    row = keys.scoped_key(scope, id)
    if key := tx.read(Key, "keys", row):
        return key.text
    memory = memory_or_chunk(scope, id, tx)
    if memory is None:
        return ""
    context = tx.read(Context, "contexts", row)
    return indexed_text(replace(memory, context=context.text) if context else memory)


def names_forgotten(scope: str, memory: str, tx: Transaction) -> bool:
    """Return whether an id is a forgotten memory's, or that of a forgotten turn's chunk."""
    if tx.get("tombstones", keys.memory_tombstone(scope, memory)) is not None:
        return True
    turn = turn_of(memory)
    return _hidden(tx).names(scope, memory) or (turn > 0 and any_forgotten((turn,), tx))


def any_forgotten(turns: Iterable[int], tx: Transaction) -> bool:
    """Return whether any of the turns is forgotten, or about to be deleted."""
    away = _hidden(tx).turns
    return any(
        turn in away or tx.get("tombstones", keys.turn_tombstone(turn)) is not None
        for turn in turns
    )


def _hidden(tx: Transaction) -> Hidden:
    return hidden_by(tx.get("meta", PENDING_KEY))


def embedders(tx: Transaction) -> list[str]:
    """Return the key of every embedder that ever made a vector here."""
    return list(tx.meta(EMBEDDERS, {}).values())


def drop_vectors(subjects: Collection[Subject], tx: Transaction) -> None:
    """Delete all vectors of memories or keys, by every embedder, with those of tokens."""
    for embedder in embedders(tx) if subjects else ():
        for scope, id in subjects:
            tx.drop("vectors", keys.vector_key(embedder, scope, id))
