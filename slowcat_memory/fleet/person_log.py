"""One person's log in the database: change sets, numbered without gaps, appended under a lease."""

import zlib
from collections.abc import Awaitable, Callable, Sequence

from slowcat_memory.errors import StoreDamagedError
from slowcat_memory.fleet.database import Connection
from slowcat_memory.fleet.leases import Lease, has_less, lost
from slowcat_memory.store.disk.outbox import Unsent

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
    connection: Connection,
    lease: Lease,
    sets: Sequence[Unsent],
    lease_s: float,
    also: Also | None = None,
) -> int:
    """Append change sets, which follow each other; return the last that is committed now.

    ``also`` is done in the same transaction, after the last of them.

    Sending the same again does nothing, so an unknown outcome is resolved by another try. Where
    others have joined them meanwhile, only those of the first try may be there yet.

    Raises:
        LeaseLostError: Another worker has taken over; nothing is appended.
        FleetError: The log ends before them: the database lost what it had acknowledged.
    """
    if also is None:
        return await _append(connection, lease, sets, lease_s)
    async with connection.transaction():
        upto = await _append(connection, lease, sets, lease_s)
        if upto == sets[-1].seq:
            await also(connection)
        return upto


async def _append(
    connection: Connection, lease: Lease, sets: Sequence[Unsent], lease_s: float
) -> int:
    first, last = sets[0].seq, sets[-1].seq
    done = await connection.execute(
        APPEND,
        lease.tenant,
        lease.person,
        lease.epoch,
        first - 1,
        last,
        lease_s,
        [one.seq for one in sets],
        [one.last_event for one in sets],
        [one.body for one in sets],
        [zlib.crc32(one.body) for one in sets],
    )
    if done == f"INSERT 0 {len(sets)}":
        return last
    return await _appended_before(connection, lease, first, last)


async def _appended_before(connection: Connection, lease: Lease, first: int, last: int) -> int:
    """Return up to where an earlier try came; raise why nothing was appended if there is none."""
    row = await connection.fetchrow(
        "SELECT epoch, last_seq FROM slowcat.owner WHERE tenant = $1 AND person = $2",
        lease.tenant,
        lease.person,
    )
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
        lease.tenant,
        lease.person,
        after,
        lease.last_seq,
    )
    if [row["seq"] for row in rows] != list(range(after + 1, lease.last_seq + 1)):
        return None
    for row in rows:
        if zlib.crc32(row["body"]) != row["crc"]:
            raise StoreDamagedError(f"change set {row['seq']} does not match its checksum")
    return [row["body"] for row in rows]
