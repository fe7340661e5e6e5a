"""What an operator sees of a fleet: people, leases, tasks, what waits, the copies of one machine."""

from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import Struct

from slowcat_memory.errors import StoreError
from slowcat_memory.fleet import copies, hydration, schema, snapshots, tasks
from slowcat_memory.fleet.copies import Copies
from slowcat_memory.fleet.database import Connection, Database
from slowcat_memory.store.care.canary_process import is_whole
from slowcat_memory.store.care.recover import is_trusted
from slowcat_memory.store.disk.folder import data_file
from slowcat_memory.store.replica import seeding
from slowcat_memory.store.sharing import living


class Held(Struct, frozen=True, kw_only=True):
    """A lease that was not released.

    Attributes:
        left_s: Seconds until it runs out; negative once others may take over.
    """

    person: str
    holder: str
    purpose: str
    left_s: float


class Failed(Struct, frozen=True, kw_only=True):
    """A task that failed, without a word of a memory.

    Attributes:
        again_s: Seconds until it is tried again; None when it was given up.
    """

    person: str
    job: str
    attempts: int
    error: str
    again_s: float | None


class Seen(Struct, frozen=True, kw_only=True):
    """One tenant of a database.

    Attributes:
        version: Of the tables.
        log_bytes: Compressed, without what the database adds; as ``snapshot_bytes``.
        tasks: How many are ``due``, wait for ``later``, are ``running``, ``failed`` and are tried
            again, or were ``given up``.
        purged: People of whom something was forgotten whose deleted rows are in the files of the
            tables yet, until VACUUM FULL.
    """

    version: int
    newest: int
    people: int
    log_rows: int
    log_bytes: int
    snapshot_rows: int
    snapshot_bytes: int
    held: list[Held]
    tasks: dict[str, int]
    failed: list[Failed]
    purged: int


class Copy(Struct, frozen=True, kw_only=True):
    """A copy in this machine's cache.

    Attributes:
        folder: The copy, or a store in which turns wait.
        state: "closed", "in use" by a process, or "unreadable".
        unsent: Change sets that the database does not have; None where that cannot be known.
    """

    folder: Path
    person: str
    state: str
    unsent: int | None


async def see(connection: Connection, tenant: str) -> Seen:
    """Return what the database has of a tenant.

    Raises:
        FleetError: It has no tables of ours.
    """
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        version = await connection.fetchval("SELECT max(version) FROM slowcat.migration")
        people = await connection.fetchval(
            "SELECT count(*) FROM slowcat.owner WHERE tenant = $1 AND last_seq > 0", tenant
        )
        log, snapshot = [await _size(connection, one, tenant) for one in ("log", "snapshot")]
        held = await connection.fetch(
            "SELECT person, holder, purpose, CASE WHEN until = '-infinity' THEN -1 ELSE"
            " extract(epoch FROM until - clock_timestamp())::float8 END AS left_s"
            " FROM slowcat.owner WHERE tenant = $1 AND NOT released ORDER BY person",
            tenant,
        )
        purged = await connection.fetchval(
            f"SELECT count(*) FROM slowcat.owner WHERE tenant = $1 AND purged_in && {snapshots.FILES}",
            tenant,
        )
        work = await _tasks(connection, tenant)
        failed = await connection.fetch(
            "SELECT person, job, attempts, error, CASE WHEN attempts < $2 THEN"
            " greatest(0, extract(epoch FROM not_before - clock_timestamp())::float8) END AS again_s"
            " FROM slowcat.task WHERE tenant = $1 AND attempts > 0 ORDER BY person, job",
            tenant,
            tasks.MOST_ATTEMPTS,
        )
    return Seen(
        version=version or 0,
        newest=max(schema.migrations()),
        people=people,
        log_rows=log[0],
        log_bytes=log[1],
        snapshot_rows=snapshot[0],
        snapshot_bytes=snapshot[1],
        held=[Held(**row) for row in held],
        tasks=work,
        failed=[Failed(**row) for row in failed],
        purged=purged,
    )


async def _size(connection: Connection, table: str, tenant: str) -> tuple[int, int]:
    row: Any = await connection.fetchrow(
        f"SELECT count(*), coalesce(sum(octet_length(body)), 0)::bigint FROM slowcat.{table}"
        " WHERE tenant = $1",
        tenant,
    )
    return int(row[0]), int(row[1])


async def _tasks(connection: Connection, tenant: str) -> dict[str, int]:
    row = await connection.fetchrow(
        "SELECT count(*) FILTER (WHERE running) AS running,"
        " count(*) FILTER (WHERE NOT running AND attempts >= $2) AS given_up,"
        " count(*) FILTER (WHERE NOT running AND attempts BETWEEN 1 AND $2 - 1) AS failed,"
        " count(*) FILTER (WHERE NOT running AND attempts = 0 AND due) AS due,"
        " count(*) FILTER (WHERE NOT running AND attempts = 0 AND NOT due) AS later"
        " FROM (SELECT t.attempts, t.not_before <= clock_timestamp() AS due, t.leased_by <> ''"
        " AND NOT o.released AND o.until > clock_timestamp() AS running"
        " FROM slowcat.task t JOIN slowcat.owner o USING (tenant, person)"
        " WHERE t.tenant = $1) AS task",
        tenant,
        tasks.MOST_ATTEMPTS,
    )
    names = ("due", "later", "running", "failed", "given_up")
    return {name.replace("_", " "): int(row[name]) for name in names}


def copies_here(cache: Path, database: Database | None) -> list[Copy]:
    """Return the copies of this machine; changes nothing. Blocks.

    Args:
        database: Asked which change sets it has; None where it cannot be reached.
    """
    found = list[Copy]()
    for place in sorted(cache.glob("*")):
        if copies.is_name(place.name):
            for folder in sorted(place.iterdir()):
                if data_file(folder).is_file() and not folder.name.startswith(copies.ASIDE):
                    found.append(_copy(Copies(cache, place.name), folder, database))
    return found


def _copy(place: Copies, folder: Path, database: Database | None) -> Copy:
    if living(folder):
        return Copy(folder=folder, person="", state="in use", unsent=None)
    try:
        with place.locked():
            whole = is_trusted(folder) or is_whole(data_file(folder))
            found = seeding.state_of(folder) if whole else None
    except StoreError:
        found = None
    if found is None:
        return Copy(folder=folder, person="", state="unreadable", unsent=None)
    state, unsent = found
    waits: int | None = len(unsent)
    if unsent and not folder.name.startswith(copies.UNSENT):
        waits = None
        with suppress(StoreError):
            waits = len(hydration.not_sent(database, state, unsent)) if database else None
    return Copy(folder=folder, person=state.person, state="closed", unsent=waits)


def look(database: Database, tenant: str) -> Seen:
    """Return what the database has of a tenant. Blocks.

    Raises:
        DatabaseAwayError: It cannot be reached.
        FleetError: It has no tables of ours.
    """
    return database.run(partial(see, tenant=tenant), 60.0)
