"""What each tier holds, counted without unpacking anything."""

from collections.abc import Iterator

from msgspec.structs import replace

from slowcat_memory.core.retention.tiering import COLD, HOT, WARM
from slowcat_memory.errors import StoreDamagedError
from slowcat_memory.records import Held, Turn
from slowcat_memory.store.blocks import block
from slowcat_memory.store.blocks.removal import read
from slowcat_memory.store.disk import codec
from slowcat_memory.store.disk.canary import HEADER
from slowcat_memory.store.disk.environment import Handles, Txn

KEY = 8
PLACE = 2 * KEY + HEADER.size  # bytes that an event in a block takes in ``places``


def census(txn: Txn, handles: Handles) -> dict[str, Held]:
    """Count.

    Args:
        txn: A read transaction.
        handles: The tables.

    Returns:
        What each tier holds, by its name, near to far; dictionaries count as cold.
    """
    packed = {tier.name: _blocks(txn, handles, tier.name) for tier in (WARM, COLD)}
    for value in _values(txn, handles, "dictionaries"):
        held = packed[COLD.name]
        stored = held.stored_bytes + KEY + len(value)
        packed[COLD.name] = replace(held, stored_bytes=stored)
    return {HOT.name: _singles(txn, handles), **packed}


def _values(txn: Txn, handles: Handles, table: str) -> Iterator[bytes]:
    return txn.cursor(handles[table]).iternext(keys=False) if table in handles else iter(())


def _blocks(txn: Txn, handles: Handles, table: str) -> Held:
    """Count the blocks of a table, and the turns in them."""
    number = turns = raw = stored = 0
    for key, value in txn.cursor(handles[table]) if table in handles else ():
        try:
            head = block.read_head(value)
        except StoreDamagedError:
            continue
        number += 1
        turns += head.turns
        raw += head.unpacked + head.events * (KEY + HEADER.size)
        stored += len(key) + len(value) + head.events * PLACE
    return Held(memories=turns, blocks=number, raw_bytes=raw, stored_bytes=stored)


def _singles(txn: Txn, handles: Handles) -> Held:
    """Count the events that have rows of their own."""
    turns = raw = stored = 0
    for key, value in txn.cursor(handles["log"]) if "log" in handles else ():
        try:
            body = codec.unseal(key, value)
            turns += isinstance(read(body), Turn)
        except StoreDamagedError:
            continue
        raw += KEY + HEADER.size + len(body)
        stored += len(key) + len(value)
    return Held(memories=turns, raw_bytes=raw, stored_bytes=stored)
