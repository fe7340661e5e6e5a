"""Removes events from blocks.

Speed matters here, not size: the rest of a block is packed by LZ4 and is warm again, until the tier
mover repacks it. A block costs some 30 µs, a thousandth of packing it by zstd.
"""

from collections.abc import Iterable, Set

from slowcat_memory.errors import StoreDamagedError
from slowcat_memory.store.blocks import block as blocks
from slowcat_memory.store.blocks.block import WARM, Block
from slowcat_memory.store.blocks.reader import PLACES, BlockCache, BlockReader, decode_location
from slowcat_memory.store.disk import codec, keys
from slowcat_memory.store.disk.transaction import Transaction


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
    reader = BlockReader(tx.get, BlockCache())
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
