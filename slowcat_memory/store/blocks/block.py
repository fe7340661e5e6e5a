"""Blocks: many events of one session, compressed together.

One turn alone does not compress; a session's turns do, because they share names, keys and words. A
block's row is a short header in plain msgpack, so that statistics and policy need not unpack it,
followed by the packed part: an index of the events, then their bytes one after the other, exactly
as they were in rows of their own. So one event is read by unpacking one block and decoding that
event alone. Warm blocks are packed by LZ4, cold ones by zstd.

zstandard is imported on first use: a store without cold blocks never needs it.
"""

import struct
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from math import inf
from typing import NamedTuple

import lz4.block
import msgspec
from msgspec import Struct

from slowcat_memory.core.retention.importance import importance_of_words
from slowcat_memory.errors import StoreDamagedError
from slowcat_memory.records import Event, Turn
from slowcat_memory.store.disk import codec, envelope
from slowcat_memory.store.disk.envelope import HEADER

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

    def bodies(self) -> Iterator[tuple[int, bytes]]:
        return ((id, self.body(id)) for id in self.ids)


def decode_event(body: bytes) -> Event:
    return codec.decode_body(Event, body)  # type: ignore[arg-type]


def join_events(events: Sequence[tuple[int, bytes]]) -> bytes:
    """Return the bytes to pack: an index, then the events one after the other.

    ``events`` are log ids and bytes, in log order; at least one.
    """
    ids = [id for id, _ in events]
    steps = [ids[0], *(after - before for before, after in pairwise(ids))]
    index = _pack(_Index(steps, [len(body) for _, body in events]))
    return b"".join([_INDEX.pack(len(index)), index, *(body for _, body in events)])


def make_head(
    scope: str, session: str, events: Sequence[Event], words_at_most: float = inf
) -> Head:
    """Return the header of a block of events in log order, at least one; not packed yet.

    ``words_at_most`` is a known bound of the importance of their words.
    """
    turns = [event for event in events if isinstance(event, Turn)]
    return Head(
        scope=scope,
        session=session,
        codec=0,
        unpacked=0,
        events=len(events),
        turns=len(turns),
        last=events[-1].at.timestamp(),
        words=_most_important(turns, words_at_most),
    )


def _most_important(turns: Sequence[Turn], at_most: float) -> float:
    """Return the importance of the most important words; stops when the bound is reached."""
    most = 0.0
    for turn in turns:
        if most >= at_most:
            break
        most = max(most, importance_of_words(turn.text))
    return most


def lz4_row(key: bytes, head: Head, plain: bytes) -> bytes:
    packed = lz4.block.compress(plain, store_size=False)
    return make_row(key, head, LZ4, len(plain), packed)


class ZstdPacker:
    """Packs cold blocks; one thread at a time."""

    def __init__(self, level: int) -> None:
        import zstandard

        self._zstd = zstandard.ZstdCompressor(
            level=level,
            write_checksum=False,  # the envelope has one
            write_content_size=False,  # the header has it
        )

    def row(self, key: bytes, head: Head, plain: bytes) -> bytes:
        return make_row(key, head, ZSTD, len(plain), self._zstd.compress(plain))


def make_row(key: bytes, head: Head, codec: int, unpacked: int, packed: bytes) -> bytes:
    """Return a block's envelope, with codec and unpacked size set in its header."""
    made = msgspec.structs.replace(head, codec=codec, unpacked=unpacked)
    front = _pack(made)
    return envelope.seal(key, _SIZE.pack(len(front)) + front + packed)


class BlockParts(NamedTuple):
    """A block's header and packed part, not unpacked."""

    head: Head
    packed: bytes


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


def split_row(key: bytes, value: bytes) -> BlockParts:
    """Return header and packed part of a block's envelope.

    Raises:
        StoreDamagedError: It is not as written.
    """
    body = codec.unseal(key, value)
    head = read_head(value)
    if not 0 <= head.unpacked <= MAX_UNPACKED:
        raise StoreDamagedError("a block declares an impossible size")
    return BlockParts(head, body[_SIZE.size + _SIZE.unpack_from(body)[0] :])


def unpack_lz4(parts: BlockParts) -> bytes:
    """Undo the packing of ``join_events``' bytes; ``StoreDamagedError`` if it cannot."""
    try:
        return lz4.block.decompress(parts.packed, uncompressed_size=parts.head.unpacked)
    except lz4.block.LZ4BlockError as error:
        raise StoreDamagedError("a block does not unpack") from error


def unpack_zstd(parts: BlockParts) -> bytes:
    """Undo the packing of ``join_events``' bytes.

    Raises:
        StoreDamagedError: It does not unpack, or not to the size in the header.
    """
    import zstandard

    try:
        plain = zstandard.ZstdDecompressor().decompress(
            parts.packed, max_output_size=parts.head.unpacked, allow_extra_data=False
        )
    except zstandard.ZstdError as error:
        raise StoreDamagedError("a block does not unpack") from error
    if len(plain) != parts.head.unpacked:
        raise StoreDamagedError("a block unpacks to another size")
    return plain


def parse_block(head: Head, plain: bytes) -> Block:
    """Return the block made from ``join_events``' bytes.

    Raises:
        StoreDamagedError: There is no index, or it does not fit.
    """
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
