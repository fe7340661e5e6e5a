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
from slowcat_memory.store.blocks.reader import BlockReader, Shelf
from slowcat_memory.store.disk import codec, keys
from slowcat_memory.store.disk.transaction import Edit


def block_of(key: bytes, edit: Edit) -> int:
    """Tell which block holds an event.

    Args:
        key: The event's key.
        edit: To read from.

    Returns:
        The block's number; 0 when it has a row of its own, or none that reads.
    """
    value = edit.get(PLACES, key)
    try:
        return 0 if value is None else locations.number(key, value)
    except StoreDamagedError:
        return 0


def take_out(gone: Set[int], numbers: Iterable[int], edit: Edit) -> None:
    """Leave nothing of forgotten events in blocks or dictionaries.

    Args:
        gone: Log ids of the events; what says where they are is taken away by the caller.
        numbers: The blocks that hold any of them.
        edit: Takes the changes.
    """
    reader = BlockReader(edit.get, Shelf())
    doomed = _tainted(gone, edit)
    touched = set(numbers)
    if doomed:
        touched |= _naming(doomed, edit)
    for number in sorted(touched):
        try:
            _rewrite(number, reader.block(number), gone, edit)
        except StoreDamagedError:
            _drop(number, edit)  # nobody can tell what it holds
    for dictionary in doomed:
        edit.drop("dictionaries", keys.id_key(dictionary))


def _tainted(gone: Set[int], edit: Edit) -> set[int]:
    """Find the dictionaries that may hold pieces of the events, and those that do not read."""
    found = set()
    for key, value in edit.txn.cursor(edit.handles["dictionaries"]):
        try:
            dictionary = codec.decode(Dictionary, key, value)
        except StoreDamagedError:
            found.add(keys.id_of(key))
            continue
        if not gone.isdisjoint(dictionary.made_from):
            found.add(dictionary.number)
    return found


def _naming(dictionaries: Set[int], edit: Edit) -> set[int]:
    """Find the blocks that take any of these dictionaries to unpack."""
    found = set()
    for key, value in edit.txn.cursor(edit.handles[COLD]):
        try:
            if blocks.parts(key, value).head.dictionary in dictionaries:
                found.add(blocks.number_of(key))
        except StoreDamagedError:
            found.add(blocks.number_of(key))
    return found


def _rewrite(number: int, block: Block, gone: Set[int], edit: Edit) -> None:
    kept = [(id, body) for id, body in block.bodies() if id not in gone]
    _drop(number, edit)
    if kept:
        key = keys.id_key(number)
        events = [read(body) for _, body in kept]
        head = blocks.describe(block.head.scope, block.head.session, events)
        edit.put(WARM, key, blocks.lz4_row(key, head, blocks.join(kept)))


def _drop(number: int, edit: Edit) -> None:
    for table in blocks.TABLES:
        edit.drop(table, keys.id_key(number))


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


def unblock(number: int, block: Block, ids: Iterable[int], edit: Edit) -> None:
    """Give events rows of their own again, and take their block away.

    Args:
        number: The block's number.
        block: The block.
        ids: Which of its events; the others go with it.
        edit: Takes the changes.
    """
    for id in block.ids:
        edit.drop(PLACES, keys.id_key(id))
    for id in ids:
        key = keys.id_key(id)
        edit.put("log", key, codec.seal(key, block.body(id)))
    _drop(number, edit)
