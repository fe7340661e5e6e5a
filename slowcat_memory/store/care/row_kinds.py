"""Finds the table that a row without a tree belongs to, from the row alone.

Most records name their own key (a turn its id, a memory its scope and id). A record that does so
under the key that its checksum covers belongs to the table of such records.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from slowcat_memory.errors import StoreDamagedError
from slowcat_memory.records import (
    CallEntry,
    CommandEntry,
    Context,
    Cursor,
    Event,
    Key,
    LedgerEntry,
    Memory,
    Run,
    Task,
)
from slowcat_memory.store.blocks import block as blocks
from slowcat_memory.store.blocks.reader import decode_location
from slowcat_memory.store.disk import codec, keys
from slowcat_memory.store.disk.envelope import HEADER, intact


class Known(NamedTuple):
    """A row's table and its record; plain values where the table has no record type."""

    table: str
    record: Any


Test = Callable[[bytes, bytes], Known | None]


def identify(key: bytes, value: bytes) -> Known | None:
    """Return the table and the record of a row; None when it is damaged, or not unmistakable.

    Rows of tables that are derived as a whole (sessions, manifests, changes) are None, too.
    """
    if not intact(key, value):
        return None
    for test in _NUMBERED if len(key) == 8 else _NAMED:
        try:
            if found := test(key, value):
                return found
        except (StoreDamagedError, ValueError):  # ValueError: a key that is no text, or no key
            continue
    return None


def _record(table: str, kind: Any, key_of: Callable[[Any], bytes]) -> Test:
    def test(key: bytes, value: bytes) -> Known | None:
        record = codec.decode(kind, key, value)
        return Known(table, record) if key_of(record) == key else None

    return test


def _place(key: bytes, value: bytes) -> Known | None:
    return Known("places", decode_location(key, value))


def _block(key: bytes, value: bytes) -> Known | None:
    head = blocks.split_row(key, value).head
    return Known(blocks.WARM if head.codec == blocks.LZ4 else blocks.COLD, head)


def _empty(key: bytes, value: bytes) -> Known | None:
    """Recognise rows without a body: the log's index by scope, and most tombstones."""
    if len(value) != HEADER.size:
        return None
    if keys.is_turn_tombstone(key):
        return Known("tombstones", None)
    scope, _, rest = key.partition(b"\0")
    if len(rest) == 8 and b"\0" in rest and scope.isascii():  # a number: a name has no NUL
        return Known("log_by_scope", keys.id_of(rest))
    return Known("tombstones", None) if keys.is_hashed(key, b"n") else None


def _epoch_mark(key: bytes, value: bytes) -> Known | None:
    if not keys.is_hashed(key, b"g"):
        return None
    return Known("tombstones", codec.decode(int, key, value))


def _meta(key: bytes, value: bytes) -> Known | None:
    if not key.isascii() or b"\0" in key:
        return None
    return Known("meta", codec.decode_meta(key, value))


def _vector(key: bytes, value: bytes) -> Known | None:
    """Recognise a vector by its key's hash and scope; its body has no name."""
    space, scope, id = keys.split_vector_key(key)
    if not scope or not id or len(value) <= HEADER.size:
        return None
    return Known("vectors", space)


_NUMBERED: tuple[Test, ...] = (
    _record("log", Event, lambda event: keys.id_key(event.id)),
    _place,
    _record("ledger", LedgerEntry, lambda entry: keys.id_key(entry.turn)),
    _record("calls", CallEntry, lambda call: keys.id_key(call.id)),
    _record("runs", Run, lambda run: keys.id_key(run.id)),
    _record("commands", CommandEntry, lambda command: keys.id_key(command.id)),
    _block,
    _meta,  # a name of eight letters
)
_NAMED: tuple[Test, ...] = (
    _empty,
    _epoch_mark,
    _record("memories", Memory, lambda memory: keys.scoped_key(memory.scope, memory.id)),
    _record("keys", Key, lambda key: keys.scoped_key(key.scope, key.id)),
    _record("contexts", Context, lambda one: keys.scoped_key(one.scope, one.memory)),
    _record("tasks", Task, lambda task: keys.name_key(task.id)),
    _record("cursors", Cursor, lambda cursor: keys.name_key(cursor.name)),
    _meta,
    _vector,
)
