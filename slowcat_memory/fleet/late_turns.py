"""What could not be sent under the lease of the worker that heard it: turns, notes and forgets.

Another worker had taken over, or the database was away until the conversation was over. No lease is
needed to store it in the database. The next holder appends the turns to the log as new events, once,
keeps the notes, and forgets what was to be forgotten. What was derived is made again.
"""

import sys
import zlib
from collections.abc import Iterator, Sequence
from functools import partial

import msgspec
from loguru import logger
from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory.core.memory import NOTE, family
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.fleet.database import Connection
from slowcat_memory.fleet.leases import Lease
from slowcat_memory.records import Cursor, Event, Forget, Memory, SessionEdge, Turn, WriteBatch
from slowcat_memory.store.disk import codec, keys, outbox
from slowcat_memory.store.disk.outbox import Unsent
from slowcat_memory.store.rows.pending import PENDING_KEY, hidden_by

PREFIX = "late/"  # of the names of cursors
AT_ONCE = 50  # events appended until they are flushed
CHANGES = "/changes"  # ends the source of changes that are no events


class Noted(Struct, frozen=True, tag=True):
    """A note that was made or changed."""

    memory: Memory


class Order(Struct, frozen=True, tag=True):
    """What was to be forgotten, of what the log has."""

    forget: Forget


Said = Event | Noted | Order
_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.Decoder(Said).decode
_unpack_event = msgspec.msgpack.Decoder(Event).decode


class Late(Struct, frozen=True):
    """Something that waits.

    Attributes:
        source: Where it was heard: an epoch, or a file of turns that waited.
        n: Its place there.
        said: An event as it was heard, which may refer to events of its source by their ids there;
            or a change.
    """

    source: str
    n: int
    said: Said


def late_of(source: str, sets: Sequence[Unsent]) -> list[Late]:
    """Return what change sets have of events, notes and forgets, and do not delete again.

    Events that were late already keep their source and place: they may wait in the database still,
    or be in the log by now.
    """
    events, notes, orders = dict[int, Event](), dict[bytes, Memory](), list[Forget]()
    before = dict[int, tuple[str, int]]()
    for one in sets:
        changes = outbox.unpack_changes(one.body)
        for key, value in changes.get("cursors", {}).items():
            if value is not None:
                before |= _places(codec.decode(Cursor, key, value))
        for key, value in changes.get("log", {}).items():
            if value is None:
                events.pop(keys.id_of(key), None)
            else:
                events[keys.id_of(key)] = _unpack_event(codec.unseal(key, value))
        for key, value in changes.get("memories", {}).items():
            notes.pop(key, None)
            if value is not None and family((note := codec.decode(Memory, key, value)).id) == NOTE:
                notes[key] = note
        if pending := changes.get("meta", {}).get(PENDING_KEY):
            orders += _orders(pending, min(events, default=sys.maxsize))
    changed: list[Said] = [*map(Noted, notes.values()), *map(Order, orders)]
    return [
        *(Late(*before.get(id_, (source, id_)), event) for id_, event in sorted(events.items())),
        *(Late(f"{source}{CHANGES}", n, change) for n, change in enumerate(changed, 1)),
    ]


def saved_of(sets: Sequence[Unsent]) -> dict[str, int]:
    """Return up to where change sets have the turns of each source that had waited."""
    found: dict[str, int] = {}
    for one in sets:
        for key, value in outbox.unpack_changes(one.body).get("cursors", {}).items():
            if value is not None:
                cursor = codec.decode(Cursor, key, value)
                if cursor.name.startswith(PREFIX):
                    found[cursor.name.removeprefix(PREFIX)] = cursor.position
    return found


def _orders(row: bytes, own: int) -> Iterator[Forget]:
    """Yield what an erasure was to delete of what the log has; its own turns begin with ``own``."""
    hidden = hidden_by(row)
    if turns := tuple(sorted(id_ for id_ in hidden.turns if id_ < own)):
        yield Forget(turns=turns)
    for scope in sorted({scope for scope, _ in hidden.memories}):
        ids = sorted(id_ for other, id_ in hidden.memories if other == scope)
        yield Forget(scope=scope, memories=tuple(ids))


async def store(connection: Connection, tenant: str, person: str, late: Sequence[Late]) -> None:
    """Store it for whoever holds the lease next; storing the same again does nothing."""
    bodies = [_pack(one.said) for one in late]
    await connection.executemany(
        "INSERT INTO slowcat.late (tenant, person, source, n, body, crc)"
        " VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING",
        [
            (tenant, person, one.source, one.n, body, zlib.crc32(body))
            for one, body in zip(late, bodies, strict=True)
        ],
    )


async def read(connection: Connection, lease: Lease) -> list[Late]:
    """Return what waits for the holder of a lease, in order, but for what is damaged."""
    rows = await connection.fetch(
        "SELECT source, n, body, crc FROM slowcat.late WHERE tenant = $1 AND person = $2"
        " ORDER BY min(at) OVER (PARTITION BY source), source, n",
        lease.tenant,
        lease.person,
    )
    sound = [row for row in rows if zlib.crc32(row["body"]) == row["crc"]]
    if len(sound) < len(rows):
        logger.error("fleet: {} late turns do not match their checksums", len(rows) - len(sound))
    return [Late(row["source"], row["n"], _unpack(row["body"])) for row in sound]


async def delete(connection: Connection, lease: Lease, late: Sequence[Late]) -> None:
    """Delete what is committed in the log by now."""
    await connection.executemany(
        "DELETE FROM slowcat.late WHERE tenant = $1 AND person = $2 AND source = $3 AND n = $4",
        [(lease.tenant, lease.person, one.source, one.n) for one in late],
    )


def append_to(engine: MemoryEngine, late: Sequence[Late]) -> None:
    """Append late events to an engine's log, those that it does not have yet; make late changes.

    How far it came with each source is written in the transaction of the event. A change that is
    made again changes nothing.
    """
    done: dict[str, int] = {}
    ids: dict[tuple[str, int], int] = {}
    first: dict[str, int] = {}
    with engine.snapshot() as snapshot:
        for source in {one.source for one in late}:
            cursor = snapshot.cursor(PREFIX + source)
            done[source] = cursor.position if cursor else 0
    places: dict[str, str] = {}
    for count, one in enumerate(late, 1):
        if isinstance(one.said, Turn | SessionEdge):
            first.setdefault(one.source, one.said.id)
            if one.n > done[one.source]:
                event = _renumbered(one.said, one.source, ids, first[one.source])
                receipt = partial(_cursor, one, places)
                ids[one.source, one.said.id] = engine.log.append(event, receipt=receipt).id
        if count % AT_ONCE == 0 and engine.flush():
            places.clear()  # those are named in their own transactions
    if notes := tuple(one.said.memory for one in late if isinstance(one.said, Noted)):
        engine.apply("late", WriteBatch(memories=notes))
    if orders := [one.said.forget for one in late if isinstance(one.said, Order)]:
        engine.forget(orders)


def _cursor(one: Late, places: dict[str, str], numbered: Sequence[Event]) -> Cursor:
    """Return how far a source has come, with all of its events that one transaction may have."""
    note = f"{places.get(one.source, '')} {one.n}:{numbered[0].id}".strip()
    places[one.source] = note
    return Cursor(name=PREFIX + one.source, position=one.n, note=note, in_log=False)


def _places(cursor: Cursor) -> dict[int, tuple[str, int]]:
    """Return where events were late before, by their ids."""
    if not cursor.name.startswith(PREFIX):
        return {}
    source, pairs = (
        cursor.name.removeprefix(PREFIX),
        (one.split(":") for one in cursor.note.split()),
    )
    return {int(id_): (source, int(n)) for n, id_ in pairs}


def _renumbered(event: Event, source: str, ids: dict[tuple[str, int], int], first: int) -> Event:
    """Return an event as it is appended; what it referred to keeps its id, or has a new one.

    Only ids from ``first`` on are its source's own.
    """

    def now(id_: int) -> int:
        return ids.get((source, id_), 0) if id_ >= first else max(0, id_)

    event = replace(event, id=0)
    if not isinstance(event, Turn):
        return event
    return replace(event, reply_to=now(event.reply_to), part_of=now(event.part_of))
