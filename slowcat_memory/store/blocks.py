"""Blocks: many events of one session, compressed together: the warm and cold tiers.

One turn alone does not compress; a session's turns do, because they share names, keys and words. A
block's row is a short header in plain msgpack, so that statistics and policy need not unpack it,
followed by the packed part: an index of the events, then their bytes one after the other, exactly
as they were in rows of their own. So one event is read by unpacking one block and decoding that
event alone. Warm blocks are packed by LZ4, cold ones by zstd.

An event is either in ``log`` or in a block; then ``places`` has the block's number: the log id of
the first event that the block was made of. The number is not a value in ``log``, because LMDB
reuses the space of deleted rows only, not of values that became smaller.
"""

import heapq
import struct
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import accumulate, pairwise
from math import inf
from typing import TypeVar

import lz4.block
import msgspec
import zstandard
from msgspec import Struct

from slowcat_memory.core.retention import importance_of_words
from slowcat_memory.errors import StoreDamagedError
from slowcat_memory.records import Event, Held, Turn
from slowcat_memory.store.disk import codec
from slowcat_memory.store.disk.page_reader import HEADER, enclose
from slowcat_memory.store.disk.transaction import Rows, Transaction

T = TypeVar("T")
WARM, COLD = "warm", "cold"
TABLES = (COLD, WARM)  # most events are in the first
LZ4, ZSTD = 1, 2
MAX_UNPACKED = codec.MAX_BODY + (1 << 20)  # bytes: the largest event, and an index

_SIZE = struct.Struct("<H")
_INDEX = struct.Struct("<I")


class Head(Struct, frozen=True, array_like=True):
    """A block's header, readable without unpacking the block.

    Attributes:
        codec: ``LZ4`` or ``ZSTD``.
        unpacked: Bytes of the packed part, unpacked.
        events: Number of events.
        turns: How many of them are turns.
        last: Time of the last event, seconds since the epoch.
        words: The importance of its most important words.
    """

    scope: str
    session: str
    codec: int
    unpacked: int
    events: int
    turns: int
    last: float
    words: float


class _Index(Struct, frozen=True, array_like=True):
    """Position of each event: the difference of its id to the previous one, and its size."""

    steps: list[int]
    sizes: list[int]


_pack = msgspec.msgpack.Encoder().encode
_head = msgspec.msgpack.Decoder(Head).decode
_index = msgspec.msgpack.Decoder(_Index).decode


@dataclass(frozen=True, slots=True)
class Block:
    """An unpacked block.

    Attributes:
        ids: Log ids of its events, in order.
        ends: Start of the first event's bytes, then the end of each event's.
        plain: The unpacked part.
    """

    head: Head
    ids: tuple[int, ...]
    ends: tuple[int, ...]
    plain: bytes

    def body(self, id: int) -> bytes:
        """Return an event's bytes, as in a row of its own; ``StoreDamagedError`` if missing."""
        at = bisect_left(self.ids, id)
        if at == len(self.ids) or self.ids[at] != id:
            raise StoreDamagedError("a block lacks an event that it should hold")
        return self.plain[self.ends[at] : self.ends[at + 1]]


def decode_event(body: bytes) -> Event:
    return codec.decode_body(Event, body)  # type: ignore[arg-type]


def lz4_row(key: bytes, events: Sequence[tuple[int, bytes]], words_at_most: float = inf) -> bytes:
    """Return the envelope of a warm block.

    ``events`` are log ids and bytes of a session's events, in log order, at least one;
    ``words_at_most`` is a known bound of the importance of their words.
    """
    ids = [id for id, _ in events]
    steps = [ids[0], *(after - before for before, after in pairwise(ids))]
    index = _pack(_Index(steps, [len(body) for _, body in events]))
    plain = b"".join([_INDEX.pack(len(index)), index, *(body for _, body in events)])
    said = [decode_event(body) for _, body in events]
    turns, words = [event for event in said if isinstance(event, Turn)], 0.0
    for turn in turns:
        if words >= words_at_most:
            break
        words = max(words, importance_of_words(turn.text))
    head = Head(
        scope=said[0].scope,
        session=said[0].session,
        codec=LZ4,
        unpacked=len(plain),
        events=len(said),
        turns=len(turns),
        last=said[-1].at.timestamp(),
        words=words,
    )
    return _row(key, head, lz4.block.compress(plain, store_size=False))


def zstd_row(key: bytes, block: Block, level: int) -> bytes:
    """Return the envelope of a cold block."""
    packer = zstandard.ZstdCompressor(level=level, write_content_size=False)  # the header has it
    return _row(key, msgspec.structs.replace(block.head, codec=ZSTD), packer.compress(block.plain))


def _row(key: bytes, head: Head, packed: bytes) -> bytes:
    front = _pack(head)
    return enclose(key, _SIZE.pack(len(front)) + front + packed)


def read_head(value: bytes) -> Head:
    """Return the header in an envelope without checking the envelope: to count and to choose.

    Raises:
        StoreDamagedError: There is none.
    """
    try:
        begin = HEADER.size + _SIZE.size
        return _head(value[begin : begin + _SIZE.unpack_from(value, HEADER.size)[0]])
    except (struct.error, msgspec.MsgspecError) as error:
        raise StoreDamagedError("a block has no head") from error


def split_row(key: bytes, value: bytes) -> tuple[Head, bytes]:
    """Return header and packed part of a block's envelope.

    Raises:
        StoreDamagedError: It is not as written.
    """
    body = codec.unseal(key, value)
    head = read_head(value)
    if not 0 <= head.unpacked <= MAX_UNPACKED:
        raise StoreDamagedError("a block declares an impossible size")
    return head, body[_SIZE.size + _SIZE.unpack_from(body)[0] :]


def unpack(head: Head, packed: bytes) -> bytes:
    """Return what was packed; ``StoreDamagedError`` if it does not unpack to at most its size."""
    try:
        if head.codec == LZ4:
            return lz4.block.decompress(packed, uncompressed_size=head.unpacked)
        return zstandard.ZstdDecompressor().decompress(
            packed, max_output_size=head.unpacked, allow_extra_data=False
        )
    except (lz4.block.LZ4BlockError, zstandard.ZstdError) as error:
        raise StoreDamagedError("a block does not unpack") from error


def read_block(key: bytes, value: bytes) -> Block:
    """Return the block in an envelope, unpacked.

    Raises:
        StoreDamagedError: It is not as written, has no index, or one that does not fit.
    """
    head, packed = split_row(key, value)
    plain = unpack(head, packed)
    try:
        begin = _INDEX.size + _INDEX.unpack_from(plain)[0]
        index = _index(plain[_INDEX.size : begin])
    except (struct.error, msgspec.MsgspecError) as error:
        raise StoreDamagedError("a block has no index") from error
    ids = tuple(accumulate(index.steps))
    ends = tuple(accumulate(index.sizes, initial=begin))
    if len(ends) != len(ids) + 1 or ends[-1] != len(plain):
        raise StoreDamagedError("a block's index does not fit")
    return Block(head, ids, ends, plain)


# ------------------------------------------------------------------- reading and removing events


PLACES = "places"
EVENTS = ("log", PLACES)  # an event has a row in one of them

KEPT_BLOCKS = 256  # unpacked, the latest used: some 4 MB


class DamagedRow(StoreDamagedError):
    """Raised for an unreadable row, with its table and key."""

    def __init__(self, table: str, key: bytes, why: str) -> None:
        super().__init__(why)
        self.table, self.key = table, key


def decode_location(key: bytes, value: bytes) -> int:
    """Return the block's number, in 8 bytes as in a key; ``StoreDamagedError`` for a damaged row."""
    body = codec.unseal(key, value)
    if len(body) != len(key):
        raise StoreDamagedError("a location of an odd size")
    return codec.id_of(body)


def event_keys(rows: Rows, first: bytes = b"") -> Iterator[bytes]:
    """Yield the keys of all events in log order from ``first`` on, in rows and in blocks."""
    return heapq.merge(*(rows.keys(table, start=first) for table in EVENTS))


def last_id(rows: Rows) -> int:
    cursors = map(rows.cursor, EVENTS)
    return max((codec.id_of(cursor.key()) for cursor in cursors if cursor.last()), default=0)


ReadBlock = Callable[[bytes, bytes], Block]
"""``read_block``, or a cache of it."""


class BlockReader:
    """Reads events through one transaction. Every method but ``events`` raises ``DamagedRow``."""

    def __init__(self, rows: Rows, read: ReadBlock | None = None) -> None:
        self._rows, self._get = rows, rows.get
        self._read = read or lru_cache(KEPT_BLOCKS)(read_block)

    def events(self) -> Iterator[tuple[bytes, Event | DamagedRow]]:
        """Yield keys and events in log order; the error in place of a damaged one."""
        for key in event_keys(self._rows):
            try:
                event = self.event(key)
            except DamagedRow as error:
                yield key, error
            else:
                if event is not None:
                    yield key, event

    def event(self, key: bytes) -> Event | None:
        if (value := self._get("log", key)) is not None:
            return _read_row(lambda: codec.decode(Event, key, value), "log", key)  # type: ignore[arg-type]
        if not (number := self.number(key)):
            return None
        table, block = self._find(number)
        id = codec.id_of(key)
        return _read_row(lambda: decode_event(block.body(id)), table, codec.id_key(number))

    def number(self, key: bytes) -> int:
        value = self._get(PLACES, key)
        if value is None:
            return 0
        return _read_row(lambda: decode_location(key, value), PLACES, key)

    def block(self, number: int) -> Block:
        return self._find(number)[1]

    def _find(self, number: int) -> tuple[str, Block]:
        """Return a block and its table."""
        key = codec.id_key(number)
        for table in TABLES:
            if (value := self._get(table, key)) is not None:
                return table, _read_row(partial(self._read, key, value), table, key)
        raise DamagedRow(TABLES[0], key, "a block is missing")


def _read_row(read: Callable[[], T], table: str, key: bytes) -> T:
    try:
        return read()
    except StoreDamagedError as error:
        raise DamagedRow(table, key, str(error)) from error


# ------------------------------------------------------------------- events that go
# Speed matters here, not size: the rest of a block is packed by LZ4 and is warm again, until the tier
# mover repacks it. A block costs some 30 µs, a thousandth of packing it by zstd.


def block_of(key: bytes, rows: Rows) -> int:
    """Return the number of an event's block; 0 for none, or an unreadable one."""
    try:
        return BlockReader(rows).number(key)
    except StoreDamagedError:
        return 0


def remove_events(table: str, gone: Set[int], numbers: Iterable[int], tx: Transaction) -> None:
    """Remove all bytes of forgotten events from the blocks of a table, one of ``TABLES``.

    ``gone`` are their log ids; the caller deletes their rows of ``places``. ``numbers`` are their
    blocks, in this table or in the other.
    """
    reader = BlockReader(tx)
    for number in sorted(numbers):
        if tx.get(table, codec.id_key(number)) is None:
            continue
        try:
            _rewrite(number, reader.block(number), gone, tx)
        except StoreDamagedError:
            _drop(number, tx)  # its events cannot be known


def _rewrite(number: int, block: Block, gone: Set[int], tx: Transaction) -> None:
    kept = [(id, block.body(id)) for id in block.ids if id not in gone]
    _drop(number, tx)
    if kept:
        key = codec.id_key(number)
        tx.put(WARM, key, lz4_row(key, kept, words_at_most=block.head.words))


def _drop(number: int, tx: Transaction) -> None:
    for table in TABLES:
        tx.drop(table, codec.id_key(number))


# ------------------------------------------------------------------- how much the tiers hold


def tier_sizes(rows: Rows) -> dict[str, Held]:
    """Return the contents of each tier, by its name, hot first; no block is unpacked."""
    events: Iterator[Event] = rows.records(Event, "log")  # type: ignore[arg-type]
    tiers = {"hot": Held(memories=sum(isinstance(event, Turn) for event in events))}
    for table in (WARM, COLD):
        turns = list[int]()
        for _, value in rows.rows(table):
            with suppress(StoreDamagedError):
                turns.append(read_head(value).turns)
        tiers[table] = Held(memories=sum(turns), blocks=len(turns))
    return tiers
