"""Reads an event from its own row or from its block; caches unpacked blocks.

An event is either in ``log`` or in a block; then ``places`` has the block's number: the log id of
the first event that the block was made of. The number is not a value in ``log``, because LMDB
reuses the space of deleted rows only, not of values that became smaller.
"""

import heapq
import struct
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator

import lmdb

from slowcat_memory.errors import StoreDamagedError
from slowcat_memory.records import Event
from slowcat_memory.store.blocks import block as blocks
from slowcat_memory.store.blocks.block import Block
from slowcat_memory.store.disk import codec, keys
from slowcat_memory.store.disk.envelope import HEADER

PLACES = "places"
EVENTS = ("log", PLACES)  # an event has a row in one of them

Get = Callable[[str, bytes], bytes | None]
"""Table and key to the row's envelope, None when there is none."""

GetCursor = Callable[[str], "lmdb.Cursor[bytes]"]
"""Table to a cursor over it."""

CACHE_BYTES = 4 << 20
EVENT_OVERHEAD = 120  # bytes that an event's index entry in an unpacked block costs, roughly

_NUMBER = struct.Struct(">Q")


class DamagedRow(StoreDamagedError):
    """Raised for an unreadable row, with its table and key."""

    def __init__(self, table: str, key: bytes, why: str) -> None:
        super().__init__(why)
        self.table, self.key = table, key


def encode_location(key: bytes, number: int) -> bytes:
    return codec.seal(key, _NUMBER.pack(number))


def decode_location(key: bytes, value: bytes) -> int:
    """Return the block's number; ``StoreDamagedError`` for a damaged row."""
    body = codec.unseal(key, value)
    if len(body) != _NUMBER.size:
        raise StoreDamagedError("a location of an odd size")
    return int(_NUMBER.unpack(body)[0])


def event_keys(cursor: GetCursor, first: bytes = b"") -> Iterator[bytes]:
    """Yield the keys of all events in log order from ``first`` on, in rows and in blocks."""
    return heapq.merge(*(_keys(cursor(table), first) for table in EVENTS))


def _keys(cursor: "lmdb.Cursor[bytes]", first: bytes) -> Iterator[bytes]:
    if cursor.set_range(first):
        yield from cursor.iternext(values=False)


def last_id(cursor: GetCursor) -> int:
    cursors = map(cursor, EVENTS)
    return max((keys.id_of(found.key()) for found in cursors if found.last()), default=0)


class BlockCache:
    """Cache of unpacked blocks, least recently used first out. Safe to use from any thread."""

    def __init__(self, limit: int = CACHE_BYTES) -> None:
        """Start empty; at most ``limit`` bytes of blocks are kept, but at least one block."""
        self._limit = limit
        self._lock = threading.Lock()
        self._blocks: OrderedDict[tuple[int, bytes], Block] = OrderedDict()
        self._bytes = 0

    def get(self, number: int, value: bytes) -> Block | None:
        """Return the block of a row; another row of the same number is another block."""
        at = number, value[: HEADER.size]
        with self._lock:
            block = self._blocks.get(at)
            if block is not None:
                self._blocks.move_to_end(at)
            return block

    def put(self, number: int, value: bytes, block: Block) -> None:
        """Keep the block of a row, and drop the least recently used ones."""
        at = number, value[: HEADER.size]
        with self._lock:
            known = self._blocks.pop(at, None)
            self._bytes -= _cost(known) if known else 0
            self._blocks[at] = block
            self._bytes += _cost(block)
            while self._bytes > self._limit and len(self._blocks) > 1:
                self._bytes -= _cost(self._blocks.popitem(last=False)[1])

    def clear(self) -> None:
        """Drop everything after a forget."""
        with self._lock:
            self._blocks.clear()
            self._bytes = 0


def _cost(block: Block) -> int:
    return len(block.plain) + EVENT_OVERHEAD * len(block.ids)


class BlockReader:
    """Reads events through one transaction. Every method raises ``DamagedRow``."""

    def __init__(self, get: Get, cache: BlockCache) -> None:
        self._get, self._cache = get, cache

    def event(self, key: bytes) -> Event | None:
        value = self._get("log", key)
        if value is None:
            return self._in_block(key)
        try:
            return codec.decode(Event, key, value)  # type: ignore[arg-type]
        except StoreDamagedError as error:
            raise DamagedRow("log", key, str(error)) from error

    def _in_block(self, key: bytes) -> Event | None:
        number = self.number(key)
        if not number:
            return None
        try:
            return blocks.decode_event(self.block(number).body(keys.id_of(key)))
        except DamagedRow:
            raise
        except StoreDamagedError as error:
            raise DamagedRow(self.table(number), keys.id_key(number), str(error)) from error

    def number(self, key: bytes) -> int:
        value = self._get(PLACES, key)
        try:
            return 0 if value is None else decode_location(key, value)
        except StoreDamagedError as error:
            raise DamagedRow(PLACES, key, str(error)) from error

    def table(self, number: int) -> str:
        """Return the table of a block; the first table if it is in none."""
        key = keys.id_key(number)
        found = (table for table in blocks.TABLES if self._get(table, key) is not None)
        return next(found, blocks.TABLES[0])

    def block(self, number: int) -> Block:
        key = keys.id_key(number)
        for table in blocks.TABLES:
            value = self._get(table, key)
            if value is not None:
                break
        else:
            raise DamagedRow(blocks.TABLES[0], key, "a block is missing")
        block = self._cache.get(number, value)
        if block is None:
            try:
                block = self.unpack(key, value)
            except DamagedRow:
                raise
            except StoreDamagedError as error:
                raise DamagedRow(table, key, str(error)) from error
            self._cache.put(number, value, block)
        return block

    def unpack(self, key: bytes, value: bytes) -> Block:
        parts = blocks.split_row(key, value)
        unpack = blocks.unpack_lz4 if parts.head.codec == blocks.LZ4 else blocks.unpack_zstd
        return blocks.parse_block(parts.head, unpack(parts))
