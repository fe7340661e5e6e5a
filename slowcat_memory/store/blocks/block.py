"""Blocks: many events of one session, packed together.

One turn alone does not compress; a session's turns do, because they share names, keys and words.
A block's row is a short head in plain msgpack, so that statistics and policy need not unpack it,
and then the packed part: where each event is, and the events' own bytes, one after the other,
exactly as they were in rows of their own. So one event is read by unpacking one block and decoding
that event alone.

An event is either in ``log`` or in a block, and then ``places`` says in which (see ``places``).
"""

import struct
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import NamedTuple

import lz4.block
import msgspec
from msgspec import Struct

from slowcat_memory.core.retention.importance import importance_of_words
from slowcat_memory.errors import StoreDamagedError
from slowcat_memory.records import Event, Turn
from slowcat_memory.store.disk import codec, keys
from slowcat_memory.store.disk.canary import HEADER

WARM, COLD = "warm", "cold"
TABLES = (COLD, WARM)  # in the order in which most is found
LZ4, ZSTD = 1, 2
MAX_UNPACKED = codec.MAX_BODY + (1 << 20)  # bytes: the largest event, and an index

_SIZE = struct.Struct("<H")
_INDEX = struct.Struct("<I")


class Head(Struct, frozen=True, array_like=True):
    """What can be known of a block without unpacking it.

    Attributes:
        scope: The namespace.
        session: The session.
        codec: ``LZ4`` or ``ZSTD``.
        dictionary: Number of the dictionary that unpacking takes, 0 for none.
        unpacked: Bytes of the packed part, unpacked.
        events: How many events it holds.
        turns: How many of them are turns.
        last: When the last of them happened, seconds since the epoch.
        words: The importance of its most important words.
    """

    scope: str
    session: str
    codec: int
    dictionary: int
    unpacked: int
    events: int
    turns: int
    last: float
    words: float


class _Index(Struct, frozen=True, array_like=True):
    """Where each event is: how far its id is from the one before, and its size."""

    steps: list[int]
    sizes: list[int]


_pack = msgspec.msgpack.Encoder().encode
_head = msgspec.msgpack.Decoder(Head).decode
_index = msgspec.msgpack.Decoder(_Index).decode


@dataclass(frozen=True, slots=True)
class Block:
    """A block, unpacked.

    Attributes:
        head: Its head.
        ids: Log ids of its events, in order.
        ends: Where the first event's bytes begin, and where each one's end.
        plain: The unpacked part.
    """

    head: Head
    ids: tuple[int, ...]
    ends: tuple[int, ...]
    plain: bytes

    def body(self, id: int) -> bytes:
        """Return an event's bytes.

        Args:
            id: Its log id.

        Returns:
            msgpack, as in a row of its own.

        Raises:
            StoreDamagedError: The block does not hold it.
        """
        at = bisect_left(self.ids, id)
        if at == len(self.ids) or self.ids[at] != id:
            raise StoreDamagedError("a block lacks an event that it should hold")
        return self.plain[self.ends[at] : self.ends[at + 1]]

    def bodies(self) -> Iterator[tuple[int, bytes]]:
        """Walk the events.

        Yields:
            Log id and bytes.
        """
        return ((id, self.body(id)) for id in self.ids)


# ------------------------------------------------------------------- making


def join(events: Sequence[tuple[int, bytes]]) -> bytes:
    """Lay events one after the other, with an index before them.

    Args:
        events: Log id and bytes, in log order; at least one.

    Returns:
        What is packed.
    """
    ids = [id for id, _ in events]
    steps = [ids[0], *(after - before for before, after in pairwise(ids))]
    index = _pack(_Index(steps, [len(body) for _, body in events]))
    return b"".join([_INDEX.pack(len(index)), index, *(body for _, body in events)])


def describe(scope: str, session: str, events: Sequence[Event]) -> Head:
    """Say what a block of these events is about.

    Args:
        scope: Their namespace.
        session: Their session.
        events: The events, in log order; at least one.

    Returns:
        The head; how it is packed is not said yet.
    """
    turns = [event for event in events if isinstance(event, Turn)]
    return Head(
        scope=scope,
        session=session,
        codec=0,
        dictionary=0,
        unpacked=0,
        events=len(events),
        turns=len(turns),
        last=events[-1].at.timestamp(),
        words=max((importance_of_words(turn.text) for turn in turns), default=0.0),
    )


def lz4_row(key: bytes, head: Head, plain: bytes) -> bytes:
    """Make a block's row, packed by LZ4.

    Args:
        key: The row's key.
        head: Its codec, dictionary and size are set here.
        plain: From ``join``.

    Returns:
        The envelope.
    """
    packed = lz4.block.compress(plain, store_size=False)
    return row(key, head, LZ4, 0, len(plain), packed)


def row(key: bytes, head: Head, by: int, dictionary: int, unpacked: int, packed: bytes) -> bytes:
    """Make a block's row.

    Args:
        key: The row's key.
        head: What else is known.
        by: The codec.
        dictionary: Its number, 0 for none.
        unpacked: Bytes before packing.
        packed: The packed part.

    Returns:
        The envelope.
    """
    made = msgspec.structs.replace(head, codec=by, dictionary=dictionary, unpacked=unpacked)
    front = _pack(made)
    return codec.seal_packed(key, _SIZE.pack(len(front)) + front + packed)


# ------------------------------------------------------------------- reading


class Parts(NamedTuple):
    """A block's row, taken apart but not unpacked."""

    head: Head
    packed: bytes


def glance(value: bytes) -> Head:
    """Read a block's head, and trust it: for counting and choosing.

    Args:
        value: The envelope.

    Returns:
        The head.

    Raises:
        StoreDamagedError: There is none.
    """
    try:
        begin = HEADER.size + _SIZE.size
        return _head(value[begin : begin + _SIZE.unpack_from(value, HEADER.size)[0]])
    except (struct.error, msgspec.MsgspecError) as error:
        raise StoreDamagedError("a block has no head") from error


def parts(key: bytes, value: bytes) -> Parts:
    """Take a block's row apart.

    Args:
        key: Its key.
        value: The envelope.

    Returns:
        Head and packed part.

    Raises:
        StoreDamagedError: It is not what was written.
    """
    body = codec.unseal(key, value)
    head = glance(value)
    if not 0 <= head.unpacked <= MAX_UNPACKED:
        raise StoreDamagedError("a block declares an impossible size")
    return Parts(head, body[_SIZE.size + _SIZE.unpack_from(body)[0] :])


def unpack_lz4(found: Parts) -> bytes:
    """Unpack what LZ4 packed.

    Args:
        found: The block's parts.

    Returns:
        What ``join`` laid.

    Raises:
        StoreDamagedError: It does not unpack.
    """
    try:
        return lz4.block.decompress(found.packed, uncompressed_size=found.head.unpacked)
    except lz4.block.LZ4BlockError as error:
        raise StoreDamagedError("a block does not unpack") from error


def opened(head: Head, plain: bytes) -> Block:
    """Find the events in an unpacked block.

    Args:
        head: Its head.
        plain: What ``join`` laid.

    Returns:
        The block.

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


def number_of(key: bytes) -> int:
    """Return a block's number: the log id of the first event that it was made of.

    Args:
        key: Its row's key.

    Returns:
        The number.
    """
    return keys.id_of(key)
