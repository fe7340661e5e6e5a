"""The lease of a person's memory: who may append to the log, by the database's clock alone; and tasks.

Taking a lease raises the *epoch* of its person, and each append names its epoch (``person_log``). So
a worker that stalled, and goes on after another took over, cannot write: it is refused, and learns
so. A conversation takes the lease of idle work at once, and makes its task due again; that of another
conversation only once it was released or has run out.
"""

from pathlib import Path
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory.errors import BusyElsewhereError, FleetError, LeaseLostError
from slowcat_memory.fleet.database import Connection, Database
from slowcat_memory.store.disk.outbox import CopyState

Purpose = Literal["conversation", "idle", "copy"]
MAY_USE = "EXISTS (SELECT FROM slowcat.tenant t WHERE t.tenant = $1 AND t.role = current_user)"

LEASED = "epoch, last_seq, snapshot_upto, forget_epoch, purged_under"


class Worker(Struct, frozen=True, kw_only=True):
    """What takes leases: one process of a fleet.

    Attributes:
        host: Names this machine.
        holder: Names this process; no two have the same.
        cache: The folder of its copies.
        map_gib: Address space to reserve for a store, in GiB.
        holdings: What it holds (``Holding``): their leases are renewed.
    """

    database: Database
    tenant: str
    host: str
    holder: str
    cache: Path
    lease_s: float
    map_gib: float
    holdings: dict[Any, None] = {}


class Lease(Struct, frozen=True, kw_only=True):
    """The right to append to one person's log.

    Attributes:
        lease_s: For how long it is taken, and renewed.
        epoch: Named by each append.
        last_seq: Number of the last change set in the log when it was taken.
        snapshot_upto: Number of the last one in the snapshot, 0 without a snapshot.
        forget_epoch: How many deletions the snapshot and the log contain for certain.
        purged_under: Epoch of the lease under which what was forgotten was last removed from the
            database; copies that were last written before it may have it.
        attempts: How often the idle work for which it was taken has failed.
    """

    tenant: str
    person: str
    lease_s: float
    epoch: int
    last_seq: int
    snapshot_upto: int
    forget_epoch: int
    purged_under: int
    attempts: int = 0

    @property
    def key(self) -> tuple[str, str]:
        return self.tenant, self.person

    @property
    def fence(self) -> tuple[str, str, int]:
        return self.tenant, self.person, self.epoch


async def take(
    connection: Connection, worker: Worker, person: str, purpose: Purpose = "conversation"
) -> Lease:
    """Take the lease of a person, who need not be known yet.

    Raises:
        BusyElsewhereError: Another worker has it.
        FleetError: The role of this connection may not use the tenant.
    """
    key = worker.tenant, person
    async with connection.transaction():
        await connection.execute(
            "INSERT INTO slowcat.owner (tenant, person) SELECT $1, $2"
            f" WHERE {MAY_USE} ON CONFLICT DO NOTHING",
            *key,
        )
        row = await connection.fetchrow(
            f"SELECT *, {MAY_USE} AS may_use, NOT released AND until > clock_timestamp() AS runs"
            " FROM slowcat.owner WHERE tenant = $1 AND person = $2 FOR UPDATE",
            *key,
        )
        if row is None or not row["may_use"]:
            role = await connection.fetchval("SELECT current_user")
            raise FleetError(
                f"the role {role!r} of fleet.dsn may not use the tenant {worker.tenant!r}",
                hint=f"`slowcat-memory fleet init --role {role}` lets it; or correct fleet.tenant",
            )
        gives_way = row["purpose"] == "idle" and purpose == "conversation"
        own = row["holder"] == worker.holder and purpose != "idle"  # in a conversation here
        if row["runs"] and not own and not gives_way:
            raise BusyElsewhereError(
                f"another worker ({row['holder']}) has the memory of {person!r}",
                hint=f"It is free when that one ends, or in {worker.lease_s:.0f} s if it has died",
            )
        await connection.execute(
            "INSERT INTO slowcat.taken_over (tenant, person, epoch, upto)"
            " SELECT tenant, person, epoch, last_seq FROM slowcat.owner"
            " WHERE tenant = $1 AND person = $2 AND NOT released ON CONFLICT DO NOTHING",
            *key,
        )
        if gives_way and row["runs"]:  # its task is due again, untried
            await connection.execute(
                "UPDATE slowcat.task SET leased_by = '' WHERE tenant = $1 AND person = $2", *key
            )
        taken = await connection.fetchrow(
            "UPDATE slowcat.owner SET epoch = epoch + 1, holder = $3, purpose = $4,"
            " until = clock_timestamp() + make_interval(secs => $5), released = false"
            " WHERE tenant = $1 AND person = $2"
            f" RETURNING {LEASED}",
            *key,
            worker.holder,
            purpose,
            worker.lease_s,
        )
    return Lease(tenant=worker.tenant, person=person, lease_s=worker.lease_s, **taken)


async def renew(connection: Connection, worker: Worker) -> list[Any]:
    """Renew the leases of what a worker holds; return those holdings whose lease is lost."""
    held = list(worker.holdings)
    rows = await connection.fetch(
        "UPDATE slowcat.owner o SET until = clock_timestamp() + make_interval(secs => $4)"
        " FROM unnest($2::text[], $3::bigint[]) AS l(person, epoch)"
        " WHERE o.tenant = $1 AND o.person = l.person AND o.epoch = l.epoch AND NOT o.released"
        " RETURNING o.tenant, o.person, o.epoch",
        worker.tenant,
        [holding.lease.person for holding in held],
        [holding.lease.epoch for holding in held],
        worker.lease_s,
    )
    kept = set(map(tuple, rows))
    return [holding for holding in held if holding.lease.fence not in kept]


async def release(connection: Connection, lease: Lease, seq: int | None = None) -> bool:
    """Let others take over at once; return whether the lease was released.

    It is where the log ends with ``seq``: everything was sent. Otherwise something may not have
    been, and the lease has only run out. Behind a conversation, any worker thinks about it.
    """
    async with connection.transaction():
        row = await connection.fetchrow(
            "UPDATE slowcat.owner SET released = coalesce(last_seq = $4, false),"
            " until = '-infinity' WHERE tenant = $1 AND person = $2 AND epoch = $3"
            " AND NOT released RETURNING released, purpose",
            *lease.fence,
            seq,
        )
        released = row is not None and bool(row["released"])
        if released and row["purpose"] == "conversation":
            await schedule_task(connection, *lease.key, THINK_AFTER_S)
    return released


async def look(connection: Connection, tenant: str, person: str) -> Lease | None:
    """Return the lease of a person as it is, for reading; None of somebody who is not known."""
    query = f"SELECT {LEASED} FROM slowcat.owner WHERE tenant = $1 AND person = $2"
    row = await connection.fetchrow(query, tenant, person)
    return row and Lease(tenant=tenant, person=person, lease_s=0.0, **row)


async def sent_under(connection: Connection, copy: CopyState) -> int | None:
    """Return up to which change set the log has what was written under a copy's lease.

    None where that was released, so that everything was sent.

    Raises:
        FleetError: The database knows nothing of that lease: it is not the one it was.
    """
    row = await connection.fetchrow(
        "SELECT o.epoch, CASE WHEN o.epoch > $3 THEN t.upto WHEN NOT released THEN last_seq END AS upto"
        " FROM slowcat.owner o LEFT JOIN slowcat.taken_over t"
        " ON t.tenant = o.tenant AND t.person = o.person AND t.epoch = $3"
        " WHERE o.tenant = $1 AND o.person = $2",
        copy.tenant,
        copy.person,
        copy.epoch,
    )
    if row is None or row["epoch"] < copy.epoch:
        raise has_less(copy.person)
    upto: int | None = row["upto"]
    return upto


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


# ------------------------------------------------------------------- tasks
# A task is claimed together with its person's lease, in one transaction, and only while nobody holds
# that; its row names the epoch. So it runs as long as the lease lasts; nothing else has to be renewed or swept. It ends in the
# transaction of the last append of its result (``Holding.send_last``). A conversation that takes the
# lease from idle work makes the task due again in the same transaction, untried (``take``).

THINK_AFTER_S = 10.0  # behind a conversation: who was cut off calls again within seconds
ABANDONED_S = 300.0  # until the idle work of a person whose worker died; it may come back first
MOST_ATTEMPTS = 5
FIRST_PAUSE_S, PAUSE_GROWTH, LONGEST_PAUSE_S = 60.0, 4.0, 86_400.0  # after a failure
_THIS_RUN = "WHERE tenant = $1 AND person = $2 AND leased_by = $3"


async def schedule_task(
    connection: Connection, tenant: str, person: str, after_s: float = 0.0
) -> None:
    """Make a known person's task due in so many seconds; one that waits stays due, if that is earlier.

    One that runs is due again after this run. One that failed keeps its pause, and begins anew if it
    was given up.
    """
    await connection.execute(
        "INSERT INTO slowcat.task AS t (tenant, person, not_before)"
        " VALUES ($1, $2, clock_timestamp() + make_interval(secs => $3))"
        " ON CONFLICT (tenant, person) DO UPDATE SET"
        " not_before = CASE WHEN t.leased_by <> '' OR t.attempts >= $4 THEN excluded.not_before"
        " WHEN t.attempts > 0 THEN t.not_before"
        " ELSE least(t.not_before, excluded.not_before) END,"
        " attempts = CASE WHEN t.attempts >= $4 THEN 0 ELSE t.attempts END,"
        " leased_by = ''",
        tenant,
        person,
        after_s,
        MOST_ATTEMPTS,
    )


async def claim_task(connection: Connection, worker: Worker) -> Lease | None:
    """Take the task that has been due longest, with its person's lease; None if there is none.

    A task whose worker vanished counts that as a failure. People whose workers died get one.
    """
    async with connection.transaction():
        await connection.execute(
            "INSERT INTO slowcat.task (tenant, person, not_before)"
            " SELECT tenant, person, clock_timestamp() + make_interval(secs => $2)"
            " FROM slowcat.owner WHERE tenant = $1 AND NOT released AND until < clock_timestamp()"
            " ON CONFLICT DO NOTHING",
            worker.tenant,
            ABANDONED_S,
        )
        # Without statistics (a new or restored database) these would read every person.
        await connection.execute(
            "SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off"
        )
        row = await connection.fetchrow(
            "SELECT t.person, t.attempts + (t.leased_by <> '')::integer AS attempts"
            " FROM slowcat.task t JOIN slowcat.owner o USING (tenant, person)"
            " WHERE t.tenant = $1 AND t.not_before <= clock_timestamp() AND t.attempts < $2"
            " AND (o.released OR o.until <= clock_timestamp())"
            " ORDER BY t.not_before LIMIT 1 FOR UPDATE OF t, o SKIP LOCKED",
            worker.tenant,
            MOST_ATTEMPTS,
        )
        if row is None:
            return None
        lease = await take(connection, worker, row["person"], "idle")
        lease = replace(lease, attempts=row["attempts"])
        await connection.execute(
            "UPDATE slowcat.task SET leased_by = $3, attempts = $4"
            " WHERE tenant = $1 AND person = $2",
            *lease.key,
            str(lease.epoch),
            lease.attempts,
        )
    return lease


async def finish_task(
    connection: Connection,
    lease: Lease,
    again_s: float | None = None,
    attempts: int = 0,
    error: str = "",
) -> None:
    """End a task, or make it due again in so many seconds; nothing if it is no longer this run's.

    One that is done is ended in the transaction of a fenced append.

    Args:
        attempts: How often it has failed now; after ``MOST_ATTEMPTS`` it is given up.
        error: Why it was not done, without a word of a memory.
    """
    run = *lease.key, str(lease.epoch)
    if again_s is None:
        await connection.execute(f"DELETE FROM slowcat.task {_THIS_RUN}", *run)
        return
    await connection.execute(
        "UPDATE slowcat.task SET leased_by = '', attempts = $4, error = $5,"
        f" not_before = clock_timestamp() + make_interval(secs => $6) {_THIS_RUN}",
        *run,
        attempts,
        error,
        again_s,
    )


def pause_s(attempts: int) -> float:
    """Return how long a task waits after so many failures."""
    return min(LONGEST_PAUSE_S, FIRST_PAUSE_S * PAUSE_GROWTH ** (attempts - 1))
