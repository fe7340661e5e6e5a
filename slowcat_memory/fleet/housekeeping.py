"""Looks after the copies on this machine that nobody has open.

What others have forgotten is deleted here, too: at once when the database notifies us, and by a look
at all copies now and then, since notifications are missed while a worker is down. Turns that a
killed worker could not send are passed on.
"""

from functools import partial
from pathlib import Path

from loguru import logger
from msgspec.structs import replace

from slowcat_memory.errors import BusyElsewhereError, DatabaseAwayError, FleetError
from slowcat_memory.fleet import copies, hydration, late_turns, leases, snapshots, waiting_turns
from slowcat_memory.fleet.copies import Copies
from slowcat_memory.fleet.database import Connection
from slowcat_memory.fleet.holding import Worker
from slowcat_memory.store.disk.outbox import CopyState, Unsent
from slowcat_memory.store.replica import seeding

EVERY_S = 60.0  # between two looks


def delete_copy(worker: Worker, message: str) -> None:
    """Delete the closed copies of a person of whom something was forgotten elsewhere.

    Raises:
        DatabaseAwayError: The database cannot be reached.
    """
    person = worker.database.run(partial(snapshots.notified, tenant=worker.tenant, message=message))
    name = copies.copy_name(worker.tenant, person) if person else ""
    if name and (worker.cache / name).is_dir():
        tidy_person(worker, name, forgotten=True)


def tidy(worker: Worker) -> None:
    """Look at every closed copy; what the database knows nothing of is kept.

    Raises:
        DatabaseAwayError: The database cannot be reached.
    """
    for folder in sorted(worker.cache.glob("*")):
        if copies.is_name(folder.name):
            try:
                tidy_person(worker, folder.name)
            except DatabaseAwayError:
                raise
            except FleetError as error:
                logger.debug("fleet: {} is kept: {}", folder.name, error.message)


def tidy_person(worker: Worker, name: str, *, forgotten: bool = False) -> None:
    """Look at the closed copies of a name; with ``forgotten``, delete them.

    Raises:
        DatabaseAwayError: The database cannot be reached.
    """
    place = Copies(worker.cache, name)
    with place.locked():
        place.sweep()
        for folder in place.stores():
            found = copies.read_state(folder)
            if found is not None and _is_useless(worker, folder, *found, forgotten=forgotten):
                copies.delete(folder)
        for path in place.folder.glob(f"{waiting_turns.NAME}*"):
            pass_on_waiting(worker, path)


def pass_on_waiting(worker: Worker, path: Path) -> None:
    """Store the turns in a file that nobody writes any more as late ones, and delete it.

    Raises:
        DatabaseAwayError: The database cannot be reached; the file stays.
    """
    with waiting_turns.left_behind(path) as found:
        if found is not None:
            whose, late = found
            store = partial(late_turns.store, tenant=whose.tenant, person=whose.person, late=late)
            worker.database.run(store)
            path.unlink(missing_ok=True)


def _is_useless(
    worker: Worker, folder: Path, state: CopyState, unsent: list[Unsent], *, forgotten: bool
) -> bool:
    """Return whether a copy may be deleted, after what it has to send was passed on."""
    if waiting := hydration.not_sent(worker.database, state, unsent):
        try:
            if not _send(worker, folder, state, waiting):
                return True
        except BusyElsewhereError:
            if not worker.database.run(partial(_is_fenced, state=state)):
                return False  # it is looked at again when the lease is released
            hydration.pass_on(worker.database, folder, state, waiting)
            return True
    return forgotten or worker.database.run(partial(_is_outdated, state=state))


def _send(worker: Worker, folder: Path, state: CopyState, waiting: list[Unsent]) -> bool:
    """Send what waits in a copy; return whether the copy is still one of the person's log.

    Raises:
        BusyElsewhereError: Another worker has the lease.
    """
    take = partial(
        leases.take,
        tenant=state.tenant,
        person=state.person,
        holder=worker.holder,
        lease_s=worker.lease_s,
        purpose="idle",
    )
    lease = worker.database.run(take)
    follows = waiting[0].seq == lease.last_seq + 1
    if follows:
        seeding.sign(folder, replace(state, epoch=lease.epoch))  # before anything is sent under it
        hydration.send(worker.database, lease, waiting, worker.lease_s)
        lease = leases.at(lease, waiting[-1].seq)
    else:
        hydration.pass_on(worker.database, folder, state, waiting)
    worker.database.run(partial(leases.release, lease=lease, seq=lease.last_seq))
    return follows


async def _is_fenced(connection: Connection, state: CopyState) -> bool:
    """Return whether nothing can be appended any more under a copy's epoch."""
    epoch = await connection.fetchval(
        "SELECT epoch FROM slowcat.owner WHERE tenant = $1 AND person = $2",
        state.tenant,
        state.person,
    )
    return epoch is not None and int(epoch) > state.epoch


async def _is_outdated(connection: Connection, state: CopyState) -> bool:
    """Return whether the log that would bring a copy up to date is gone."""
    row = await connection.fetchrow(
        "SELECT last_seq, (SELECT min(seq) FROM slowcat.log l WHERE l.tenant = o.tenant"
        " AND l.person = o.person AND l.seq > $3) AS next FROM slowcat.owner o"
        " WHERE tenant = $1 AND person = $2",
        state.tenant,
        state.person,
        state.seq,
    )
    if row is None or row["last_seq"] < state.seq:
        return False  # it is another database, or not our tenant: this may be all that there is
    return row["last_seq"] != state.seq and row["next"] != state.seq + 1
