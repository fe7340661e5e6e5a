"""Taking events out of blocks: what is forgotten, and what a dictionary may still hold of it.

Speed matters here, not size: what is left of a block is packed by LZ4 and is warm again, until
ageing packs it better. A dictionary that was trained on a forgotten event goes in the same
transaction, and so every block that names it becomes warm too; ageing trains another one, on what
remains. A block costs some 30 µs, a thousandth of what packing it by zstd would.
"""

from collections.abc import Iterable, Set

from slowcat_memory.errors import StoreDamagedError
from slowcat_memory.records import Event
from slowcat_memory.store.blocks import block as blocks
from slowcat_memory.store.blocks import locations
from slowcat_memory.store.blocks.block import COLD, WARM, Block
from slowcat_memory.store.blocks.dictionary import Dictionary
from slowcat_memory.store.blocks.locations import PLACES
from slowcat_memory.store.blocks.reader import BlockCache, BlockReader
from slowcat_memory.store.disk import codec, keys
from slowcat_memory.store.disk.transaction import Transaction


def block_of(key: bytes, tx: Transaction) -> int:
    """Tell which block holds an event.

    Args:
        key: The event's key.
        tx: To read from.

    Returns:
        The block's number; 0 when it has a row of its own, or none that reads.
    """
    value = tx.get(PLACES, key)
    try:
        return 0 if value is None else locations.number(key, value)
    except StoreDamagedError:
        return 0


def remove_events(gone: Set[int], numbers: Iterable[int], tx: Transaction) -> None:
    """Leave nothing of forgotten events in blocks or dictionaries.

    Args:
        gone: Log ids of the events; what says where they are is taken away by the caller.
        numbers: The blocks that hold any of them.
        tx: Takes the changes.
    """
    reader = BlockReader(tx.get, BlockCache())
    doomed = _tainted(gone, tx)
    touched = set(numbers)
    if doomed:
        touched |= _naming(doomed, tx)
    for number in sorted(touched):
        try:
            _rewrite(number, reader.block(number), gone, tx)
        except StoreDamagedError:
            _drop(number, tx)  # nobody can tell what it holds
    for dictionary in doomed:
        tx.drop("dictionaries", keys.id_key(dictionary))


def _tainted(gone: Set[int], tx: Transaction) -> set[int]:
    """Find the dictionaries that may hold pieces of the events, and those that do not read."""
    found = set()
    for key, value in tx.txn.cursor(tx.handles["dictionaries"]):
        try:
            dictionary = codec.decode(Dictionary, key, value)
        except StoreDamagedError:
            found.add(keys.id_of(key))
            continue
        if not gone.isdisjoint(dictionary.made_from):
            found.add(dictionary.number)
    return found


def _naming(dictionaries: Set[int], tx: Transaction) -> set[int]:
    """Find the blocks that take any of these dictionaries to unpack."""
    found = set()
    for key, value in tx.txn.cursor(tx.handles[COLD]):
        try:
            if blocks.parts(key, value).head.dictionary in dictionaries:
                found.add(blocks.number_of(key))
        except StoreDamagedError:
            found.add(blocks.number_of(key))
    return found


def _rewrite(number: int, block: Block, gone: Set[int], tx: Transaction) -> None:
    kept = [(id, body) for id, body in block.bodies() if id not in gone]
    _drop(number, tx)
    if kept:
        key = keys.id_key(number)
        events = [read(body) for _, body in kept]
        head = blocks.describe(block.head.scope, block.head.session, events)
        tx.put(WARM, key, blocks.lz4_row(key, head, blocks.join(kept)))


def _drop(number: int, tx: Transaction) -> None:
    for table in blocks.TABLES:
        tx.drop(table, keys.id_key(number))


def read(body: bytes) -> Event:
    """Read an event's bytes.

    Args:
        body: From a block, or out of an envelope.

    Returns:
        The event.

    Raises:
        StoreDamagedError: It is none.
    """
    return codec.decode_body(Event, body)  # type: ignore[arg-type]


def unpack_block(number: int, block: Block, ids: Iterable[int], tx: Transaction) -> None:
    """Give events rows of their own again, and take their block away.

    Args:
        number: The block's number.
        block: The block.
        ids: Which of its events; the others go with it.
        tx: Takes the changes.
    """
    for id in block.ids:
        tx.drop(PLACES, keys.id_key(id))
    for id in ids:
        key = keys.id_key(id)
        tx.put("log", key, codec.seal(key, block.body(id)))
    _drop(number, tx)
