"""Reads an event from its own row or from its block, caches unpacked blocks, removes events from them.

An event is either in ``log`` or in a block; then ``places`` has the block's number: the log id of
the first event that the block was made of. The number is not a value in ``log``, because LMDB
reuses the space of deleted rows only, not of values that became smaller.
"""

import heapq
import struct
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Set

import lmdb

from slowcat_memory.errors import StoreDamagedError
from slowcat_memory.records import Event
from slowcat_memory.store.blocks import block as blocks
from slowcat_memory.store.blocks.block import WARM, Block
from slowcat_memory.store.disk import codec, keys
from slowcat_memory.store.disk.envelope import HEADER
from slowcat_memory.store.disk.transaction import Transaction

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
    """Reads events through one transaction. Every method but ``events`` raises ``DamagedRow``."""

    def __init__(self, get: Get, cache: BlockCache | None = None) -> None:
        self._get, self._cache = get, cache or BlockCache()

    def events(
        self, cursor: GetCursor, first: bytes = b""
    ) -> Iterator[tuple[bytes, Event | DamagedRow]]:
        """Yield keys and events in log order, from a key on; the error in place of a damaged one."""
        for key in event_keys(cursor, first):
            try:
                event = self.event(key)
            except DamagedRow as error:
                yield key, error
            else:
                if event is not None:
                    yield key, event

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

    @staticmethod
    def unpack(key: bytes, value: bytes) -> Block:
        parts = blocks.split_row(key, value)
        unpack = blocks.unpack_lz4 if parts.head.codec == blocks.LZ4 else blocks.unpack_zstd
        return blocks.parse_block(parts.head, unpack(parts))


# ------------------------------------------------------------------- events that go
# Speed matters here, not size: the rest of a block is packed by LZ4 and is warm again, until the tier
# mover repacks it. A block costs some 30 µs, a thousandth of packing it by zstd.


def block_of(key: bytes, tx: Transaction) -> int:
    """Return the number of an event's block; 0 for none, or an unreadable one."""
    value = tx.get(PLACES, key)
    try:
        return 0 if value is None else decode_location(key, value)
    except StoreDamagedError:
        return 0


def remove_events(table: str, gone: Set[int], numbers: Iterable[int], tx: Transaction) -> None:
    """Remove all bytes of forgotten events from the blocks of a table, one of ``TABLES``.

    ``gone`` are their log ids; the caller deletes their rows of ``places``. ``numbers`` are their
    blocks, in this table or in the other.
    """
    reader = BlockReader(tx.get)
    for number in sorted(numbers):
        if tx.get(table, keys.id_key(number)) is None:
            continue
        try:
            _rewrite(number, reader.block(number), gone, tx)
        except StoreDamagedError:
            _drop(number, tx)  # its events cannot be known


def _rewrite(number: int, block: Block, gone: Set[int], tx: Transaction) -> None:
    kept = [(id, body) for id, body in block.bodies() if id not in gone]
    _drop(number, tx)
    if kept:
        key = keys.id_key(number)
        events = [blocks.decode_event(body) for _, body in kept]
        head = blocks.make_head(
            block.head.scope, block.head.session, events, words_at_most=block.head.words
        )
        tx.put(WARM, key, blocks.lz4_row(key, head, blocks.join_events(kept)))


def _drop(number: int, tx: Transaction) -> None:
    for table in blocks.TABLES:
        tx.drop(table, keys.id_key(number))


def unpack_block(number: int, block: Block, ids: Iterable[int], tx: Transaction) -> None:
    """Move some events of a block to rows of their own; delete the block and its other events."""
    for id in block.ids:
        tx.drop(PLACES, keys.id_key(id))
    for id in ids:
        key = keys.id_key(id)
        tx.put("log", key, codec.seal(key, block.body(id)))
    _drop(number, tx)
