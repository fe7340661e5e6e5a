"""One person's memory in the database: a log of change sets, and a snapshot before it.

Change sets are numbered without gaps, and appended under a lease. A snapshot is the whole memory, so
that the log before it can go.
"""

import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import nullcontext
from typing import Any

from slowcat_memory.errors import FleetError, StoreDamagedError
from slowcat_memory.fleet.database import Connection
from slowcat_memory.fleet.leases import Lease, has_less, lost
from slowcat_memory.store.disk.outbox import Unsent
from slowcat_memory.store.replica import Whole

# Names of the files that have the rows; a table that is rewritten (VACUUM FULL) gets a new one.
FILES = "ARRAY[pg_relation_filenode('slowcat.log'), pg_relation_filenode('slowcat.snapshot')]"
REWRITE_S = 3600.0  # for one table
WHOLE_S = 900.0  # for one memory that is written or read; nothing is stored, or made, by halves
AT_ONCE = 8  # parts in an answer: 16 MB before compression

Also = Callable[[Connection], Awaitable[object]]
"""Statements of the transaction of an append; they may be sent again, as the append is."""

# One statement is one transaction. The first part moves the end of the log, only from where the
# sender believes it to be, and only in the sender's epoch; without it nothing is inserted. It locks
# the person's row until it is committed, so that nobody takes over in between.
APPEND = """
WITH fence AS (
  UPDATE slowcat.owner
     SET last_seq = $5, until = greatest(until, clock_timestamp() + make_interval(secs => $6))
   WHERE tenant = $1 AND person = $2 AND epoch = $3 AND last_seq = $4 AND NOT released
  RETURNING epoch)
INSERT INTO slowcat.log (tenant, person, seq, epoch, last_event, body, crc)
SELECT $1, $2, s.seq, fence.epoch, s.last_event, s.body, s.crc
  FROM fence, unnest($7::bigint[], $8::bigint[], $9::bytea[], $10::bigint[])
       AS s(seq, last_event, body, crc)
"""


async def append(
    connection: Connection, lease: Lease, sets: Sequence[Unsent], also: Also | None = None
) -> int:
    """Append change sets, which follow each other; return the last that is committed now.

    ``also`` is done in the same transaction, after the last of them.

    Sending the same again does nothing, so an unknown outcome is resolved by another try. Where
    others have joined them meanwhile, only those of the first try may be there yet.

    Raises:
        LeaseLostError: Another worker has taken over; nothing is appended.
        FleetError: The log ends before them: the database lost what it had acknowledged.
    """
    first, last = sets[0].seq, sets[-1].seq
    async with connection.transaction() if also else nullcontext():
        done = await connection.execute(
            APPEND,
            *lease.fence,
            first - 1,
            last,
            lease.lease_s,
            [change.seq for change in sets],
            [change.last_event for change in sets],
            [change.body for change in sets],
            [zlib.crc32(change.body) for change in sets],
        )
        upto = last
        if done != f"INSERT 0 {len(sets)}":
            upto = await _sent_before(connection, lease, first, last)
        if also and upto == last:
            await also(connection)
        return upto


async def _sent_before(connection: Connection, lease: Lease, first: int, last: int) -> int:
    """Return how far an earlier try came through."""
    query = "SELECT epoch, last_seq FROM slowcat.owner WHERE tenant = $1 AND person = $2"
    row = await connection.fetchrow(query, *lease.key)
    if row is None or row["epoch"] < lease.epoch or row["last_seq"] < first - 1:
        raise has_less(lease.person)
    if row["epoch"] != lease.epoch or not first <= row["last_seq"] <= last:
        raise lost(lease)
    return int(row["last_seq"])


async def read(connection: Connection, lease: Lease, after: int) -> list[bytes] | None:
    """Return the change sets of a log after a number, in order.

    None where the first of them is gone: then a snapshot has it.

    Raises:
        StoreDamagedError: One is not as it was sent.
    """
    rows = await connection.fetch(
        "SELECT seq, body, crc FROM slowcat.log"
        " WHERE tenant = $1 AND person = $2 AND seq > $3 AND seq <= $4 ORDER BY seq",
        *lease.key,
        after,
        lease.last_seq,
    )
    if [row["seq"] for row in rows] != list(range(after + 1, lease.last_seq + 1)):
        return None
    return list(map(_whole, rows))


def _whole(row: Any) -> bytes:
    """Return the body of a row; raises ``StoreDamagedError`` if it is not as it was sent."""
    body: bytes = row["body"]
    if zlib.crc32(body) != row["crc"]:
        raise StoreDamagedError("a part of a memory in the database does not match its checksum")
    return body


# ------------------------------------------------------------------- snapshots


async def write_snapshot(
    connection: Connection, lease: Lease, whole: Whole, forgets: int | None = None
) -> None:
    """Write a snapshot, and delete the one before it with the log that it made superfluous.

    The log since that one is kept, so that workers which have a copy can bring it up to date.

    Args:
        forgets: How many deletions are complete in it; then nothing of before is kept, and other
            workers delete their copies. None where nothing was forgotten.

    Raises:
        LeaseLostError: Another worker has taken over; nothing is written.
    """
    async with connection.transaction():
        before = await connection.fetchval(
            "SELECT snapshot_upto FROM slowcat.owner WHERE tenant = $1 AND person = $2"
            " AND epoch = $3 AND last_seq >= $4 AND NOT released FOR UPDATE",
            *lease.fence,
            whole.seq,
        )
        if before is None:
            raise lost(lease)
        if before > whole.seq:
            return  # a later one was written meanwhile, and the log before it deleted
        await connection.execute(
            "DELETE FROM slowcat.snapshot WHERE tenant = $1 AND person = $2", *lease.key
        )
        await connection.executemany(
            "INSERT INTO slowcat.snapshot (tenant, person, upto, part, body, crc)"
            " VALUES ($1, $2, $3, $4, $5, $6)",
            [(*lease.key, whole.seq, n, p, zlib.crc32(p)) for n, p in enumerate(whole.parts)],
            timeout=WHOLE_S,
        )
        await connection.execute(
            "DELETE FROM slowcat.log WHERE tenant = $1 AND person = $2 AND seq <= $3",
            *lease.key,
            whole.seq if forgets is not None else before,
        )
        await connection.execute(
            "UPDATE slowcat.owner SET snapshot_upto = $3, forget_epoch = greatest(forget_epoch, $4)"
            " WHERE tenant = $1 AND person = $2",
            *lease.key,
            whole.seq,
            forgets or 0,
        )
        if forgets is not None:
            await connection.execute(
                f"UPDATE slowcat.owner SET purged_under = $3, purged_in = {FILES},"
                " purged_at = clock_timestamp() WHERE tenant = $1 AND person = $2",
                *lease.fence,
            )


async def rewrite(connection: Connection) -> None:
    """Rewrite the tables, so that no deleted row is in their files. Nobody can use them meanwhile.

    Raises:
        FleetError: The role of this connection may not.
    """
    before = await connection.fetchval(f"SELECT {FILES}")
    for table in ("log", "snapshot"):
        await connection.execute(f"VACUUM FULL slowcat.{table}", timeout=REWRITE_S)
    if set(before) & set(await connection.fetchval(f"SELECT {FILES}")):
        hint = "Run it as the role that owns the tables, with SLOWCAT_FLEET__DSN"
        raise FleetError("this role may not rewrite the tables", hint=hint)


async def purged_lately(connection: Connection, tenant: str, within_s: float) -> list[str]:
    """Return of whom something that was forgotten was removed in the last seconds."""
    query = (
        "SELECT person FROM slowcat.owner WHERE tenant = $1"
        " AND purged_at > clock_timestamp() - make_interval(secs => $2)"
    )
    return [row[0] for row in await connection.fetch(query, tenant, within_s)]


async def read_snapshot(connection: Connection, lease: Lease) -> AsyncIterator[bytes]:
    """Yield the parts of the snapshot, if there is one, in a transaction of the caller's."""
    query = (
        "SELECT body, crc FROM slowcat.snapshot WHERE tenant = $1 AND person = $2 AND upto = $3"
        " ORDER BY part"
    )
    how = *lease.key, lease.snapshot_upto
    async for row in connection.cursor(query, *how, prefetch=AT_ONCE):
        yield _whole(row)
