"""Looks after what lies on this machine and that nobody has open: copies, and what they did not send.

What others have forgotten is deleted here, too: soon, since the database is asked of whom something
was forgotten, and by a look at all copies now and then, for what was missed. What a killed
worker could not send is sent as soon as the person's lease can be had. The database knows what else
lies here, so that a forgetting elsewhere can name it. ``look`` shows an operator all that.
"""

from contextlib import suppress
from pathlib import Path
from typing import Any

from loguru import logger
from msgspec import Struct

from slowcat_memory.errors import DatabaseAwayError, StoreError
from slowcat_memory.fleet import copies, hydration, leases, person_log, schema
from slowcat_memory.fleet.copies import Copies
from slowcat_memory.fleet.database import Connection
from slowcat_memory.fleet.holding import Holding
from slowcat_memory.fleet.leases import Worker
from slowcat_memory.metrics import Metrics
from slowcat_memory.store import replica
from slowcat_memory.store.disk.folder import data_file
from slowcat_memory.store.sharing import living

EVERY_S = 60.0  # between two looks at all copies
PURGED_S = 3.0  # between two questions whose are to be deleted
LOOK_S = 60.0  # for the figures of a large database
TASK_STATES = "due", "later", "running", "failed", "given up"


def look_at_purged(worker: Worker) -> None:
    """Look at the copies of people of whom something was forgotten elsewhere just now.

    Raises:
        DatabaseAwayError: The database cannot be reached.
    """
    for person in worker.database.run(person_log.purged_lately, worker.tenant, 3 * PURGED_S):
        tidy(worker, copies.copy_name(worker.tenant, person))


def tidy(worker: Worker, name: str = copies.EVERYBODY) -> None:
    """Delete closed copies that have what was forgotten; send what was not sent.

    What the database knows nothing of is kept, and what cannot be done now is done the next time.

    Args:
        name: Of one person's copies.

    Raises:
        DatabaseAwayError: The database cannot be reached.
    """
    for folder in sorted(worker.cache.glob(name)):
        try:
            _tidy(worker, folder.name)
        except DatabaseAwayError:
            raise
        except StoreError as error:
            logger.debug("fleet: {} is kept: {}", folder.name, error.message)
    worker.database.run(_note_kept, worker)


def tidy_person(worker: Worker, name: str) -> None:
    """Tidy up one person's copies if the database can be reached."""
    try:
        tidy(worker, name)
    except DatabaseAwayError as error:
        logger.warning("fleet: turns may wait on this disk: {}", error.message)


def _tidy(worker: Worker, name: str) -> None:
    place, waits = Copies(worker.cache, name), ""
    with place.locked():
        place.sweep()
        for folder, state, sets in copies.readable(place.closed(copies.COPY)):
            waiting = hydration.not_sent(worker.database, state, sets)
            now = worker.database.run(leases.look, state.tenant, state.person)
            if now is not None and state.epoch < now.purged_under:
                copies.move(folder, place, state, waiting)
            elif waiting:
                waits = state.person
        for _, state, _ in copies.readable(place.closed(copies.UNSENT)):
            waits = state.person
    if waits:
        _send(worker, place, waits)


def _send(worker: Worker, place: Copies, person: str) -> None:
    """Append what a person's stores here have, under a lease of our own.

    Raises:
        BusyElsewhereError: Another conversation or worker has the lease.
    """
    holding = Holding(worker, person, Metrics(), purpose="idle")
    with holding.open_store(holding.folder) as store:
        try:
            appended = copies.append_to(store, place)
        finally:
            holding.before_closing()
    if appended:
        worker.database.run(leases.schedule_task, *holding.lease.key, leases.THINK_AFTER_S)


async def _note_kept(connection: Connection, worker: Worker) -> None:
    """Record the contents of this cache in the database."""
    cache = worker.cache.absolute()
    entries = [*cache.glob(f"*/{copies.ASIDE}*"), *cache.glob(f"*/{copies.UNSENT}*")]
    whose, places = (worker.tenant, worker.host), [str(path) for path in entries]
    await connection.execute(
        "DELETE FROM slowcat.kept WHERE tenant = $1 AND host = $2 AND starts_with(place, $3)"
        " AND NOT place = ANY($4)",
        *whose,
        f"{cache}/",
        places,
    )
    await connection.execute(
        "INSERT INTO slowcat.kept (tenant, host, copies, place)"
        " SELECT $1, $2, s.copies, s.place FROM unnest($3::text[], $4::text[]) AS s(copies, place)"
        " ON CONFLICT DO NOTHING",
        *whose,
        [path.parent.name for path in entries],
        places,
    )


async def kept(connection: Connection, worker: Worker, name: str = "") -> list[str]:
    """Return what lies on workers' disks beside copies, and no forgetting reaches: path and host.

    ``name`` is that of one person's copies; "" for everybody's.
    """
    await _note_kept(connection, worker)
    rows = await connection.fetch(
        "SELECT place || ' on ' || host FROM slowcat.kept WHERE tenant = $1"
        " AND (copies = $2 OR $2 = '') ORDER BY place, host",
        worker.tenant,
        name,
    )
    return [row[0] for row in rows]


# ------------------------------------------------------------------- what an operator sees


class Copy(Struct, frozen=True):
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


async def look(connection: Connection, tenant: str) -> dict[str, Any]:
    """Return what the database has of a tenant, without a word of a memory.

    ``version`` is that of the tables, ``newest`` the one that this package makes.
    Bytes are compressed, without what the database adds. ``purged`` counts people of whom something
    was forgotten whose deleted rows are in the files of the tables yet, until VACUUM FULL. ``held``
    are the leases that were not released, with the seconds until others may take over. ``tasks``
    counts those that are due, wait for later, are running, failed and are tried again, or were given
    up; ``failed`` has the seconds until the next try, None for those given up.

    Raises:
        FleetError: It has no tables of ours.
    """
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        row = await connection.fetchrow(
            "SELECT (SELECT coalesce(max(version), 0) FROM slowcat.migration) AS version,"
            f" {_SIZES.format('log')}, {_SIZES.format('snapshot')},"
            " count(*) FILTER (WHERE last_seq > 0) AS people,"
            f" count(*) FILTER (WHERE purged_in && {person_log.FILES}) AS purged"
            " FROM slowcat.owner WHERE tenant = $1",
            tenant,
        )
        held = await connection.fetch(
            "SELECT person, holder, purpose, CASE WHEN until = '-infinity' THEN -1 ELSE"
            " extract(epoch FROM until - clock_timestamp())::float8 END AS left_s"
            " FROM slowcat.owner WHERE tenant = $1 AND NOT released ORDER BY person",
            tenant,
        )
        work = await connection.fetch(
            "SELECT CASE WHEN t.leased_by <> '' AND NOT o.released AND o.until > clock_timestamp()"
            " THEN 'running' WHEN t.attempts >= $2 THEN 'given up' WHEN t.attempts > 0 THEN 'failed'"
            " WHEN t.not_before <= clock_timestamp() THEN 'due' ELSE 'later' END, count(*)"
            " FROM slowcat.task t JOIN slowcat.owner o USING (tenant, person)"
            " WHERE t.tenant = $1 GROUP BY 1",
            tenant,
            leases.MOST_ATTEMPTS,
        )
        failed = await connection.fetch(
            "SELECT person, attempts, error, CASE WHEN attempts < $2 THEN"
            " greatest(0, extract(epoch FROM not_before - clock_timestamp())::float8) END AS again_s"
            " FROM slowcat.task WHERE tenant = $1 AND attempts > 0 ORDER BY person",
            tenant,
            leases.MOST_ATTEMPTS,
        )
    lists = {"held": [*map(dict, held)], "failed": [*map(dict, failed)]}
    tasks = dict.fromkeys(TASK_STATES, 0) | dict(work)
    return {**row, "newest": schema.VERSION, "tasks": tasks, **lists}


_SIZES = (
    "(SELECT count(*) FROM slowcat.{0} WHERE tenant = $1) AS {0}_rows,"
    " (SELECT coalesce(sum(octet_length(body)), 0)::bigint FROM slowcat.{0} WHERE tenant = $1)"
    " AS {0}_bytes"
)


def copies_here(worker: Worker) -> list[Copy]:
    """Return the copies of this machine; changes nothing. Blocks."""
    return [
        _copy(worker, folder)
        for folder in sorted(worker.cache.glob(f"{copies.EVERYBODY}/*"))
        if data_file(folder).is_file() and not folder.name.startswith(copies.ASIDE)
    ]


def _copy(worker: Worker, folder: Path) -> Copy:
    if living(folder):
        return Copy(folder, "", "in use", None)
    try:
        with Copies(worker.cache, folder.parent.name).locked():
            state, sets = replica.state_of(folder)
    except StoreError:
        return Copy(folder, "", "unreadable", None)
    waits: int | None = None
    with suppress(StoreError):
        if not folder.name.startswith(copies.UNSENT):  # which the database never has
            sets = hydration.not_sent(worker.database, state, sets)
        waits = len(sets)
    return Copy(folder, state.person, "closed", waits)
