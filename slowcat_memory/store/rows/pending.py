"""The erasure that is under way: one row, written before anything is deleted.

From the moment that the row is written, what it names is hidden from every snapshot, and nothing
can be derived from it any more. Its rows are then deleted in slices, and after them the copies of
their bytes; only then is the row deleted. So whatever interrupts an erasure, the next open for
writing finds the row and continues.
"""

from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise
from typing import Any
from zlib import compress, decompress

import msgspec
from msgspec import Struct

from slowcat_memory.core.memory import turn_of
from slowcat_memory.core.text_caches import text_cache
from slowcat_memory.errors import StoreDamagedError
from slowcat_memory.records import Context, Forget, Key, LedgerEntry, Memory, Task
from slowcat_memory.store.disk import codec, keys
from slowcat_memory.store.disk.tables import PENDING

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
