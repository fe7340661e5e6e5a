"""Which block holds an event that has left the log's own table.

Not a value in ``log``: LMDB does not give back the room of a value that became smaller, only that of
rows that went.
"""

import heapq
import struct
from collections.abc import Iterator

from slowcat_memory.errors import StoreDamagedError
from slowcat_memory.store.disk import codec
from slowcat_memory.store.disk.environment import Handles, Txn

PLACES = "places"
EVENTS = ("log", PLACES)  # an event has a row in one of them

_NUMBER = struct.Struct(">Q")


def row(key: bytes, number: int) -> bytes:
    """Say where an event is.

    Args:
        key: The event's key.
        number: The block's number.

    Returns:
        The envelope.
    """
    return codec.seal(key, _NUMBER.pack(number))


def number(key: bytes, value: bytes) -> int:
    """Read where an event is.

    Args:
        key: The event's key.
        value: The envelope.

    Returns:
        The block's number.

    Raises:
        StoreDamagedError: It is not what was written.
    """
    body = codec.unseal(key, value)
    if len(body) != _NUMBER.size:
        raise StoreDamagedError("a place of an odd size")
    return int(_NUMBER.unpack(body)[0])


def event_keys(txn: Txn, handles: Handles, first: bytes = b"") -> Iterator[bytes]:
    """Walk the keys of all events in log order, wherever they are.

    Args:
        txn: A transaction.
        handles: The tables; an older store may lack one.
        first: Where to begin.

    Yields:
        Keys.
    """
    walks = [_keys(txn, handles, table, first) for table in EVENTS if table in handles]
    return heapq.merge(*walks)


def _keys(txn: Txn, handles: Handles, table: str, first: bytes) -> Iterator[bytes]:
    cursor = txn.cursor(handles[table])
    if cursor.set_range(first):
        yield from cursor.iternext(values=False)


def last_key(txn: Txn, handles: Handles) -> bytes:
    """Find the last event.

    Args:
        txn: A transaction.
        handles: The tables.

    Returns:
        Its key; none when there is no event.
    """
    cursors = [txn.cursor(handles[table]) for table in EVENTS if table in handles]
    return max((cursor.key() for cursor in cursors if cursor.last()), default=b"")
