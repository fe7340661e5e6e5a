"""The lease of a person's memory: who may append to the log, by the database's clock alone.

Taking a lease raises the *epoch* of its person, and each append names its epoch (``person_log``). So
a worker that stalled, and goes on after another took over, cannot write: it is refused, and learns
so. A conversation takes the lease of idle work at once, and makes its task due again; that of another
conversation only once it was released or has run out.
"""

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from slowcat_memory.errors import BusyElsewhereError, FleetError, LeaseLostError
from slowcat_memory.fleet.database import Connection

Purpose = Literal["conversation", "idle", "copy"]
MAY_USE = "EXISTS (SELECT FROM slowcat.tenant t WHERE t.tenant = $1 AND t.role = current_user)"


class Lease(Struct, frozen=True, kw_only=True):
    """The right to append to one person's log.

    Attributes:
        epoch: Named by each append.
        last_seq: Number of the last change set in the log when it was taken.
        snapshot_upto: Number of the last one in the snapshot, 0 without a snapshot.
        forget_epoch: How many deletions the snapshot and the log contain for certain.
        purged_under: Epoch of the lease under which what was forgotten was last removed from the
            database; copies that were last written before it may have it.
    """

    tenant: str
    person: str
    holder: str
    epoch: int
    last_seq: int
    snapshot_upto: int
    forget_epoch: int
    purged_under: int = 0


async def take(
    connection: Connection,
    tenant: str,
    person: str,
    holder: str,
    lease_s: float,
    purpose: Purpose = "conversation",
) -> Lease:
    """Take the lease of a person, who need not be known yet.

    Raises:
        BusyElsewhereError: Another worker has it.
        FleetError: The role of this connection may not use the tenant.
    """
    async with connection.transaction():
        await connection.execute(
            "INSERT INTO slowcat.owner (tenant, person) SELECT $1, $2"
            f" WHERE {MAY_USE} ON CONFLICT DO NOTHING",
            tenant,
            person,
        )
        row = await connection.fetchrow(
            f"SELECT *, {MAY_USE} AS may_use, until > clock_timestamp() AS runs,"
            " extract(epoch FROM greatest(until, clock_timestamp()) - clock_timestamp())::float8 AS left_s"
            " FROM slowcat.owner WHERE tenant = $1 AND person = $2 FOR UPDATE",
            tenant,
            person,
        )
        if row is None or not row["may_use"]:
            await _refuse(connection, tenant)
        gives_way = row["purpose"] == "idle" and purpose == "conversation"
        own = row["holder"] == holder and purpose != "idle"  # it may be in a conversation here
        if not row["released"] and row["runs"] and not own and not gives_way:
            raise BusyElsewhereError(
                f"another worker ({row['holder']}) has the memory of {person!r}",
                hint=f"It is free when that one ends, or in {row['left_s']:.0f} s if it has died",
            )
        if not row["released"]:
            await connection.execute(
                "INSERT INTO slowcat.taken_over (tenant, person, epoch, upto)"
                " VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING",
                tenant,
                person,
                row["epoch"],
                row["last_seq"],
            )
        if gives_way and row["runs"] and not row["released"]:  # its task is due again, untried
            await connection.execute(
                "UPDATE slowcat.task SET leased_by = ''"
                " WHERE tenant = $1 AND person = $2 AND leased_by <> ''",
                tenant,
                person,
            )
        await connection.execute(
            "UPDATE slowcat.owner SET epoch = epoch + 1, holder = $3, purpose = $4,"
            " until = clock_timestamp() + make_interval(secs => $5), released = false"
            " WHERE tenant = $1 AND person = $2",
            tenant,
            person,
            holder,
            purpose,
            lease_s,
        )
    return Lease(
        tenant=tenant,
        person=person,
        holder=holder,
        epoch=row["epoch"] + 1,
        last_seq=row["last_seq"],
        snapshot_upto=row["snapshot_upto"],
        forget_epoch=row["forget_epoch"],
        purged_under=row["purged_under"],
    )


async def _refuse(connection: Connection, tenant: str) -> None:
    role = await connection.fetchval("SELECT current_user")
    raise FleetError(
        f"the role {role!r} of fleet.dsn may not use the tenant {tenant!r}",
        hint=f"`slowcat-memory fleet init --role {role}` lets it; or correct fleet.tenant",
    )


async def renew(connection: Connection, leases: Sequence[Lease], lease_s: float) -> set[int]:
    """Renew leases of one tenant; return the positions in ``leases`` of those that are lost."""
    rows = await connection.fetch(
        "UPDATE slowcat.owner o SET until = clock_timestamp() + make_interval(secs => $4)"
        " FROM unnest($2::text[], $3::bigint[]) AS l(person, epoch)"
        " WHERE o.tenant = $1 AND o.person = l.person AND o.epoch = l.epoch AND NOT o.released"
        " RETURNING o.person, o.epoch",
        leases[0].tenant,
        [lease.person for lease in leases],
        [lease.epoch for lease in leases],
        lease_s,
    )
    kept = {(row["person"], row["epoch"]) for row in rows}
    return {n for n, lease in enumerate(leases) if (lease.person, lease.epoch) not in kept}


async def release(connection: Connection, lease: Lease, seq: int) -> bool:
    """Release a lease after everything up to a change set was sent; return whether it was held."""
    row = await connection.fetchrow(
        "UPDATE slowcat.owner SET released = true, until = '-infinity', purpose = '', holder = ''"
        " WHERE tenant = $1 AND person = $2 AND epoch = $3 AND last_seq = $4 RETURNING 1",
        lease.tenant,
        lease.person,
        lease.epoch,
        seq,
    )
    return row is not None


async def give_up(connection: Connection, lease: Lease) -> None:
    """Let others take over at once, although something may not have been sent."""
    await connection.execute(
        "UPDATE slowcat.owner SET until = '-infinity'"
        " WHERE tenant = $1 AND person = $2 AND epoch = $3 AND NOT released",
        lease.tenant,
        lease.person,
        lease.epoch,
    )


async def sent_under(connection: Connection, tenant: str, person: str, epoch: int) -> int | None:
    """Return up to which change set the log has what was written under an epoch.

    None where its lease was released, so that everything was sent.

    Raises:
        FleetError: The database knows nothing of that epoch: it is not the one it was.
    """
    row = await connection.fetchrow(
        "SELECT epoch, released, last_seq FROM slowcat.owner WHERE tenant = $1 AND person = $2",
        tenant,
        person,
    )
    if row is None or row["epoch"] < epoch:
        raise has_less(person)
    if row["epoch"] == epoch:
        return None if row["released"] else int(row["last_seq"])
    found = await connection.fetchval(
        "SELECT upto FROM slowcat.taken_over WHERE tenant = $1 AND person = $2 AND epoch = $3",
        tenant,
        person,
        epoch,
    )
    return None if found is None else int(found)


def has_less(person: str) -> FleetError:
    return FleetError(
        f"the database has less of {person!r} than it acknowledged",
        hint="It is another one, was restored from a backup, or lost its last writes",
    )


def lost(lease: Lease) -> LeaseLostError:
    return LeaseLostError(
        f"another worker has taken over the memory of {lease.person!r}",
        hint="The conversation goes on; what was not sent is passed on to that worker",
    )
