"""Idle work that waits in the database, for whichever worker has time.

A task is claimed together with its person's lease, in one transaction, and only while nobody holds
that. So it runs as long as the lease lasts; nothing else has to be renewed or swept. It ends in the
transaction of the last append of its result (``Shipper.send_last``). A conversation that takes the
lease from idle work makes the task due again in the same transaction, untried (``leases.take``).
"""

from msgspec import Struct

from slowcat_memory.fleet import leases
from slowcat_memory.fleet.database import Connection
from slowcat_memory.fleet.leases import Lease, Worker

THINK_AFTER_S = 10.0  # behind a conversation: who was cut off calls again within seconds
ABANDONED_S = 300.0  # until the idle work of a person whose worker died; it may come back first
MOST_ATTEMPTS = 5
FIRST_PAUSE_S, PAUSE_GROWTH, LONGEST_PAUSE_S = 60.0, 4.0, 86_400.0  # after a failure
MOST_ERROR_CHARS = 200
_THIS_RUN = "WHERE tenant = $1 AND person = $2 AND leased_by = $3"


class Claimed(Struct, frozen=True, kw_only=True):
    """A task that this worker runs.

    Attributes:
        lease: Of its person; the task is this worker's as long as that lasts.
        attempts: How often it failed.
        leased_by: Names this run of it in the database.
    """

    lease: Lease
    attempts: int
    leased_by: str

    @property
    def key(self) -> tuple[str, str, str]:
        return *self.lease.key, self.leased_by


async def schedule(connection: Connection, tenant: str, person: str, after_s: float = 0.0) -> None:
    """Make a task due in so many seconds; one that waits stays due when it was, if that is earlier.

    One that runs is due again after this run. One that failed keeps its pause, and begins anew if it
    was given up.
    """
    async with connection.transaction():
        await connection.execute(
            "INSERT INTO slowcat.owner (tenant, person) VALUES ($1, $2) ON CONFLICT DO NOTHING",
            tenant,
            person,
        )
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


async def claim(connection: Connection, worker: Worker) -> Claimed | None:
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
        lease = await leases.take(connection, worker, row["person"], "idle")
        leased_by = f"{worker.holder}/{lease.epoch}"
        await connection.execute(
            "UPDATE slowcat.task SET leased_by = $3, attempts = $4"
            " WHERE tenant = $1 AND person = $2",
            *lease.key,
            leased_by,
            row["attempts"],
        )
    return Claimed(lease=lease, attempts=row["attempts"], leased_by=leased_by)


async def finish(connection: Connection, claimed: Claimed, again_s: float | None = None) -> None:
    """End a task, or make it due again in so many seconds; nothing if it is no longer this run's.

    Called in the transaction of a fenced append.
    """
    if again_s is None:
        await connection.execute(f"DELETE FROM slowcat.task {_THIS_RUN}", *claimed.key)
    else:
        await _due_again(connection, claimed, again_s)


async def put_back(connection: Connection, claimed: Claimed) -> None:
    """Make an interrupted task due again, untried."""
    await connection.execute(f"UPDATE slowcat.task SET leased_by = '' {_THIS_RUN}", *claimed.key)


async def fail(connection: Connection, claimed: Claimed, error: str) -> None:
    """Make a failed task due again after a pause; after ``MOST_ATTEMPTS`` it is given up.

    ``error`` says why, without a word of a memory.
    """
    attempts = claimed.attempts + 1
    await _due_again(connection, claimed, pause_s(attempts), attempts, error[:MOST_ERROR_CHARS])


async def _due_again(
    connection: Connection, claimed: Claimed, in_s: float, attempts: int = 0, error: str = ""
) -> None:
    await connection.execute(
        "UPDATE slowcat.task SET leased_by = '', attempts = $4, error = $5,"
        f" not_before = clock_timestamp() + make_interval(secs => $6) {_THIS_RUN}",
        *claimed.key,
        attempts,
        error,
        in_s,
    )


def pause_s(attempts: int) -> float:
    """Return how long a task waits after so many failures."""
    return min(LONGEST_PAUSE_S, FIRST_PAUSE_S * PAUSE_GROWTH ** (attempts - 1))
