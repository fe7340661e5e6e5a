"""Turns that could not be appended under the lease of the worker that heard them.

Another worker had taken over, or the database was away until the conversation was over. They need
no lease to be stored in the database; the next holder appends them to the log as new events, once.
"""

import zlib
from collections.abc import Sequence
from functools import partial

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory.engine import MemoryEngine
from slowcat_memory.errors import StoreDamagedError
from slowcat_memory.fleet.database import Connection
from slowcat_memory.fleet.leases import Lease
from slowcat_memory.records import Cursor, Event, Turn
from slowcat_memory.store.disk import change_set, codec, keys
from slowcat_memory.store.disk.outbox import Unsent

PREFIX = "late/"  # of the names of cursors

_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.Decoder(Event).decode


class Late(Struct, frozen=True):
    """An event that waits.

    Attributes:
        source: Where it was heard: an epoch, or a file of turns that waited.
        n: Its place there.
        event: As it was heard; it may refer to events of its source by their ids there.
    """

    source: str
    n: int
    event: Event


def events_of(source: str, sets: Sequence[Unsent]) -> list[Late]:
    """Return the events that change sets write and do not delete again."""
    found: dict[int, Event] = {}
    for one in sets:
        for key, value in change_set.decode(one.body).get("log", {}).items():
            if value is None:
                found.pop(keys.id_of(key), None)
            else:
                found[keys.id_of(key)] = _decoded(key, value)
    return [Late(source, n, event) for n, event in sorted(found.items())]


def _decoded(key: bytes, value: bytes) -> Event:
    return _unpack(codec.unseal(key, value))


async def store(connection: Connection, tenant: str, person: str, late: Sequence[Late]) -> None:
    """Store events for whoever holds the lease next; storing the same again does nothing."""
    bodies = [_pack(one.event) for one in late]
    await connection.executemany(
        "INSERT INTO slowcat.late (tenant, person, source, n, body, crc)"
        " VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING",
        [
            (tenant, person, one.source, one.n, body, zlib.crc32(body))
            for one, body in zip(late, bodies, strict=True)
        ],
    )


async def read(connection: Connection, lease: Lease) -> list[Late]:
    """Return what waits for the holder of a lease, in order.

    Raises:
        StoreDamagedError: An event is not as it was stored.
    """
    rows = await connection.fetch(
        "SELECT source, n, body, crc FROM slowcat.late WHERE tenant = $1 AND person = $2"
        " ORDER BY min(at) OVER (PARTITION BY source), source, n",
        lease.tenant,
        lease.person,
    )
    if any(zlib.crc32(row["body"]) != row["crc"] for row in rows):
        raise StoreDamagedError(f"a late turn of {lease.person!r} does not match its checksum")
    return [Late(row["source"], row["n"], _unpack(row["body"])) for row in rows]


async def delete(connection: Connection, lease: Lease, late: Sequence[Late]) -> None:
    """Delete events whose appends are committed in the database."""
    await connection.executemany(
        "DELETE FROM slowcat.late WHERE tenant = $1 AND person = $2 AND source = $3 AND n = $4",
        [(lease.tenant, lease.person, one.source, one.n) for one in late],
    )


def append_to(engine: MemoryEngine, late: Sequence[Late]) -> None:
    """Append late events to an engine's log, those that it does not have yet.

    How far it came with each source is written in the transaction of the event.
    """
    done: dict[str, int] = {}
    ids: dict[tuple[str, int], int] = {}
    first: dict[str, int] = {}
    with engine.snapshot() as snapshot:
        for source in {one.source for one in late}:
            cursor = snapshot.cursor(PREFIX + source)
            done[source] = cursor.position if cursor else 0
    for one in late:
        first.setdefault(one.source, one.event.id)
        if one.n > done[one.source]:
            event = _renumbered(one, ids, first[one.source])
            receipt = partial(_cursor, one)
            ids[one.source, one.event.id] = engine.log.append(event, receipt=receipt).id


def _cursor(one: Late, numbered: Sequence[Event]) -> Cursor:
    return Cursor(name=PREFIX + one.source, position=one.n)


def _renumbered(one: Late, ids: dict[tuple[str, int], int], first: int) -> Event:
    """Return an event as it is appended; what it referred to keeps its id, or has a new one.

    Only ids from ``first`` on are its source's own.
    """

    def now(id_: int) -> int:
        return ids.get((one.source, id_), 0) if id_ >= first else max(0, id_)

    event = replace(one.event, id=0)
    if not isinstance(event, Turn):
        return event
    return replace(event, reply_to=now(event.reply_to), part_of=now(event.part_of))
