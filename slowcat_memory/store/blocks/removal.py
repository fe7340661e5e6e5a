"""Removes events from blocks.

Speed matters here, not size: the rest of a block is packed by LZ4 and is warm again, until the tier
mover repacks it. A block costs some 30 µs, a thousandth of packing it by zstd. A dictionary of an
earlier version that was trained on a forgotten event is deleted in the same transaction, and so
every block that needs it becomes warm too.
"""

from collections.abc import Iterable, Set

from slowcat_memory.errors import StoreDamagedError
from slowcat_memory.store.blocks import block as blocks
from slowcat_memory.store.blocks.block import COLD, WARM, Block, Dictionary
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
    here = [number for number in numbers if tx.get(table, keys.id_key(number)) is not None]
    _rewrite_all(here, gone, tx)


def drop_dictionaries(gone: Set[int], tx: Transaction) -> None:
    """Delete dictionaries that may contain pieces of forgotten events; repack their blocks."""
    dictionaries = _trained_on(gone, tx) if gone else set()
    _rewrite_all(_blocks_with(dictionaries, tx), gone, tx)
    for dictionary in dictionaries:
        tx.drop("dictionaries", keys.id_key(dictionary))


def _rewrite_all(numbers: Iterable[int], gone: Set[int], tx: Transaction) -> None:
    reader = BlockReader(tx.get, BlockCache())
    for number in sorted(numbers):
        try:
            _rewrite(number, reader.block(number), gone, tx)
        except StoreDamagedError:
            _drop(number, tx)  # its events cannot be known


def _trained_on(gone: Set[int], tx: Transaction) -> set[int]:
    """Return the dictionaries that may contain pieces of the events, and unreadable ones."""
    found = set()
    for key, value in tx.rows("dictionaries"):
        try:
            dictionary = codec.decode(Dictionary, key, value)
        except StoreDamagedError:
            found.add(keys.id_of(key))
            continue
        if not gone.isdisjoint(dictionary.made_from):
            found.add(dictionary.number)
    return found


def _blocks_with(dictionaries: Set[int], tx: Transaction) -> set[int]:
    found = set()
    for key, value in tx.rows(COLD) if dictionaries else ():
        try:
            if blocks.split_row(key, value).head.dictionary in dictionaries:
                found.add(keys.id_of(key))
        except StoreDamagedError:
            found.add(keys.id_of(key))
    return found


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
