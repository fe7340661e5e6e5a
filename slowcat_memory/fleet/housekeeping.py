"""Looks after what lies on this machine and that nobody has open: copies, and what they did not send.

What others have forgotten is deleted here, too: at once when the database notifies us, and by a look
at all copies now and then, since notifications are missed while a worker is down. What a killed
worker could not send is sent as soon as the person's lease can be had. The database knows what else
lies here, so that a forgetting elsewhere can name it.
"""

from functools import partial
from pathlib import Path

from loguru import logger

from slowcat_memory.errors import BusyElsewhereError, DatabaseAwayError, StoreError
from slowcat_memory.fleet import copies, hydration, snapshots, tasks, unsent
from slowcat_memory.fleet.copies import Copies
from slowcat_memory.fleet.database import Connection
from slowcat_memory.fleet.holding import Holding, Worker
from slowcat_memory.metrics import Metrics

EVERY_S = 60.0  # between two looks


def look_at_notified(worker: Worker, message: str) -> None:
    """Look at the copies of a person of whom something was forgotten elsewhere.

    Raises:
        DatabaseAwayError: The database cannot be reached.
    """
    person = worker.database.run(partial(snapshots.notified, tenant=worker.tenant, message=message))
    name = copies.copy_name(worker.tenant, person) if person else ""
    if name and (worker.cache / name).is_dir():
        tidy_person(worker, name)


def tidy(worker: Worker) -> None:
    """Look at everything that is closed; what the database knows nothing of is kept.

    Raises:
        DatabaseAwayError: The database cannot be reached.
    """
    for folder in sorted(worker.cache.glob("*")):
        if copies.is_name(folder.name):
            try:
                _tidy(worker, folder.name)
            except DatabaseAwayError:
                raise
            except StoreError as error:
                logger.debug("fleet: {} is kept: {}", folder.name, error.message)
    worker.database.run(partial(_note_kept, worker=worker))


def tidy_person(worker: Worker, name: str) -> None:
    """Delete the closed copies of a person that have what was forgotten; send what was not sent.

    Raises:
        DatabaseAwayError: The database cannot be reached.
    """
    _tidy(worker, name)
    worker.database.run(partial(_note_kept, worker=worker))


def _tidy(worker: Worker, name: str) -> None:
    place, waits = Copies(worker.cache, name), ""
    with place.locked():
        place.sweep()
        for folder in place.stores():
            if (found := copies.read_state(folder)) is None:
                continue
            state, sets = found
            waiting = hydration.not_sent(worker.database, state, sets)
            purged = partial(snapshots.purged_under, tenant=state.tenant, person=state.person)
            if state.epoch < worker.database.run(purged):
                unsent.move(folder, place, state, waiting)
            elif waiting:
                waits = state.person
        for folder in place.unsent():
            if (found := copies.read_state(folder)) is not None:
                waits = found[0].person
    if waits:
        try:
            _send(worker, place, waits)
        except BusyElsewhereError:
            logger.debug("fleet: {} is sent later", name)


def _send(worker: Worker, place: Copies, person: str) -> None:
    """Append what a person's stores here have, under a lease of our own.

    Raises:
        BusyElsewhereError: Another conversation or worker has the lease.
    """
    holding = Holding(worker, person, Metrics(), purpose="idle")
    with holding.open_store(holding.folder) as store:
        try:
            appended = unsent.append_to(store, place)
        finally:
            holding.before_closing()
    if appended:
        work = partial(tasks.schedule, tenant=worker.tenant, person=person)
        worker.database.run(partial(work, after_s=tasks.THINK_AFTER_S))


async def _note_kept(connection: Connection, worker: Worker) -> None:
    """Record the contents of this cache in the database."""
    found = sorted(
        str(path.absolute())
        for begin in (copies.ASIDE, copies.UNSENT)
        for path in worker.cache.glob(f"*/{begin}*")
    )
    cache = str(worker.cache.absolute())
    await connection.execute(
        "DELETE FROM slowcat.kept WHERE tenant = $1 AND host = $2 AND starts_with(place, $3)"
        " AND NOT place = ANY($4)",
        worker.tenant,
        worker.host,
        f"{cache}/",
        found,
    )
    await connection.execute(
        "INSERT INTO slowcat.kept (tenant, copies, host, place)"
        " SELECT $1, s.copies, $2, s.place FROM unnest($3::text[], $4::text[]) AS s(copies, place)"
        " ON CONFLICT DO NOTHING",
        worker.tenant,
        worker.host,
        [Path(one).parent.name for one in found],
        found,
    )


def kept(worker: Worker, name: str = "") -> list[str]:
    """Return what lies on workers' disks beside copies, and no forgetting reaches: path and host.

    ``name`` is that of one person's copies; "" for everybody's.

    Raises:
        DatabaseAwayError: The database cannot be reached.
    """

    async def look(connection: Connection) -> list[str]:
        await _note_kept(connection, worker)
        rows = await connection.fetch(
            "SELECT place, host FROM slowcat.kept WHERE tenant = $1"
            " AND (copies = $2 OR $2 = '') ORDER BY place, host",
            worker.tenant,
            name,
        )
        return [f"{row['place']} on {row['host']}" for row in rows]

    return worker.database.run(look)
