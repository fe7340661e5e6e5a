"""Making the log and the blocks of a salvaged store agree again.

Each event is to be in exactly one place. A row of ``places`` that did not come through is made
again from the block that holds the event; a block that holds what also has a row of its own, or
what was forgotten, is taken apart.
"""

from collections.abc import Sequence

from slowcat_memory.errors import StoreDamagedError
from slowcat_memory.store.blocks import block as blocks
from slowcat_memory.store.blocks import locations
from slowcat_memory.store.blocks.block import Block
from slowcat_memory.store.blocks.locations import PLACES
from slowcat_memory.store.blocks.reader import BlockCache, BlockReader
from slowcat_memory.store.blocks.removal import unpack_block
from slowcat_memory.store.disk import keys
from slowcat_memory.store.disk.transaction import Transaction
from slowcat_memory.store.writer.tier_view import CURSOR

_SHOWN = 20  # spans in one line


def repair(tx: Transaction) -> None:
    """Mend the log of a store that was just salvaged.

    Args:
        tx: Takes the changes.
    """
    reader = BlockReader(tx.get, BlockCache())
    for table in blocks.TABLES:
        for key, _ in tx.txn.cursor(tx.handles[table]):
            number = blocks.number_of(key)
            try:
                _mend(number, reader.block(number), tx)
            except StoreDamagedError:
                tx.drop(table, key)
    for key in tx.txn.cursor(tx.handles["cursors"]).iternext(values=False):
        if key.startswith(CURSOR.encode()):
            tx.drop("cursors", key)  # what was taken apart is to be packed again


def _mend(number: int, block: Block, tx: Transaction) -> None:
    """Have ``places`` say where a block's events are, or take the block apart."""
    missing, elsewhere = [], []
    for id in block.ids:
        held = _held(id, tx)
        if held < 0 and tx.get("tombstones", keys.turn_tombstone(id)) is None:
            missing.append(id)
        elif held != number:
            elsewhere.append(id)
    if elsewhere:
        mine = [id for id in block.ids if id not in elsewhere]
        unpack_block(number, block, mine, tx)
        return
    for id in missing:
        key = keys.id_key(id)
        tx.put(PLACES, key, locations.row(key, number))


def _held(id: int, tx: Transaction) -> int:
    """Tell which block is said to hold an event; 0 when it has a row, -1 when nobody knows it."""
    key = keys.id_key(id)
    if tx.get("log", key) is not None:
        return 0
    value = tx.get(PLACES, key)
    return -1 if value is None else locations.number(key, value)


def spans(ids: Sequence[int]) -> str:
    """Write numbers briefly.

    Args:
        ids: Sorted.

    Returns:
        For example "3-9, 12".
    """
    found: list[list[int]] = []
    for id in ids:
        if found and id == found[-1][1] + 1:
            found[-1][1] = id
        else:
            found.append([id, id])
    shown = [f"{a}-{b}" if a < b else str(a) for a, b in found[:_SHOWN]]
    return ", ".join(shown) + (" and more" if len(found) > _SHOWN else "")
