"""A person's whole memory in the database, so that the log before it can go."""

from uuid import UUID

from slowcat_memory.errors import FleetError
from slowcat_memory.fleet.database import Connection
from slowcat_memory.fleet.leases import Lease, lost
from slowcat_memory.store.replica.parts import Part, Whole

CHANNEL = "slowcat_forgotten"  # all tenants hear its messages: each is a new random number
# Names of the files that have the rows; a table that is rewritten (VACUUM FULL) gets a new one.
FILES = "ARRAY[pg_relation_filenode('slowcat.log'), pg_relation_filenode('slowcat.snapshot')]"
REWRITE_S = 3600.0  # for one table
AT_ONCE = 8  # parts in a statement: 16 MB before compression


async def write(connection: Connection, lease: Lease, whole: Whole, *, forgets: int | None) -> None:
    """Write a snapshot, and delete the one before it with the log that it made superfluous.

    The log since that one is kept, so that workers which have a copy can bring it up to date.

    Args:
        forgets: How many deletions are complete in it; then nothing of before is kept, and workers
            are notified to delete their copies. None where nothing was forgotten.

    Raises:
        LeaseLostError: Another worker has taken over; nothing is written.
    """
    key = lease.tenant, lease.person
    async with connection.transaction():
        before = await connection.fetchrow(
            "SELECT snapshot_upto FROM slowcat.owner WHERE tenant = $1 AND person = $2"
            " AND epoch = $3 AND last_seq >= $4 AND NOT released FOR UPDATE",
            *key,
            lease.epoch,
            whole.seq,
        )
        if before is None:
            raise lost(lease)
        if before["snapshot_upto"] > whole.seq:
            return  # a later one was written meanwhile, and the log before it deleted
        await connection.execute(
            "DELETE FROM slowcat.snapshot WHERE tenant = $1 AND person = $2", *key
        )
        for first in range(0, len(whole.parts), AT_ONCE):  # a statement has to end in time
            some = whole.parts[first : first + AT_ONCE]
            await connection.executemany(
                "INSERT INTO slowcat.snapshot (tenant, person, upto, part, body, crc)"
                " VALUES ($1, $2, $3, $4, $5, $6)",
                [(*key, whole.seq, n, part.body, part.crc) for n, part in enumerate(some, first)],
            )
        await connection.execute(
            "DELETE FROM slowcat.log WHERE tenant = $1 AND person = $2 AND seq <= $3",
            *key,
            whole.seq if forgets is not None else before["snapshot_upto"],
        )
        await connection.execute(
            "UPDATE slowcat.owner SET snapshot_upto = $3, forget_epoch = greatest(forget_epoch, $4)"
            " WHERE tenant = $1 AND person = $2",
            *key,
            whole.seq,
            forgets or 0,
        )
        if forgets is not None:
            await connection.execute(
                "WITH purged AS (UPDATE slowcat.owner SET purged_under = $3,"
                f" purged_in = {FILES}, ref = gen_random_uuid()"
                " WHERE tenant = $1 AND person = $2 RETURNING ref)"
                " SELECT pg_notify($4, ref::text) FROM purged",
                *key,
                lease.epoch,
                CHANNEL,
            )


async def purged_under(connection: Connection, tenant: str, person: str) -> int:
    """Return the epoch under which something forgotten was last removed; 0 for never.

    A copy that was last written under an earlier one may have it.
    """
    query = "SELECT purged_under FROM slowcat.owner WHERE tenant = $1 AND person = $2"
    return await connection.fetchval(query, tenant, person) or 0


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


async def notified(connection: Connection, tenant: str, message: str) -> str | None:
    """Return of whom a message of ``CHANNEL`` is; None if it is nobody of this tenant."""
    try:
        ref = UUID(message)
    except ValueError:
        return None
    found = await connection.fetchval(
        "SELECT person FROM slowcat.owner WHERE tenant = $1 AND ref = $2", tenant, ref
    )
    return None if found is None else str(found)


async def read(connection: Connection, lease: Lease, first: int) -> list[Part]:
    """Return ``AT_ONCE`` parts of the snapshot from one on; fewer are the last."""
    rows = await connection.fetch(
        "SELECT body, crc FROM slowcat.snapshot WHERE tenant = $1 AND person = $2 AND upto = $3"
        " AND part >= $4 AND part < $5 ORDER BY part",
        lease.tenant,
        lease.person,
        lease.snapshot_upto,
        first,
        first + AT_ONCE,
    )
    return [Part(row["body"], row["crc"]) for row in rows]
